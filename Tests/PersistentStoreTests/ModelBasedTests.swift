import CordialValues
import JSON
import ObjectModel
import PersistentHistory
import PersistentStore
import TestSeeds
import TestStores
import Testing

@Suite struct `A store does what a plain model of it does` {
  // Evidence: P-060, P-061, P-062, P-063, P-064, P-065, P-069, P-071, P-119, P-121, P-122
  @Test(arguments: Seeds.first(12))
  func `random operations of two processes`(seed: UInt64) async throws {
    let run = try ModelRun(seed)
    for _ in 0..<60 {
      do {
        try await run.step()
      } catch {
        Issue.record("\(run.last): \(error); \(Seeds.repeating(seed))")
        return
      }
      guard run.agrees else { return }
    }
  }
}

/// Two processes on one store, and the plain store beside them.
private final class ModelRun {
  private let stores: [TestStore]
  private var plain: PlainStore
  private var generator: OperationGenerator
  private let seed: UInt64
  private(set) var agrees = true
  /// What was done last.
  private(set) var last = ""

  init(_ seed: UInt64) throws {
    self.seed = seed
    let first = try TestStore(OperationGenerator.league)
    stores = [first, try TestStore(nil, in: first.folder)]
    plain = PlainStore(try PlainModel(OperationGenerator.league))
    generator = OperationGenerator(random: SplitMix64(seed: seed))
  }

  /// Does something, and compares.
  func step() async throws {
    let store = generator.random.pick(stores)
    let before = plain.state
    try await save(generator.request(plain), store)
    try compareObjects()
    try compareHistory(before)
  }

  private func expect(
    _ holds: Bool,
    _ what: @autoclosure () -> String,
    sourceLocation: SourceLocation = #_sourceLocation
  ) {
    guard agrees, !holds else { return }
    agrees = false
    let comment = "\(what()) after \(last); \(Seeds.repeating(seed, "random operations"))"
    Issue.record(Comment(rawValue: comment), sourceLocation: sourceLocation)
  }

  // MARK: Saves

  private func save(_ request: JSONValue, _ store: TestStore) async throws {
    last = request.text
    let transaction = plain.save(request)
    let dryRun =
      generator.random.oneIn(4)
      ? try await store.outcome(String(request.text.dropLast()) + #","dryRun":true}"#).dryRun : nil
    if dryRun != nil { try compareObjects() }
    let outcome: SaveOutcome
    do {
      outcome = try await store.outcome(request.text)
    } catch let error as StoreError {
      let code = error.code.rawValue
      expect(transaction.errors.contains(code), "\(error), not \(transaction.errors)")
      if let dryRun { expect(dryRun.error?.code == error.code, "dry run: \(dryRun)") }
      return
    }
    expect(transaction.errors.isEmpty, "no error, but \(transaction.errors)")
    guard agrees else { return }
    compare(outcome, transaction)
    if let dryRun { compare(dryRun, transaction) }
    plain.keep(
      transaction,
      author: request["author"]?.string,
      context: request["context"]?.string
    )
    expect(outcome.token.number == Int64(plain.head), "commit \(outcome.token), \(plain.head)")
  }

  private func compare(_ outcome: SaveOutcome, _ transaction: PlainTransaction) {
    let state = transaction.state
    let text = "{" + String(decoding: outcome.body, as: UTF8.self) + "}"
    guard let answer = attempt(text) else { return expect(false, "answer \(text)") }
    let ids = Dictionary(
      uniqueKeysWithValues: (answer["ids"]?.members ?? []).map { ($0.name, $0.value.string ?? "") }
    )
    let living = transaction.ids.filter { state.objects[$0.value] != nil }
    expect(living.allSatisfy { ids[$0.key] == state.id($0.value) }, "ids \(answer.text)")
    let objects = answer["objects"]?.array ?? []
    expect(objects.count == transaction.answered.count, "objects \(answer.text)")
    for (object, key) in zip(objects, transaction.answered) where state.objects[key] != nil {
      expect(
        object["version"]?.integer == state.objects[key]?.version,
        "version of \(object.text), \(state.objects[key]?.version ?? 0)"
      )
    }
    let merged = (answer["merged"]?.array ?? []).map { entry in
      let properties = (entry["properties"]?.members ?? []).map { "\($0.name) \($0.value.text)" }
      return "\(entry["id"]?.string ?? "") \(properties.sorted())"
    }
    let wanted = transaction.merged.map { key, outcomes in
      "\(transaction.before.id(key)) \(outcomes.map { "\($0) \"\($1)\"" }.sorted())"
    }
    expect(merged.sorted() == wanted.sorted(), "merged \(merged), not \(wanted)")
    expect(outcome.count == transaction.count, "count \(outcome.count), \(transaction.count)")
    let changed = (transaction.removed + transaction.matched).map(transaction.before.id)
    expect(Set(outcome.ids) == Set(changed), "\(outcome.ids), not \(changed)")
  }

  private func attempt(_ text: String) -> JSONValue? {
    do {
      return try JSONParser.parse(text)
    } catch {
      return nil
    }
  }

  private func compare(_ dryRun: DryRun, _ transaction: PlainTransaction) {
    expect(dryRun.error == nil, "dry run: \(dryRun)")
    expect(
      Set(dryRun.deletes) == Set(transaction.removed.map(transaction.before.id)),
      "dry run deletes \(dryRun.deletes), not \(transaction.removed)"
    )
    let updates = transaction.touched.filter {
      transaction.before.objects[$0] != nil && transaction.state.objects[$0] != nil
    }
    expect(
      Set(dryRun.updates) == Set(updates.map(transaction.before.id)),
      "dry run updates \(dryRun.updates), not \(updates)"
    )
  }

  // MARK: Objects

  private func compareObjects() throws {
    let wanted = plain.state.lines
    for (index, store) in stores.enumerated() {
      let lines = try store.world(plain.state.everything)
      expect(
        lines == wanted,
        "process \(index) has \(lines.filter { !wanted.contains($0) }), not "
          + "\(wanted.filter { !lines.contains($0) })"
      )
    }
  }

  // MARK: History

  /// Compares what the newest commit says with what became of the plain objects.
  private func compareHistory(_ before: PlainState) throws {
    let changes = PlainChange.changes(from: before, to: plain.state, written: [:])
    try stores[0].snapshot { snapshot in
      let head = snapshot.head.number
      expect(head == Int64(plain.head), "commit \(head), not \(plain.head)")
      guard !changes.isEmpty, agrees else { return }
      let commit = try snapshot.log.transactions(after: head - 1, through: head, limit: 1)
      let told = Dictionary(
        uniqueKeysWithValues: (commit.first?.changes ?? []).map { change in
          let entity = snapshot.model.entity(change.key.entity).name
          return (PlainKey(entity: entity, number: Int(change.key.object)), change)
        }
      )
      // What came and went counts a version and is no change.
      for (key, change) in changes where change.kind != .update || !change.properties.isEmpty {
        compare(key, change, told[key], before, snapshot.model)
      }
      let more = told.keys.filter { changes[$0] == nil && told[$0]?.kind != .update }
      expect(more.isEmpty, "history has \(more)")
    }
  }

  private func compare(
    _ key: PlainKey,
    _ change: PlainChange,
    _ told: HistoryChange?,
    _ before: PlainState,
    _ model: Model
  ) {
    guard let told else { return expect(false, "history has nothing of \(key)") }
    expect("\(told.kind)" == "\(change.kind)", "history: \(key) \(told.kind)")
    if change.kind == .update {
      expect(told.properties.isSuperset(of: change.properties), "history: \(key) \(told)")
    }
    if change.kind != .insert {
      let names = Set(told.before.map(\.property))
      expect(names.isSuperset(of: change.columns), "history: \(key) \(told)")
      for value in told.before {
        let old = before.logged(value.property, of: key)
        expect(value.value == old, "history: \(key) \(value), not \(old)")
      }
    }
    func texts(_ pairs: [String: [ObjectKey]]) -> [String] {
      pairs.flatMap { name, others in
        others.map { "\(name) \(model.entity($0.entity).name) \($0.object)" }
      }.sorted()
    }
    func texts(_ pairs: [String: Set<PlainKey>]) -> [String] {
      pairs.flatMap { name, others in others.map { "\(name) \($0.entity) \($0.number)" } }.sorted()
    }
    expect(texts(told.linked) == texts(change.linked), "history: \(key) \(told)")
    expect(texts(told.unlinked) == texts(change.unlinked), "history: \(key) \(told)")
  }
}
