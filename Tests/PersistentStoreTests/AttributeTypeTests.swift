import CordialValues
import Foundation
import JSON
import ObjectModel
import PersistentHistory
import PersistentStore
import TestSeeds
import TestStores
import Testing

/// Random values of an attribute type, as a client may send them.
struct AttributeGenerator {
  var random: SplitMix64

  mutating func value(of type: AttributeType) -> JSONValue {
    switch type {
    case .string: .string(text())
    case .int16: .integer(Int64(Int16(truncatingIfNeeded: random.next())))
    case .int32: .integer(Int64(Int32(truncatingIfNeeded: random.next())))
    case .int64: .integer(Int64(truncatingIfNeeded: random.next()))
    case .double: .number(finite())
    case .float: .number(Double(Float(random.below(2_000_001) - 1_000_000) / 7))
    case .decimal: .string("\(random.oneIn(2) ? "-" : "")0\(random.below(1000)).\(digits())0")
    case .boolean: .bool(random.oneIn(2))
    case .date: .string("20\(10 + random.below(90))-0\(1 + random.below(9))-15T08:30:00+02:00")
    case .uuid: .string(uuid())
    case .uri: .string("https://example.org/\(random.below(1000))?q=\(digits())")
    case .binary: .string(Data((0..<random.below(20)).map { _ in byte() }).base64EncodedString())
    case .json: json(depth: 2)
    }
  }

  private mutating func byte() -> UInt8 { UInt8(random.below(256)) }

  private mutating func digits() -> String { String(1 + random.below(99_999)) }

  private mutating func text() -> String {
    let pieces = ["a", "Z", "é", "e\u{301}", "牛乳", "𝄞", "\"", "\\", "\n", "\u{1}", "'", "null", ""]
    return (0..<random.below(8)).map { _ in random.pick(pieces) }.joined()
  }

  private mutating func finite() -> Double {
    while true {
      let number = Double(bitPattern: random.next())
      if number.isFinite { return number }
    }
  }

  private mutating func uuid() -> String {
    let hex = (0..<16).map { _ in String(format: "%02X", byte()) }
    return [0..<4, 4..<6, 6..<8, 8..<10, 10..<16].map { hex[$0].joined() }.joined(separator: "-")
  }

  private mutating func json(depth: Int) -> JSONValue {
    switch random.below(depth == 0 ? 3 : 5) {
    case 0: .integer(Int64(random.below(1000)))
    case 1: .string(text())
    case 2: .bool(random.oneIn(2))
    case 3: .array((0..<random.below(4)).map { _ in json(depth: depth - 1) })
    default: ["a": json(depth: depth - 1), "b": .null]
    }
  }
}

@Suite struct `A value of each type passes every form` {
  private func history(_ store: TestStore) throws -> [JSONValue] {
    try store.snapshot { (snapshot) throws in
      let commits = try snapshot.log.transactions(
        after: 0,
        through: snapshot.head.number,
        limit: 1000
      )
      return try commits.flatMap(\.changes).flatMap { change in
        try change.before.map {
          try snapshot.json($0, of: snapshot.model.entity(change.key.entity))
        }
      }
    }
  }

  private func fetched(_ store: TestStore, _ name: String) throws -> JSONValue? {
    try store.fetch(#"{"entity":"Item"}"#).first?["values"]?[name]
  }

  /// The wire, the column, the log, and the column again.
  @Test(arguments: AttributeType.allCases)
  func `it is read, logged and put back as it was saved`(type: AttributeType) async throws {
    let name = type.rawValue
    for seed in Seeds.first(25) {
      var generator = AttributeGenerator(random: SplitMix64(seed: seed))
      let store = try TestStore(TestModels.everything)
      let sent = generator.value(of: type)
      let other = generator.value(of: type)
      let comment: Comment = "\(sent.text), then \(other.text); \(Seeds.repeating(seed))"
      let answer = try await store.save(
        #"{"insert":[{"id":"Item/t1","values":{"\#(name)":\#(sent.text)}}]}"#
      )
      let id = try #require(answer["ids"]?["Item/t1"]?.string)
      let value = try #require(try fetched(store, name), comment)
      #expect(type.decode(value) == type.decode(sent), comment)

      try await store.save(
        #"{"author":"ann","update":[{"id":"\#(id)","values":{"\#(name)":null}}]}"#
      )
      #expect(try history(store).last == value, comment)
      try await store.save(#"{"undo":1,"author":"ann"}"#)
      #expect(try fetched(store, name) == value, comment)

      try await store.save(
        #"{"author":"ann","update":[{"id":"\#(id)","values":{"\#(name)":\#(other.text)}}]}"#
      )
      let second = try #require(try fetched(store, name), comment)
      try await store.save(#"{"author":"ann","delete":["\#(id)"]}"#)
      #expect(try history(store).contains(second), comment)
      try await store.save(#"{"undo":1,"author":"ann"}"#)
      #expect(try fetched(store, name) == second, comment)
    }
  }

  /// A predicate with the value as an argument finds the object.
  @Test(arguments: AttributeType.allCases.filter { $0 != .json })
  func `a predicate finds it`(type: AttributeType) async throws {
    for seed in Seeds.first(25) {
      var generator = AttributeGenerator(random: SplitMix64(seed: seed))
      let store = try TestStore(TestModels.everything)
      let name = type.rawValue
      let sent = generator.value(of: type)
      try await store.save(
        #"{"insert":[{"entity":"Item","values":{"\#(name)":\#(sent.text)}},{"entity":"Item"}]}"#
      )
      let found = try store.ids(
        ##"{"entity":"Item","predicate":"#\##(name) == %@","arguments":[\##(sent.text)]}"##
      )
      #expect(found == ["Item/p1"], "\(sent.text); \(Seeds.repeating(seed))")
    }
  }

  @Test func `the schema of model files names each type`() throws {
    let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../..")
    let schema = try Data(contentsOf: root.appending(path: "Protocol/model.schema.json"))
    let attribute = try JSONParser.parse(Array(schema).span)["definitions"]?["attribute"]
    let types = attribute?["properties"]?["type"]?["enum"]?.array?.compactMap(\.string)
    #expect(types == AttributeType.allCases.map(\.rawValue) + ["composite"])
  }
}
