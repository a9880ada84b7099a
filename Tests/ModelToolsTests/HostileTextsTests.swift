import Foundation
import FoundationXML
import JSON
import ModelTools
import ObjectModel
import Testing

/// The texts of a model are input: no text of it becomes a part of generated code or of a picture.
@Suite struct `Texts of a model in what is generated from it` {
  private func model(_ document: JSONValue) throws -> Model {
    try ModelDocument.model(from: document)
  }

  /// Returns the lines of Swift code without their comments and without the texts of literals.
  private func code(_ source: String) -> [String] {
    source.split(whereSeparator: \.isNewline).map(String.init)
      .filter { !$0.trimmingPrefix(while: \.isWhitespace).hasPrefix("//") }
      .map { $0.replacing(/"(?:[^"\\]|\\.)*"/, with: "\"\"") }
  }

  /// The characters that end a line somewhere, one that ends a comment, and invisible ones.
  private static let ends = [
    "\n", "\r", "\r\n", "\u{B}", "\u{C}", "\u{85}", "\u{2028}", "\u{2029}", "`", "*/", "\u{0}",
    "\u{1B}[2K", "\u{202E}", "\u{2066}", "\u{FEFF}", "\n\u{301}",
  ]

  // Evidence: P-112e
  @Test(arguments: ends)
  func `stay in comments and literals of Swift code`(end: String) throws {
    let evil = "a\(end)_evil_\\(_evil_)\""
    let model = try model([
      "name": .string(evil), "version": .string(evil),
      "entities": [
        [
          "name": "Item", "userInfo": .object([JSONMember(evil, .string(evil))]),
          "attributes": [
            [
              "name": "title", "type": "string", "minimum": .string(evil),
              "maximum": .string("c" + evil), "default": .string("b" + evil),
              "renamedFrom": .string(evil),
            ],
            ["name": "code", "type": "string", "optional": true, "pattern": "(\nevil)?.*"],
            ["name": "kind", "type": "string", "enum": [.string(evil), "c"], "default": "c"],
          ],
          "relationships": [["name": "items", "destination": "Item", "toMany": true]],
        ]
      ],
      "values": [
        [
          "name": "Row", "entity": "Item",
          "select": .object([
            JSONMember("items", .string("items.@count.\(evil)")),
            JSONMember("x: Int = 0\(end)public var _evil_", "title"), JSONMember(evil, "title"),
            JSONMember("", "title"), JSONMember("_", "title"), JSONMember("1a", "title"),
            JSONMember("größe_1", "title"), JSONMember("größe_1", "title"),
          ]),
        ]
      ],
    ])
    let source = SwiftSource(model, prefix: "")
    let code = code(source.text)
    #expect(!code.contains { $0.contains("_evil_") }, "\(source.text)")
    #expect(code.count { $0.contains("var größe_1: String") } == 1)
    #expect(!code.contains { $0.contains("items: ") })
    #expect(
      !source.text.unicodeScalars.contains { $0 != "\n" && VisibleText.isHidden($0) },
      "\(source.text.debugDescription)"
    )
    // A line of the notes is a note.
    #expect(source.notes.count == 6)
    #expect(!source.notes.contains { $0.contains(where: \.isNewline) }, "\(source.notes)")
  }

  @Test func `have every character of a literal`() throws {
    let text = "\"\\(x) \u{301}\n\r\t\u{1B}\u{9B}\u{202E}\u{2028}é👩\u{200D}👧"
    let model = try model([
      "name": "M",
      "entities": [
        ["name": "A", "attributes": [["name": "t", "type": "string", "default": .string(text)]]]
      ],
    ])
    #expect(
      SwiftSource(model, prefix: "").text.contains(
        #"t: String = "\"\\(x) "# + "\u{301}"
          + #"\n\u{d}\u{9}\u{1b}\u{9b}\u{202e}\u{2028}é👩"# + "\u{200D}👧\"\n"
      )
    )
  }

  @Test func `give names of types that Swift has not taken`() throws {
    let model = try model([
      "name": "3D \u{212A}",
      "entities": [["name": "Task", "attributes": [["name": "a", "type": "string"]]]],
      "values": [
        ["name": "class", "entity": "Task", "select": ["a": "a"]],
        ["name": "Int", "entity": "Task", "select": ["a": "a"]],
      ],
    ])
    let code = code(SwiftSource(model, prefix: "").text)
    for name in ["DTask", "classValues", "IntValues"] {
      #expect(code.contains("public struct \(name): ObjectValue {"), "\(name)")
    }
  }

  // Evidence: P-112d
  @Test func `stay in the quotes of Graphviz's language`() throws {
    let model = try model([
      "name": "a\"]; evil [label=\"x\n\u{1B}\\",
      "entities": [
        [
          "name": "node", "attributes": [["name": "a", "type": "string"]],
          "relationships": [
            ["name": "edges", "destination": "Edge", "toMany": true, "inverse": "strict"]
          ],
        ],
        [
          "name": "Edge", "parent": "node",
          "relationships": [["name": "strict", "destination": "node", "inverse": "edges"]],
        ],
      ],
    ])
    #expect(
      ModelDrawing(model).dot == #"""
        digraph "a\"]; evil [label=\"x \\u001b\\" {
          rankdir=LR; node [shape=record, fontname="Helvetica"];
          "node" [label="{node|a: string\l}"];
          "Edge" [label="{Edge|}"];
          "Edge" -> "node" [arrowhead=empty];
          "Edge" -> "node" [headlabel="strict", taillabel="edges", dir=both];
        }
        """#
    )
  }

  /// The title of a picture, by a parser of XML that is not Cordial's.
  private final class Title: NSObject, XMLParserDelegate {
    var title: String?
    private var isOpen = false

    func parser(
      _ parser: XMLParser,
      didStartElement name: String,
      namespaceURI: String?,
      qualifiedName: String?,
      attributes: [String: String]
    ) {
      isOpen = name == "title"
      if isOpen { title = "" }
    }

    func parser(_ parser: XMLParser, foundCharacters text: String) {
      if isOpen { title? += text }
    }

    func parser(
      _ parser: XMLParser,
      didEndElement name: String,
      namespaceURI: String?,
      qualifiedName: String?
    ) {
      isOpen = false
    }
  }

  // Evidence: P-112d
  @Test(arguments: [
    ("A & <B>", "A & <B> 1"), ("<\u{301}b", "<\u{301}b 1"), ("&\u{200D}amp;", "&\u{200D}amp; 1"),
    ("<\u{200D}b>]]>", "<\u{200D}b>]]> 1"), ("a\u{0}\u{1B}\u{FFFF}", #"a\u0000\u001b\uffff 1"#),
    ("a\u{202E}b\u{85}\nc", #"a\u202eb\u0085 c 1"#),
  ])
  func `stay texts in a picture`(name: String, title: String) throws {
    let model = try model(["name": .string(name), "entities": []])
    let found = Title()
    let parser = XMLParser(data: Data(ModelDrawing(model).svg.utf8))
    parser.delegate = found
    #expect(parser.parse())
    #expect(found.title.map { Array($0.unicodeScalars) } == Array(title.unicodeScalars))
  }
}
