import Cordial
import CordialProtocol
import JSON
import ObjectModel
import Porting
import Synchronization
import Testing

/// A file whose reads are recorded.
private final class RecordingFile: InputFile, Sendable {
  private let content: [UInt8]
  private let lengths = Mutex<[Int]>([])

  init(_ text: String) { content = Array(text.utf8) }

  var count: Int { content.count }

  func bytes(in range: Range<Int>) -> [UInt8] {
    lengths.withLock { $0.append(range.count) }
    return content.bytes(in: range)
  }

  /// The lengths of the reads.
  var reads: [Int] { lengths.withLock { $0 } }
}

@Suite struct `Lines that are copied` {
  private func error(_ portions: [[UInt8]]) -> String? {
    var lines = CopiedLines()
    do {
      for portion in portions { try lines.add(portion[...]) }
      return nil
    } catch {
      return "\(error)"
    }
  }

  // Evidence: P-135h
  @Test func `are refused where one has no end`() throws {
    let mebibyte = [UInt8](repeating: 0, count: 1 << 20)
    let most = [[UInt8]](repeating: mebibyte, count: 64)
    #expect(error(most + [[10]] + most) == nil)
    #expect(error(most + [[0]])?.contains("Line 1 is longer than 67108864 bytes") == true)
    #expect(error(most + [[10]] + most + [[0]])?.contains("Line 2 is longer") == true)
    #expect(error([Array("a\n\nb\n".utf8)] + most + [[0]])?.contains("Line 4") == true)
    // An archive with the history has rows of any length that SQLite stores.
    let start = [Array(#"{"arch"#.utf8), Array(#"ive":2,"model":{}}"#.utf8) + [10]]
    #expect(error(start + most + [[0]]) == nil)
  }
}

@Suite struct `The lines of a file` {
  private func lines(_ text: String) throws -> [String] {
    var lines = InputLines(Array(text.utf8))
    var found: [String] = []
    while let line = try lines.next() {
      #expect(line.number == found.count + 1)
      let range = line.offset..<(line.offset + line.bytes.count)
      #expect(Array(text.utf8)[range].elementsEqual(line.bytes))
      found.append(String(decoding: line.bytes, as: UTF8.self))
    }
    return found
  }

  @Test(
    arguments: [
      ("", []), ("\n", [""]), ("a", ["a"]), ("a\n", ["a"]), ("a\n\nb", ["a", "", "b"]),
      ("\n\na\n", ["", "", "a"]),
    ] as [(String, [String])]
  )
  func `end at a line feed or at the end of the file`(text: String, expected: [String]) throws {
    #expect(try lines(text) == expected)
  }

  @Test(arguments: [(1 << 20) - 1, 1 << 20, (1 << 20) + 1, 3 << 20])
  func `may be longer than a portion`(length: Int) throws {
    let long = String(repeating: "x", count: length)
    #expect(try lines("a\n\(long)\nb\n\(long)").map(\.utf8.count) == [1, length, 1, length])
  }

  @Test func `are read in portions of a mebibyte`() throws {
    let file = RecordingFile(
      String(repeating: String(repeating: "x", count: 999) + "\n", count: 5000)
    )
    var lines = InputLines(file)
    var count = 0
    while try lines.next() != nil { count += 1 }
    #expect(count == 5000)
    #expect(file.reads.allSatisfy { $0 <= 1 << 20 })
    #expect(file.reads.reduce(0, +) == file.count)
  }
}

// Evidence: P-135h
@Suite struct `A large import` {
  private static let model = """
    {"name":"R","entities":[
      {"name":"Kind","attributes":[{"name":"name","type":"string"}]},
      {"name":"Part","attributes":[{"name":"name","type":"string"}],
       "relationships":[
         {"name":"kind","destination":"Kind"},
         {"name":"next","destination":"Part","optional":true}]}]}
    """

  private static func part(_ number: Int, of count: Int, padding: Int = 0) -> String {
    let next = #""next":"Part/\#((number + 1) % count)","#
    let name = "\(number)" + String(repeating: "x", count: padding)
    return #"{"id":"Part/\#(number)","values":{"name":"\#(name)",\#(next)"kind":"Kind/x"}}"#
  }

  private static let kind = #"{"id":"Kind/x","values":{"name":"x"}}"#

  @Test func `never reads much of the file at once`() async throws {
    let lines = [Self.kind] + (0..<3000).map { Self.part($0, of: 3000, padding: 4000) }
    let file = RecordingFile(lines.joined(separator: "\n"))
    try await withClient(Self.model) { client in
      let summary = try await Importer.run(file, into: client, batch: 1000)
      #expect(summary.imported == 3001)
      #expect(summary.unknownCount == 0)
    }
    #expect(file.reads.allSatisfy { $0 <= 1 << 20 })
    // The beginning and the end tell whether the file is an archive.
    #expect(file.reads.reduce(0, +) <= file.count + 4096)
  }

  /// A save is limited in bytes too: a thousand objects of 100 kB would be longer than a message.
  @Test(arguments: [true, false])
  func `has saves of limited length`(isKindFirst: Bool) async throws {
    let parts = (0..<100).map { Self.part($0, of: 100, padding: 100_000) }
    let lines = isKindFirst ? [Self.kind] + parts : parts + [Self.kind]
    let counts = Mutex<[Int]>([])
    try await withClient(Self.model) { client in
      _ = try await Importer.run(
        Array(lines.joined(separator: "\n").utf8),
        into: client,
        batch: 1000
      ) { count in counts.withLock { $0.append(count) } }
    }
    let saved = counts.withLock { $0 }
    #expect(saved.last == 101)
    // Eight megabytes, the length of one portion more, and the last object.
    #expect(zip([0] + saved, saved).allSatisfy { $1 - $0 <= 130 })
    #expect(saved.count >= 2)
  }

  /// Each part requires the one before it, and the first one a kind at the end of the file.
  @Test(arguments: [1, 50])
  func `releases a long chain of objects one by one`(batch: Int) async throws {
    let model = """
      {"name":"R","entities":[
        {"name":"Kind","attributes":[]},
        {"name":"Part","attributes":[],"relationships":[
          {"name":"kind","destination":"Kind","optional":true},
          {"name":"previous","destination":"Part","optional":true}]},
        {"name":"Link","attributes":[],"relationships":[
          {"name":"kind","destination":"Kind"}]},
        {"name":"Step","attributes":[{"name":"rank","type":"int64"}],"relationships":[
          {"name":"link","destination":"Link"},{"name":"before","destination":"Step"}]}]}
      """
    // The first step is before itself, so that all of them require only earlier ones.
    let count = 400
    let steps = (0..<count).map { number in
      #"{"id":"Step/\#(number)","values":{"rank":\#(number),"link":"Link/x","#
        + #""before":"Step/\#(max(0, number - 1))"}}"#
    }
    let ends = [
      #"{"id":"Link/x","values":{"kind":"Kind/x"}}"#, #"{"id":"Kind/x","values":{}}"#,
    ]
    for lines in [steps + ends, steps.reversed() + ends, ends + steps.reversed()] {
      let counts = Mutex<[Int]>([0])
      try await withClient(model) { client in
        let summary = try await Importer.run(
          Array(lines.joined(separator: "\n").utf8),
          into: client,
          batch: batch
        ) { count in counts.withLock { $0.append(count) } }
        #expect(summary.imported == count + 2)
        let wrong = try await client.call(
          "fetch",
          [
            "entity": "Step", "predicate": "rank > 0 AND before.rank != rank - 1",
            "result": "count",
          ]
        )
        #expect(wrong["count"]?.integer == 0)
      }
      let saved = counts.withLock { $0 }
      #expect(zip(saved, saved.dropFirst()).allSatisfy { $1 - $0 <= max(batch, 2) + 1 })
    }
  }

  /// Two texts may be equal without having the same bytes.
  @Test(arguments: [1, 10], [false, true])
  func `tells IDs apart by their bytes`(batch: Int, isKindFirst: Bool) async throws {
    let ids = ["Part/\u{E9}", "Part/e\u{301}"]
    let parts = ids.enumerated().map { number, id in
      #"{"id":"\#(id)","values":{"name":"\#(number)","kind":"Kind/x","next":"\#(id)"}}"#
    }
    let lines = isKindFirst ? [Self.kind] + parts : parts + [Self.kind]
    try await withClient(Self.model) { client in
      let summary = try await Importer.run(
        Array(lines.joined(separator: "\n").utf8),
        into: client,
        batch: batch
      )
      #expect(summary.imported == 3)
      #expect(summary.unknownCount == 0)
      let found = try await client.call(
        "fetch",
        ["entity": "Part", "predicate": "next.name == name", "result": "count"]
      )
      #expect(found["count"]?.integer == 2)
    }
  }

  /// The first line alone is longer than a portion.
  @Test func `of an archive may begin with a long model`() async throws {
    let padding = String(repeating: "x", count: 5 << 20)
    let lines = [#"{"archive":1,"model":{"name":"\#(padding)"}}"#, Self.kind]
    try await withClient(Self.model) { client in
      let summary = try await Importer.run(
        Array(lines.joined(separator: "\n").utf8),
        into: client,
        batch: 10
      )
      #expect(summary.imported == 1)
    }
  }

  /// All parts wait for an object at the end of the file.
  @Test(arguments: [1, 7, 100])
  func `releases waiting objects in portions`(
    batch: Int
  ) async throws {
    let count = 50
    let lines = (0..<count).map { Self.part($0, of: count) } + [Self.kind]
    let counts = Mutex<[Int]>([0])
    try await withClient(Self.model) { client in
      let summary = try await Importer.run(
        Array(lines.joined(separator: "\n").utf8),
        into: client,
        batch: batch
      ) { count in counts.withLock { $0.append(count) } }
      #expect(summary.imported == count + 1)
      let found = try await client.call(
        "fetch",
        [
          "entity": "Part", "predicate": "kind.name == 'x' AND next.kind.name == 'x'",
          "result": "count",
        ]
      )
      #expect(found["count"]?.integer == Int64(count))
    }
    let saved = counts.withLock { $0 }
    #expect(zip(saved, saved.dropFirst()).allSatisfy { $1 - $0 <= max(batch, 2) })
  }

  @Test func `reports some of many unknown references, and their number`() async throws {
    let lines =
      [Self.kind]
      + (0..<300).map { number in
        #"{"id":"Part/\#(number)","values":{"name":"a","next":"Part/u\#(number)","kind":"Kind/x"}}"#
      }
    try await withClient(Self.model) { client in
      let summary = try await Importer.run(
        Array(lines.joined(separator: "\n").utf8),
        into: client,
        batch: 50
      )
      #expect(summary.unknownCount == 300)
      #expect(summary.unknown.count == 100)
    }
  }
}
