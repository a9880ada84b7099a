import CordialValues
import JSON
import ObjectModel
import PersistentHistory
import PersistentStore
import TestSeeds
import TestStores
import Testing

@Suite struct `The log of saves by Cordial` {
  private let store: TestStore

  init() throws {
    store = try TestStore(TestModels.todo)
  }

  // Evidence: P-060a, P-070a
  @Test func `has a transaction for each save, with what it did and what was before`()
    async throws
  {
    try await store.save(
      #"{"insert":[{"id":"Group/t1"},{"id":"Task/t1","values":{"title":"Milk"}}],"author":"ann"}"#
    )
    try await store.save(
      """
      {"update":[{"id":"Task/p1","values":{"title":"Oat milk","done":true,"group":"Group/p1"}}],
       "author":"bob"}
      """
    )
    try await store.save(#"{"update":[{"id":"Task/p1","values":{"title":"Oat milk"}}]}"#)
    try await store.save(#"{"delete":["Group/p1","Task/p1"]}"#)
    #expect(
      try log(store).map { [$0[0]] + $0.dropFirst().sorted() } == [
        ["ann", "insert Group/p1", "insert Task/p1"],
        ["bob", #"update Task/p1 done,group,title before done=0 group=null title="Milk""#],
        [
          "nobody", "delete Group/p1 before rank=null title=null",
          #"delete Task/p1 before done=1 due=null group=1 memo=null priority=null title="Oat milk""#,
        ],
      ]
    )
  }

  // Evidence: P-071c
  @Test func `reports link rows as changes of both sides`() async throws {
    try await store.save(
      #"{"insert":[{"id":"Task/t1","values":{"labels":["Label/t1"]}},{"id":"Label/t1"},{"id":"Label/t2"}]}"#
    )
    try await store.save(#"{"update":[{"id":"Task/p1","values":{"labels":["Label/p2"]}}]}"#)
    #expect(
      try log(store, after: 1).map { $0.sorted() } == [
        [
          "nobody", "update Label/p1 tasks -tasks:p1", "update Label/p2 tasks +tasks:p1",
          "update Task/p1 labels +labels:p2 -labels:p1",
        ]
      ]
    )
  }

  @Test func `is read in portions`() async throws {
    for number in 1...10 {
      let inserts = Array(repeating: #"{"entity":"Task"}"#, count: number).joined(separator: ",")
      try await store.save(#"{"insert":[\#(inserts)]}"#)
    }
    try store.snapshot { (snapshot) throws in
      let log = snapshot.log
      #expect(try log.transactions(after: 3, through: 10, limit: 4).map(\.number) == [4, 5, 6, 7])
      #expect(try log.transactions(after: 3, through: 5, limit: 9).map(\.number) == [4, 5])
      #expect(try log.transactions(after: 10, through: 10, limit: 9).isEmpty)
      #expect(
        try log.transactions(after: 3, through: 5, limit: 9).map { $0.changes.count } == [4, 5]
      )
      // At least the next one, else as many as the changes allow.
      #expect(try log.commit(after: 0, changesMax: 1) == 1)
      #expect(try log.commit(after: 0, changesMax: 6) == 3)
      #expect(try log.commit(after: 5, changesMax: 1) == 6)
      #expect(try log.commit(after: 5, changesMax: 13) == 7)
      #expect(try log.commit(after: 0, changesMax: 1000) == 10)
      #expect(try log.commit(after: 10, changesMax: 1) == 10)
    }
  }

  @Test func `is read at once where it is short enough`() async throws {
    try await store.save(#"{"insert":[{"entity":"Task"},{"entity":"Task"}]}"#)
    let first = try store.snapshot { (snapshot) throws in snapshot.head.position }
    try await store.save(#"{"insert":[{"entity":"Task"},{"entity":"Task"},{"entity":"Task"}]}"#)
    try store.snapshot { (snapshot) throws in
      let log = snapshot.log
      let set = try log.changeSet(from: first, to: snapshot.head, changesMax: 3)
      #expect(set?.changes.keys.map(\.object).sorted() == [3, 4, 5])
      #expect(set == (try log.changeSet(from: 1, through: 2)))
      #expect(try log.changeSet(from: first, to: snapshot.head, changesMax: 2) == nil)
    }
  }

  // Evidence: P-072, P-057b
  @Test func `a token is known by number, generation and mark`() async throws {
    try await store.save(#"{"insert":[{"id":"Task/t1"}]}"#)
    try store.snapshot { (snapshot) throws in
      let token = snapshot.token
      #expect(try snapshot.position(of: token) == 1)
      #expect(try snapshot.token(of: 1) == token)
      #expect(try snapshot.position(of: try snapshot.oldest()) == 0)
      for wrong in [
        StoreToken(generation: token.generation &+ 1, number: token.number, mark: token.mark),
        StoreToken(generation: token.generation, number: token.number, mark: token.mark &+ 1),
        StoreToken(generation: token.generation, number: token.number + 1, mark: token.mark),
      ] {
        let error = #expect(throws: StoreError.self) { try snapshot.position(of: wrong) }
        #expect(error?.code == .historyExpired)
        #expect(
          error?.data.first { $0.name == "oldest" }?.value
            == .string(try snapshot.oldest().description)
        )
      }
    }
  }
}

@Suite struct `Changes of several commits` {
  private let store: TestStore

  init() async throws {
    store = try TestStore(TestModels.todo)
    try await store.save(
      """
      {"insert":[{"id":"Task/t1","values":{"title":"a"}},{"id":"Task/t2","values":{"title":"b"}},
        {"id":"Label/t1"}],"author":"zero"}
      """
    )
  }

  private func changes(_ from: Int64 = 1) throws -> [String] {
    try store.snapshot { (snapshot) throws in
      let set = try #require(
        try snapshot.log.changeSet(from: from, through: snapshot.head.number)
      )
      #expect(set.from == from && set.through == snapshot.head.number)
      return set.changes.values.sorted { $0.key < $1.key }.map { change in
        let name = "\(snapshot.model.entity(change.key.entity).name)/p\(change.key.object)"
        return
          "\(change.kind.rawValue) \(name) \(change.properties.sorted().joined(separator: ","))"
      }
    }
  }

  @Test func `updates are one, with all their properties`() async throws {
    try await store.save(#"{"update":[{"id":"Task/p1","values":{"title":"x"}}],"author":"ann"}"#)
    try await store.save(#"{"update":[{"id":"Task/p1","values":{"done":true}}],"author":"bob"}"#)
    try await store.save(
      #"{"update":[{"id":"Task/p1","values":{"labels":["Label/p1"]}}],"author":"ann"}"#
    )
    #expect(try changes() == ["update Task/p1 done,labels,title", "update Label/p1 tasks"])
    let authors = try store.snapshot { try $0.lastCommits(after: 1) }
    #expect(authors.map(\.author) == ["bob", "ann"])
    #expect(authors.map(\.commit) == [3, 4])
  }

  @Test func `an insert stays one, an inserted and deleted object is left out, a delete is last`()
    async throws
  {
    try await store.save(#"{"insert":[{"id":"Task/t1"},{"id":"Task/t2"}]}"#)
    try await store.save(
      #"{"update":[{"id":"Task/p3","values":{"title":"x"}},{"id":"Task/p1","values":{"title":"y"}}]}"#
    )
    try await store.save(#"{"delete":["Task/p4","Task/p1"]}"#)
    #expect(try changes() == ["delete Task/p1 ", "insert Task/p3 "])
    #expect(try changes(2) == ["delete Task/p1 ", "update Task/p3 title", "delete Task/p4 "])
  }

  /// Any of its properties may differ.
  @Test func `an object deleted and inserted again is an update of all properties`() async throws {
    try await store.save(#"{"delete":["Task/p1"]}"#)
    try store.foreign("INSERT INTO Task(_id, title) VALUES (1, 'again')")
    try await store.seal()
    #expect(try changes() == ["update Task/p1 *"])
  }

  @Test func `tombstones have the last values`() async throws {
    let before = try store.snapshot { (snapshot) throws in snapshot.head.position }
    try await store.save(#"{"update":[{"id":"Task/p1","values":{"title":"last"}}]}"#)
    try await store.save(#"{"delete":["Task/p1"]}"#)
    try store.snapshot { (snapshot) throws in
      let key = try #require(try snapshot.resolve("Task/p1"))
      let other = try #require(try snapshot.resolve("Task/p2"))
      let found = try snapshot.log.tombstones(of: [key, other], from: before, to: snapshot.head)
      #expect(found.keys.map { $0 } == [key])
      #expect(found[key]?.first { $0.property == "title" }?.value == "last")
    }
  }
}

@Suite struct `Former values are the values before the change` {
  private func before(_ store: TestStore) throws -> [[String: JSONValue]] {
    try store.snapshot { (snapshot) throws in
      let transactions = try snapshot.log.transactions(
        after: 1,
        through: snapshot.head.number,
        limit: 10_000
      )
      return transactions.flatMap(\.changes).map { change in
        Dictionary(uniqueKeysWithValues: change.before.map { ($0.property, $0.value) })
      }
    }
  }

  /// Numbers of any bits, and those beside what is round.
  private static func doubles(_ random: inout SplitMix64) -> [Double] {
    var numbers: [Double] = [
      0.1, 1 / 3.0, 1e300, .leastNonzeroMagnitude, .greatestFiniteMagnitude, .leastNormalMagnitude,
      2.5, -1,
      9_007_199_254_740_994, 1e15, 1e16, 123456789012345680, 0.30000000000000004, 1e-7, 1e21,
    ]
    while numbers.count < 60 {
      let number = Double(bitPattern: random.next())
      if number.isFinite, number != 0 { numbers.append(number) }
      numbers.append((Double(random.below(2_000_001)) - 1_000_000) / 1000)
    }
    return numbers.filter { $0 != 0 }
  }

  @Test(arguments: Seeds.first(20))
  func `real numbers are logged bit for bit`(seed: UInt64) async throws {
    var random = SplitMix64(seed: seed)
    let store = try TestStore(TestModels.everything)
    let numbers = Self.doubles(&random)
    let inserts = numbers.map {
      #"{"entity":"Item","values":{"double":\#(JSONValue.number($0).text)}}"#
    }
    try await store.save(#"{"insert":[\#(inserts.joined(separator: ","))]}"#)
    try store.foreign("UPDATE Item SET double = NULL")
    try await store.seal()
    let found = try before(store).map { values -> Double in
      switch values["double"] {
      case .number(let number)?: number
      case .integer(let number)?: Double(number)
      default: .nan
      }
    }
    #expect(
      found.map(\.bitPattern) == numbers.map(\.bitPattern),
      "\(zip(found, numbers).filter { $0 != $1 }); \(Seeds.repeating(seed))"
    )
  }

  // Evidence: P-042c
  @Test func `values of every other type are logged unchanged`() async throws {
    let store = try TestStore(TestModels.everything)
    let values: [(String, JSONValue, JSONValue)] = [
      ("string", "a\"\\\u{1}𝄞", "a\"\\\u{1}𝄞"), ("int64", .integer(.max), .integer(.max)),
      ("int16", -32768, -32768), ("decimal", "0.10", "0.1"), ("boolean", false, 0),
      ("date", "1969-12-31T23:59:59.999Z", -1), ("binary", "AAH/", "0001FF"),
      ("uri", "a:b", "a:b"), ("json", [1, ["a": nil]], #"[1,{"a":null}]"#),
      ("uuid", "0f8fad5b-d9cb-469f-a165-70867728950e", "0f8fad5b-d9cb-469f-a165-70867728950e"),
      ("string", "", ""), ("binary", "", ""),
    ]
    let inserts = values.map { name, sent, _ in
      #"{"entity":"Item","values":{"\#(name)":\#(sent.text)}}"#
    }
    try await store.save(#"{"insert":[\#(inserts.joined(separator: ","))]}"#)
    try await store.save(
      #"{"deleteMatching":{"entity":"Item","predicate":"TRUEPREDICATE"}}"#
    )
    for ((name, _, logged), found) in zip(values, try before(store)) {
      #expect(found[name] == logged, "\(name)")
      #expect(found.count == 13 && found.values.filter(\.isNull).count == 12)
    }
  }

  /// A foreign client may store what no client of ours could.
  @Test func `infinities and strange bytes do not break the log`() async throws {
    let store = try TestStore(TestModels.everything)
    try store.foreign(
      "INSERT INTO Item(double, string, binary) VALUES (9e999, CAST(x'FF41' AS TEXT), x'')"
    )
    try await store.seal()
    try store.foreign("UPDATE Item SET double = 1, string = 'x', binary = NULL")
    try await store.seal()
    let found = try before(store)
    #expect(found.count == 1)
    #expect(found.first?["double"]?.isNull == true)
    #expect(found.first?["binary"] == "")
    #expect(found.first?["string"]?.string?.hasSuffix("A") == true)
  }
}
