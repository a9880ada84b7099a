import Foundation
import FoundationXML
import JSON
import ModelTools
import ObjectModel
import Testing

// Evidence: P-112d
@Suite struct `A drawing of a model` {
  private func model(_ entities: String) throws -> Model {
    try ModelDocument.model(
      from: try JSONParser.parse(#"{"name":"A & <B>","entities":[\#(entities)]}"#)
    )
  }

  /// The texts of a picture, by a parser of XML that is not ours.
  private final class Texts: NSObject, XMLParserDelegate {
    var texts: [String] = []
    var boxes = 0
    private var current: String?

    func parser(
      _ parser: XMLParser,
      didStartElement name: String,
      namespaceURI: String?,
      qualifiedName: String?,
      attributes: [String: String]
    ) {
      if name == "rect" { boxes += 1 }
      if name == "text" || name == "title" { current = "" }
    }

    func parser(_ parser: XMLParser, foundCharacters text: String) { current? += text }

    func parser(
      _ parser: XMLParser,
      didEndElement name: String,
      namespaceURI: String?,
      qualifiedName: String?
    ) {
      if let text = current { texts.append(text) }
      current = nil
    }
  }

  @Test func `has a box for each entity and a name at each end of a relationship`() throws {
    let model = try model(
      """
      {"name":"Group","attributes":[{"name":"title","type":"string","optional":true}],
       "relationships":[
         {"name":"tasks","destination":"Task","toMany":true,"inverse":"group"},
         {"name":"inner","destination":"Group","toMany":true}]},
      {"name":"Task","attributes":[{"name":"rank","type":"int16"}],
       "relationships":[
         {"name":"group","destination":"Group","inverse":"tasks","optional":true}]},
      {"name":"Bug","parent":"Task"}
      """
    )
    let texts = Texts()
    let parser = XMLParser(data: Data(ModelDrawing(model).svg.utf8))
    parser.delegate = texts
    #expect(parser.parse())
    #expect(texts.boxes == 3)
    #expect(texts.texts.first == "A & <B> 1")
    #expect(
      Set(texts.texts.dropFirst()) == [
        "Group", "title: string?", "inner*", "Task", "rank: int16", "Bug", "group", "tasks*",
      ]
    )
  }

  @Test func `of an empty model is a picture`() throws {
    let svg = ModelDrawing(try model("")).svg
    #expect(svg.hasPrefix("<svg") && svg.hasSuffix("</svg>"))
  }
}
