import Cordial
import CordialProtocol
import JSON
import ObjectModel
import Porting
import Testing

// Evidence: P-135d
@Suite struct `Archives` {
  private static let model = """
    {"name":"M","entities":[
      {"name":"Person","attributes":[
         {"name":"name","type":"string"},{"name":"photo","type":"binary","optional":true},
         {"name":"seal","type":"binary"},{"name":"size","type":"int64","derived":"friends.@count"}],
       "relationships":[
         {"name":"friends","destination":"Person","toMany":true,"ordered":true},
         {"name":"boss","destination":"Person","optional":true}]},
      {"name":"Tag","identity":"name","attributes":[{"name":"name","type":"string"}],
       "relationships":[{"name":"of","destination":"Person"}]}]}
    """

  private func fill(_ client: ClientConnection) async throws {
    _ = try await client.call(
      "save",
      [
        "insert": [
          ["id": "Person/t1", "values": ["name": "a\nb", "photo": "AQID", "seal": ""]],
          [
            "id": "Person/t2",
            "values": [
              "name": "c", "seal": "AA==", "boss": "Person/t1",
              "friends": ["Person/t2", "Person/t1"],
            ],
          ],
          ["id": "Tag/sx", "values": ["name": "x", "of": "Person/t2"]],
        ]
      ]
    )
  }

  private func archive(_ client: ClientConnection) async throws -> [String] {
    var lines: [String] = []
    try await Archive.run(from: client) { lines.append($0) }
    return lines
  }

  private static func bytes(_ lines: [String]) -> [UInt8] {
    Array((lines.joined(separator: "\n") + "\n").utf8)
  }

  @Test func `have a whole store, whose archive is the same after an import`() async throws {
    let first = try await withClient(Self.model) { client in
      try await fill(client)
      return try await archive(client)
    }
    #expect(first.filter { $0.hasPrefix(#"{"binary""#) }.count == 3)
    let contents = try Archive.read(Self.bytes(first))
    #expect(try ModelDocument.model(from: contents.model).name == "M")
    let second = try await withClient(Self.model) { client in
      let summary = try await Importer.run(contents.lines, into: client, batch: 2)
      #expect(summary.imported == 3)
      #expect(summary.unknown.isEmpty)
      return try await archive(client)
    }
    #expect(second == first)
  }

  @Test func `that are cut off or changed are refused as a whole`() async throws {
    let lines = try await withClient(Self.model) { client in
      try await fill(client)
      return try await archive(client)
    }
    let whole = Self.bytes(lines)
    for length in [0, 1, whole.count / 2, whole.count - 3] {
      let error = #expect(throws: PortingError.self) { try Archive.read(Array(whole[..<length])) }
      #expect(error?.message.contains("cut off") == true)
    }
    #expect(try Archive.isArchive(whole))
    let last = lines[lines.count - 1]
    let counted = lines.dropLast() + [last.replacing(#""objects":3"#, with: #""objects":4"#)]
    let wrong = #expect(throws: PortingError.self) { try Archive.read(Self.bytes(Array(counted))) }
    #expect(wrong?.message.contains("3 objects, not 4") == true)
    for index in lines.indices.dropLast() {
      var fewer = lines
      fewer.remove(at: index)
      #expect(try Archive.isArchive(Self.bytes(fewer)))
      let error = #expect(throws: PortingError.self) { try Archive.read(Self.bytes(fewer)) }
      #expect(error?.message.contains("damaged") == true)
    }
    var changed = whole
    changed[whole.count / 3] ^= 1
    #expect(throws: PortingError.self) { try Archive.read(changed) }
  }

  @Test func `with lines that are not objects are refused before anything is created`() async throws
  {
    let lines = try await withClient(Self.model) { client in
      try await fill(client)
      return try await archive(client)
    }
    let last = lines.count - 1
    let wrong: [(line: String, place: Int, message: String)] = [
      (#"{"binary":"AA==","property":"photo"}"#, last, "last line is a binary value"),
      (#"{"binary":"AA=="}"#, last, "Line \(lines.count) has the unknown member binary"),
      (#"{"id":"Person/p9","values":5}"#, last, "Line \(lines.count) has values"),
      (#"{"values":{}}"#, 1, "Line 2 has neither an id nor an entity"),
      ("[]", 1, "Line 2 is not an object"),
      ("{", 1, "Line 2: "),
    ]
    for (line, place, message) in wrong {
      var changed = Array(lines.dropLast())
      changed.insert(line, at: place)
      let digest = ContentDigest(Self.bytes(changed)).hexadecimal
      changed.append(#"{"objects":4,"digest":"\#(digest)"}"#)
      let error = #expect(throws: PortingError.self) { try Archive.read(Self.bytes(changed)) }
      #expect(error?.message.contains("damaged: ") == true, "\(line)")
      #expect(error?.message.contains(message) == true, "\(error?.message ?? "")")
      #expect(error?.message.hasSuffix("nothing is imported") == true)
    }
  }

  @Test func `an error names the line of the archive`() async throws {
    var lines = try await withClient(Self.model) { client in
      try await fill(client)
      return try await archive(client)
    }
    let place = try #require(lines.firstIndex { $0.contains(#""boss":"Person/p1""#) })
    lines[place] = lines[place].replacing(#""name":"c""#, with: #""name":1"#)
    lines[lines.count - 1] =
      #"{"objects":3,"digest":"\#(ContentDigest(Self.bytes(lines.dropLast())).hexadecimal)"}"#
    let contents = try Archive.read(Self.bytes(lines))
    try await withClient(Self.model) { client in
      let error = await #expect(throws: PortingError.self) {
        try await Importer.run(contents.lines, into: client, batch: 1)
      }
      #expect(error?.message.contains("ine \(place + 1)") == true)
    }
  }
}
