import Foundation
import Glibc
import JSON
import TestSeeds
import TestStores
import Testing
import XcodeModel

/// A file is input: whatever its bytes, reading it gives a model or one sentence.
// Evidence: P-112f
@Suite struct `The files of Xcode's models` {
  private let folder: TestFolder
  private var path: String { folder.path + "/M.xcdatamodel" }

  init() throws {
    folder = try TestFolder()
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
  }

  private func read(_ content: Data) throws -> XcodeModel {
    try content.write(to: URL(fileURLWithPath: path + "/contents"))
    return try XcodeModel(path: path)
  }

  private func failure(_ text: String) throws -> String {
    try #require(throws: XcodeModel.Failure.self) { try read(Data(text.utf8)) }.message
  }

  private static let model =
    #"<?xml version="1.0" encoding="UTF-8"?><model>\#n"#
    + #"<entity name="Größe" codeGenerationType="class"/></model>"#

  @Test func `are read in the encodings that XML requires`() throws {
    let inUTF8 = try read(Data(Self.model.utf8))
    #expect(inUTF8.document["entities"]?.array?.first?["name"] == "Größe")
    for encoding in [String.Encoding.utf16LittleEndian, .utf16BigEndian] {
      let text = "\u{FEFF}" + Self.model.replacing("UTF-8", with: "UTF-16")
      #expect(try read(try #require(text.data(using: encoding))).document == inUTF8.document)
    }
  }

  /// A short file of entities or of default values can stand for a text of any length.
  @Test(arguments: [
    #"[<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">]"#,
    #"[<!ENTITY a SYSTEM "file:///etc/passwd">]"#,
    #"[<!ATTLIST entity name CDATA "aaaaaaaaaa">]"#,
    #"PUBLIC "-//Apple//DTD" "http://127.0.0.1:1/model.dtd""#,
  ])
  func `declare nothing`(declarations: String) throws {
    let text = "<!DOCTYPE model \(declarations)><model><entity/></model>"
    #expect(try failure(text) == "\(path)/contents declares a document type at line 1")
  }

  @Test func `do not name the document type of property lists`() throws {
    let type = #"<!DOCTYPE plist SYSTEM "list.dtd">"#
    #expect(
      try failure(type + #"<model userDefinedModelVersionIdentifier="&a;"/>"#)
        == "\(path)/contents is no property list at line 1"
    )
  }

  @Test(arguments: [
    ("<string>M.xcdatamodel</string>", nil),
    ("<string>M&foo;.xcdatamodel</string>", "has the unknown entity &foo; at line 2"),
  ])
  func `that name the current version have a document type that is not read`(
    value: String,
    reason: String?
  ) throws {
    let folder = folder.path + "/Versions.xcdatamodeld"
    try FileManager.default.createDirectory(
      atPath: folder + "/M.xcdatamodel",
      withIntermediateDirectories: true
    )
    let write = { (text: String, name: String) in
      try Data(text.utf8).write(to: URL(fileURLWithPath: "\(folder)/\(name)"))
    }
    try write(Self.model, "M.xcdatamodel/contents")
    try write(
      """
      <!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://127.0.0.1:1/list.dtd">
      <plist version="1.0"><dict><key>_XCCurrentVersionName</key>\(value)</dict></plist>
      """,
      ".xccurrentversion"
    )
    if let reason {
      let error = try #require(throws: XcodeModel.Failure.self) { try XcodeModel(path: folder) }
      #expect(error.message == "\(folder)/.xccurrentversion \(reason)")
    } else {
      #expect(try XcodeModel(path: folder).document["version"] == "M")
    }
  }

  @Test func `nest elements to a limit`() throws {
    func nested(_ count: Int) -> String {
      let inner = String(repeating: "<a>", count: count - 1)
      return "<model>" + inner + String(repeating: "</a>", count: count - 1) + "</model>"
    }
    #expect(try read(Data(nested(64).utf8)).notes.count == 1)
    #expect(try failure(nested(65)).contains("nests elements deeper than 64 at line 1"))
  }

  @Test func `are regular files`() throws {
    #expect(unsafe mkfifo(path + "/contents", 0o600) == 0)
    let error = try #require(throws: XcodeModel.Failure.self) { try XcodeModel(path: path) }
    #expect(error.message == "\(path)/contents is not a regular file")
  }

  @Test func `have a greatest length`() throws {
    try Data().write(to: URL(fileURLWithPath: path + "/contents"))
    #expect(unsafe truncate(path + "/contents", 64 << 20 + 1) == 0)
    let error = try #require(throws: XcodeModel.Failure.self) { try XcodeModel(path: path) }
    #expect(error.message.contains("has more than"))
  }

  @Test(arguments: Seeds.first(20))
  func `are read or refused, whatever their bytes`(seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    let whole = Array(Self.model.utf8)
    for _ in 0..<100 {
      var bytes = whole
      for _ in 0...random.below(4) {
        let place = random.below(bytes.count)
        switch random.below(3) {
        case 0: bytes[place] = UInt8(random.below(256))
        case 1: bytes.remove(at: place)
        default: bytes.insert(contentsOf: bytes[..<place].suffix(9), at: place)
        }
      }
      do {
        _ = try read(Data(bytes))
      } catch let error as XcodeModel.Failure {
        #expect(error.message.hasPrefix(path), "\(Seeds.repeating(seed))")
      }
    }
  }
}
