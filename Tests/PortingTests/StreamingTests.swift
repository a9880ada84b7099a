import Cordial
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

/// An index that counts what it holds.
private final class CountingIndex: ImportIndex {
  private let memory = MemoryIndex()
  /// The number of texts that were added, by table.
  private(set) var added: [ImportTable: Int] = [:]

  func first(_ table: ImportTable, _ key: String) -> String? { memory.first(table, key) }

  func add(_ table: ImportTable, _ key: String, _ text: String) {
    added[table, default: 0] += 1
    memory.add(table, key, text)
  }

  func take(_ table: ImportTable, _ key: String, max: Int) -> [String] {
    memory.take(table, key, max: max)
  }

  func keys(_ table: ImportTable, max: Int) -> [String] { memory.keys(table, max: max) }
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
  @Test func `has saves of limited length`() async throws {
    let lines = [Self.kind] + (0..<100).map { Self.part($0, of: 100, padding: 100_000) }
    let counts = Mutex<[Int]>([])
    try await withClient(Self.model) { client in
      _ = try await Importer.run(
        Array(lines.joined(separator: "\n").utf8),
        into: client,
        batch: 1000
      ) { count in counts.withLock { $0.append(count) } }
    }
    #expect(counts.withLock { $0.count } >= 2)
    #expect(counts.withLock { $0.last } == 101)
  }

  /// All parts wait for an object at the end of the file.
  @Test(arguments: [1, 7, 100])
  func `keeps the places of waiting objects only, and releases them in portions`(
    batch: Int
  ) async throws {
    let count = 50
    let lines = (0..<count).map { Self.part($0, of: count) } + [Self.kind]
    let index = CountingIndex()
    let counts = Mutex<[Int]>([0])
    try await withClient(Self.model) { client in
      let summary = try await Importer.run(
        Array(lines.joined(separator: "\n").utf8),
        into: client,
        batch: batch,
        index: index
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
    #expect(index.added[.waiting] == count)
    #expect(index.added[.stored] == count + 1)
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
