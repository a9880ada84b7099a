import Cordial
import CordialProtocol
import JSON
import ObjectModel
import Porting
import TestSeeds
import Testing

/// The bytes of a file of comma-separated values (RFC 4180).
@Suite struct `A file of comma-separated values` {
  private static let model = """
    {"name":"C","entities":[
      {"name":"Place","attributes":[
        {"name":"name","type":"string","optional":true},
        {"name":"note","type":"string","optional":true},
        {"name":"height","type":"double","optional":true},
        {"name":"price","type":"decimal","optional":true},
        {"name":"facts","type":"json","optional":true}],
       "relationships":[{"name":"next","destination":"Place","optional":true}]}]}
    """

  private func save(_ client: ClientConnection, _ values: [[JSONMember]]) async throws {
    let inserts = values.map { members -> JSONValue in
      ["entity": "Place", "values": .object(members)]
    }
    _ = try await client.call("save", ["insert": .array(inserts)])
  }

  private func export(
    _ client: ClientConnection,
    formulas: Exporter.Formulas = .unchanged
  ) async throws -> [UInt8] {
    var file: [UInt8] = []
    _ = try await Exporter.runCommaSeparated("Place", from: client, formulas: formulas) { record in
      file += record.utf8
    }
    return file
  }

  private func load(_ file: [UInt8], _ client: ClientConnection) async throws {
    let lines = try await Importer.lines(commaSeparated: file, of: "Place", for: client)
    _ = try await Importer.run(lines, into: client, of: "Place", batch: 100)
  }

  /// Returns the bytes of a property's texts, in the order of the objects; nil for a missing one.
  private func texts(_ name: String, _ client: ClientConnection) async throws -> [[UInt8]?] {
    let answer = try await client.call("fetch", ["entity": "Place", "select": [.string(name)]])
    return (answer["objects"]?.array ?? []).map { object in
      object["values"]?[name]?.string.map { Array($0.utf8) }
    }
  }

  // Evidence: P-135c
  @Test(arguments: [
    ("say \"\u{301}x\"", "\"say \"\"\u{301}x\"\"\""), ("\"\u{200D}", "\"\"\"\u{200D}\""),
    ("\"\u{20E3}\"", "\"\"\"\u{20E3}\"\"\""), (",\u{301}", "\",\u{301}\""),
    ("\n\u{301}", "\"\n\u{301}\""), ("a\rb", "\"a\rb\""), ("a\r\nb", "\"a\r\nb\""), ("", "\"\""),
    ("it's", "it's"),
  ])
  func `has a quote for each quote of a text, and the end of a line after each record`(
    text: String,
    field: String
  ) async throws {
    try await withClient(Self.model) { client in
      try await save(client, [[JSONMember("name", .string(text))], []])
      let file = try await export(client)
      let expected =
        "id,name,note,height,price,facts,next\r\nPlace/p1,\(field),,,,,\r\nPlace/p2,,,,,,\r\n"
      #expect(file == Array(expected.utf8), "\(String(decoding: file, as: UTF8.self))")
    }
  }

  // Evidence: P-135c
  @Test(arguments: Seeds.first(6))
  func `has the texts that an import reads`(seed: UInt64) async throws {
    var random = SplitMix64(seed: seed)
    let scalars: [Unicode.Scalar] = [
      "\"", "'", ",", "\r", "\n", "\t", " ", "=", "a", "é", "\u{301}", "\u{200D}", "\u{20E3}",
      "\u{FE0F}", "\u{85}", "\u{2028}", "\u{FEFF}", "😀",
    ]
    func text() -> JSONValue {
      var text = String.UnicodeScalarView()
      for _ in 0..<random.below(8) { text.append(random.pick(scalars)) }
      return random.oneIn(8) ? .null : .string(String(text))
    }
    let objects = (0..<60).map { _ in
      [JSONMember("name", text()), JSONMember("note", text()), JSONMember("facts", text())]
    }
    let (file, names, notes) = try await withClient(Self.model) { client in
      try await save(client, objects)
      return (
        try await export(client), try await texts("name", client), try await texts("note", client)
      )
    }
    // Files of other programs have line feeds alone, or no end after the last line.
    let lineFeeds = Self.withLineFeeds(file)
    for variant in [file, lineFeeds, Array(file.dropLast(2)), Array(lineFeeds.dropLast())] {
      try await withClient(Self.model) { client in
        try await load(variant, client)
        #expect(try await texts("name", client) == names, "\(Seeds.repeating(seed))")
        #expect(try await texts("note", client) == notes, "\(Seeds.repeating(seed))")
        #expect(try await export(client) == file, "\(Seeds.repeating(seed))")
      }
    }
  }

  /// Returns a file whose lines end with line feeds, with the same texts.
  private static func withLineFeeds(_ file: [UInt8]) -> [UInt8] {
    var isQuoted = false
    var result: [UInt8] = []
    for (index, byte) in file.enumerated() {
      if byte == UInt8(ascii: "\"") { isQuoted.toggle() }
      let next = index + 1 < file.count ? file[index + 1] : 0
      if !isQuoted, byte == UInt8(ascii: "\r"), next == UInt8(ascii: "\n") { continue }
      result.append(byte)
    }
    return result
  }

  // Evidence: P-135c
  @Test func `keeps a carriage return at the end of a quoted text`() async throws {
    try await withClient(Self.model) { client in
      try await load(Array("height,name\n1,\"a\r\"\n2,b\r\n3,\"\r\"".utf8), client)
      #expect(
        try await texts("name", client) == [Array("a\r".utf8), Array("b".utf8), Array("\r".utf8)]
      )
    }
  }

  // Evidence: P-135f
  @Test(arguments: [
    ("name\nok\nbad ", [0xE9], "Line 3: the byte 0xE9 is not UTF-8"),
    // Half a character at the end of the file, in a quoted text with two lines.
    ("name\n\"a\nb\"\n", [0xE6, 0x9D], "Line 4: the byte 0xE6 is not UTF-8"),
    // Overlong, a surrogate, and UTF-16 with its mark.
    ("name\n", [0xC0, 0xAF, 0x0A], "Line 2: the byte 0xC0 is not UTF-8"),
    ("name\n", [0xED, 0xA0, 0x80], "Line 2: the byte 0xED is not UTF-8"),
    ("", [0xFF, 0xFE, 0x6E, 0x00], "Line 1: the byte 0xFF is not UTF-8"),
  ])
  func `that is not UTF-8 is refused with the line`(
    text: String,
    bytes: [UInt8],
    message: String
  ) async throws {
    try await withClient(Self.model) { client in
      let error = await #expect(throws: PortingError.self) {
        try await load(Array(text.utf8) + bytes, client)
      }
      #expect(error?.message.hasPrefix(message) == true, "\(error?.message ?? "")")
      let imported = try await texts("name", client)
      #expect(imported.isEmpty)
    }
  }

  // Evidence: P-135f
  @Test(arguments: [
    ("name\n\"a\"b\n", "Line 2: a text follows a closing quote"),
    ("name\n\"a\" \n", "Line 2: a text follows a closing quote"),
    ("name,note\nx,\"a\"\u{301}\",b\"\n", "Line 2: a text follows a closing quote"),
    ("name\nx\n\"a\n\"\"b\"\"\n", "Line 3: a quote is not closed"),
    ("name\rx\ry\r", "Line 1: a carriage return ends no line"),
    ("name,note,name\nx,y,z\n", "Line 1: there are two columns name"),
    ("id,name,id\nx,y,z\n", "Line 1: there are two columns id"),
    ("name\n\"a\r\nb\"\rc", "Line 3: a carriage return ends no line"),
    (String(repeating: "x", count: 5_000_000) + "\n", "Line 1: Place has no attribute and no"),
  ])
  func `that is not well-formed is refused with the line`(
    file: String,
    message: String
  ) async throws {
    try await withClient(Self.model) { client in
      let error = await #expect(throws: PortingError.self) {
        try await load(Array(file.utf8), client)
      }
      #expect(error?.message.hasPrefix(message) == true, "\(error?.message ?? "")")
      #expect(error?.message.utf8.count ?? 0 < 1100)
    }
  }

  // Evidence: P-135f
  @Test func `of lines of JSON that are not UTF-8 is refused with the line`() async throws {
    try await withClient(Self.model) { client in
      let good = Array(#"{"entity":"Place","values":{"name":"a"}}"#.utf8) + [0x0A]
      let bad = Array(#"{"entity":"Place","values":{"name":"b"#.utf8) + [0xE9, 0x22, 0x7D, 0x7D]
      let error = await #expect(throws: PortingError.self) {
        try await Importer.run(good + bad, into: client, batch: 1)
      }
      #expect(error?.message.hasPrefix("Line 2: Not JSON") == true, "\(error?.message ?? "")")
      #expect(error?.message.contains("not UTF-8") == true, "\(error?.message ?? "")")
    }
  }

  // Evidence: P-135g
  @Test func `has an apostrophe before each formula, where that is wanted`() async throws {
    let texts: [(String, String)] = [
      ("=1+1", "'=1+1"), ("+A1", "'+A1"), ("-A1", "'-A1"), ("@SUM(A1)", "'@SUM(A1)"),
      ("\t=1", "'\t=1"), ("\r=1", "\"'\r=1\""), ("\n=1", "\"'\n=1\""),
      ("=a,\"b\"", "\"'=a,\"\"b\"\"\""),
      ("=\u{301}1", "'=\u{301}1"), ("-", "'-"), ("-inf", "'-inf"), ("-0x1p3", "'-0x1p3"),
      ("-1-A1", "'-1-A1"), ("-1", "-1"), ("+1.5e-7", "+1.5e-7"), ("a=1", "a=1"), (" =1", " =1"),
      ("'=1", "'=1"),
    ]
    try await withClient(Self.model) { client in
      let price = JSONMember("price", "-2.50")
      let numbers = [JSONMember("height", -1.5), price, JSONMember("facts", "=1+1")]
      try await save(client, texts.map { [JSONMember("name", .string($0.0))] } + [numbers])
      let lines = texts.enumerated().map { index, text in "Place/p\(index + 1),\(text.1),,,,,\r\n" }
      let file = try await export(client, formulas: .quoted)
      let expected =
        "id,name,note,height,price,facts,next\r\n" + lines.joined()
        + "Place/p\(texts.count + 1),,,-1.5,-2.5,\"\"\"=1+1\"\"\",\r\n"
      #expect(
        String(decoding: file, as: UTF8.self).unicodeScalars.elementsEqual(expected.unicodeScalars),
        "\(String(decoding: file, as: UTF8.self))"
      )
      #expect(try await export(client) != file)
    }
  }

  // Evidence: P-135b, P-135c
  @Test func `may have any text after the slash of an ID`() async throws {
    let ids = ["Place/\u{301}a", "Place/\u{200D}", "Place//"]
    let file = "id,name,next\n" + ids.map { "\($0),n,\(ids[0])\n" }.joined()
    let lines = ids.map { id in
      #"{"id":"\#(id)","values":{"name":"n","next":"\#(ids[0])"}}"# + "\n"
    }
    for isCommaSeparated in [true, false] {
      try await withClient(Self.model) { client in
        let objects =
          isCommaSeparated
          ? try await Importer.lines(
            commaSeparated: Array(file.utf8),
            of: "Place",
            for: client
          ) : Array(lines.joined().utf8)
        let summary = try await Importer.run(
          objects,
          into: client,
          of: isCommaSeparated ? "Place" : nil,
          batch: 10
        )
        #expect(summary.imported == 3 && summary.unknown.isEmpty)
        let answer = try await client.call("fetch", ["entity": "Place", "select": ["next"]])
        let next = (answer["objects"]?.array ?? []).map { $0["values"]?["next"]?.string }
        #expect(next == ["Place/p1", "Place/p1", "Place/p1"])
      }
    }
  }
}
