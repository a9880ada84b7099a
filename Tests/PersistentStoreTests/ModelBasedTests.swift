import CordialValues
import Foundation
import JSON
import ObjectModel
import PersistentHistory
import PersistentStore
import TestSeeds
import TestStores
import Testing

@Suite struct `A store does what a plain model of it does` {
  // Evidence: P-060, P-061, P-062, P-063, P-064, P-065, P-069, P-070, P-071, P-119, P-121, P-122
  // Evidence: P-124, P-125, P-126, P-127
  @Test(arguments: Seeds.first(24))
  func `random operations of two processes`(seed: UInt64) async throws {
    try await run(ModelRun(seed), seed)
  }

  /// What else takes thousands of rows goes this way with two.
  @Test(arguments: Seeds.first(24))
  func `random operations, rows written together`(seed: UInt64) async throws {
    var bulk = BulkLimits()
    bulk.rowsMin = 1
    bulk.rowsAtOnceMax = 2
    try await run(ModelRun(seed, bulk), seed)
  }

  private func run(_ run: ModelRun, _ seed: UInt64) async throws {
    for _ in 0..<60 {
      do {
        try await run.step()
      } catch {
        Issue.record("\(run.last): \(error); \(Seeds.repeating(seed))")
        return
      }
      guard run.agrees else { return }
    }
    try run.end()
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

  init(_ seed: UInt64, _ bulk: BulkLimits = BulkLimits()) throws {
    self.seed = seed
    let first = try TestStore(OperationGenerator.league, bulk: bulk)
    stores = [first, try TestStore(nil, in: first.folder, bulk: bulk)]
    plain = PlainStore(try PlainModel(OperationGenerator.league))
    generator = OperationGenerator(random: SplitMix64(seed: seed))
  }

  /// Does something, and compares.
  func step() async throws {
    let store = generator.random.pick(stores)
    let before = plain.state
    switch generator.random.below(8) {
    case 0, 1: try await revert(generator.revert(), store)
    case 2:
      if let write = generator.foreign(plain) { try await foreign(write, store) }
    default: try await save(generator.request(plain), store)
    }
    guard agrees else { return }
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

  /// Sends a request, seldom after a dry run of it; nil when it was refused, as it has to be.
  private func send(
    _ request: JSONValue,
    _ store: TestStore,
    _ transaction: PlainTransaction
  ) async throws -> TestOutcome? {
    guard transaction.notModelled == nil else { return nil }
    last = request.text
    let dryRun =
      generator.random.oneIn(4)
      ? try await store.outcome(String(request.text.dropLast()) + #","dryRun":true}"#).dryRun : nil
    if dryRun != nil { try compareObjects() }
    do {
      let outcome = try await store.outcome(request.text)
      expect(transaction.errors.isEmpty, "no error, but \(transaction.errors)")
      if let dryRun { compare(dryRun, transaction) }
      return outcome
    } catch let error as StoreError {
      let code = error.code.rawValue
      expect(transaction.errors.contains(code), "\(error), not \(transaction.errors)")
      if let dryRun { expect(dryRun.error?.code == error.code, "dry run: \(dryRun)") }
      return nil
    }
  }

  private func save(_ request: JSONValue, _ store: TestStore) async throws {
    let transaction = plain.save(request)
    guard let outcome = try await send(request, store, transaction), agrees else { return }
    compare(outcome, request, transaction)
    plain.keep(
      transaction,
      author: request["author"]?.string,
      context: request["context"]?.string
    )
    expect(outcome.token.number == Int64(plain.head), "commit \(outcome.token), \(plain.head)")
  }

  private func compare(
    _ outcome: TestOutcome,
    _ request: JSONValue,
    _ transaction: PlainTransaction
  ) {
    let state = transaction.state
    let answer = outcome.body
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
    compareKnown(request, objects, transaction)
    let merged = (answer["merged"]?.array ?? []).map { entry in
      let properties = (entry["properties"]?.members ?? []).map { "\($0.name) \($0.value.text)" }
      return "\(entry["id"]?.string ?? "") \(properties.sorted())"
    }
    let wanted = transaction.merged.map { key, outcomes in
      "\(transaction.before.id(key)) \(outcomes.map { "\($0) \"\($1)\"" }.sorted())"
    }
    expect(merged.sorted() == wanted.sorted(), "merged \(merged), not \(wanted)")
    expect(outcome.count == transaction.count, "count \(outcome.count), \(transaction.count)")
    // What came and went in one save has an ID that nobody else knew.
    let meant = transaction.removed + transaction.matched
    let known = meant.filter { transaction.before.objects[$0] != nil }.map(transaction.before.id)
    expect(
      Set(outcome.ids).isSuperset(of: known) && outcome.ids.count == meant.count,
      "\(outcome.ids), not \(meant)"
    )
  }

  /// Compares what a client knows of the objects that it sent with what they are.
  ///
  /// It knows of an insert everything, of an update what was sent. An insert of what is there may
  /// be followed by an update of the same object, whose word is the last.
  private func compareKnown(
    _ request: JSONValue,
    _ objects: [JSONValue],
    _ transaction: PlainTransaction
  ) {
    let state = transaction.state
    let inserts = request["insert"]?.array ?? []
    let sent = inserts + (request["update"]?.array ?? [])
    for (index, object) in objects.enumerated() where index < sent.count {
      let key = transaction.answered[index]
      guard !transaction.answered[(index + 1)...].contains(key) else { continue }
      let isNew = transaction.inserted.contains(key)
      let identity = plain.model.entity(key.entity).identity
      for name in state.columns(key.entity) where state.objects[key] != nil && name != identity {
        let said = object["values"]?[name] ?? sent[index]["values"]?[name]
        guard isNew || said != Optional.none else { continue }
        let known = said ?? .null
        let target = known.string.flatMap { transaction.ids[$0].map(state.id) }
        expect(
          (target.map { .string($0) } ?? known) == state.wire(name, of: key),
          "\(name) of \(object.text), not \(state.wire(name, of: key))"
        )
      }
    }
  }

  private func compare(_ dryRun: TestOutcome.Rehearsal, _ transaction: PlainTransaction) {
    expect(dryRun.error == nil, "dry run: \(dryRun)")
    let there = Set(transaction.before.objects.keys.map(transaction.before.id))
    expect(
      Set(dryRun.deletes).intersection(there)
        == Set(transaction.removed.map(transaction.before.id)).intersection(there),
      "dry run deletes \(dryRun.deletes), not \(transaction.removed)"
    )
    let returned = transaction.state.objects.keys.filter { key in
      transaction.before.objects[key] == nil && !transaction.inserted.contains(key)
    }
    let updates =
      transaction.touched.filter {
        transaction.before.objects[$0] != nil && transaction.state.objects[$0] != nil
      } + returned
    expect(
      Set(dryRun.updates) == Set(updates.map(transaction.state.id)),
      "dry run updates \(dryRun.updates), not \(updates)"
    )
  }

  // MARK: Undo

  private func revert(_ request: JSONValue, _ store: TestStore) async throws {
    var revert = plain.revert(request)
    guard let outcome = try await send(request, store, revert.transaction), agrees else { return }
    let answer = outcome.body
    let text = answer.text
    expect(answer["undone"]?.integer == Int64(revert.groups.count), "\(text), \(revert.groups)")
    let state = revert.transaction.state
    let restored = state.objects.keys.filter { plain.state.objects[$0] == nil }
    try adoptVersions(of: restored, into: &revert.transaction)
    plain.keep(revert, author: request["author"]?.string)
    let objects = answer["objects"]?.array ?? []
    let told = Set(objects.compactMap { $0["id"]?.string })
    // What stayed of an insert and loses a pair with what goes is not told: a known issue.
    let kept = revert.groups.flatMap { $0.changes.filter { $0.value.kind == .insert }.keys }
      .filter { state.objects[$0] != nil }
    let here = Set(state.objects.keys).union(revert.transaction.before.objects.keys)
    let changed = here.intersection(revert.changes.flatMap(\.keys)).subtracting(kept).map { key in
      (state.objects[key] == nil ? revert.transaction.before : state).id(key)
    }
    expect(told.isSuperset(of: changed), "\(text), not \(changed)")
    // The ID of one that is gone may be another's by now.
    let ids = Set(plain.state.objects.keys.map(plain.state.id))
    for object in objects
    where object["deleted"] != true || !ids.contains(object["id"]?.string ?? "") {
      let key = plain.state.key(object["id"]?.string ?? "")
      let now = key.flatMap { plain.state.objects[$0] }
      expect((object["deleted"]?.bool == true) == (now == nil), "\(object.text)")
      expect(object["version"]?.integer == now?.version, "\(object.text), \(now?.version ?? 0)")
    }
  }

  /// Takes versions of which the protocol says only that they go up from the store.
  private func adoptVersions(
    of keys: [PlainKey],
    into transaction: inout PlainTransaction
  ) throws {
    let lines = try stores[0].world(plain.model.entities.map(\.name).joined(separator: ";"))
    for key in keys {
      let begin = transaction.state.id(key) + " v"
      let line = lines.first { $0.hasPrefix(begin) } ?? ""
      let version = Int64(line.dropFirst(begin.count)) ?? 0
      let last = plain.past[key]?.last?.object.version ?? 0
      expect(version > last, "\(line) behind \(last)")
      transaction.state.objects[key]?.version = version
    }
  }

  // MARK: Foreign clients

  private func foreign(_ write: ForeignWrite, _ store: TestStore) async throws {
    last = write.sql
    var transaction = PlainTransaction(plain.state)
    write.write(&transaction)
    try store.foreign(write.sql)
    try await store.seal()
    transaction.end()
    plain.keep(transaction, author: "external", context: nil)
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

  /// Looks for what is wrong in the store, and for the same objects in a copy of it.
  func end() throws {
    let problems = try stores[0].snapshot { snapshot in
      var verification = StoreVerification(snapshot)
      return try verification.run()["problems"]
    }
    expect(problems == [], "problems \(problems?.text ?? "")")
    let folder = try TestFolder()
    let source = StoreContainer(path: stores[0].folder.path)
    let target = StoreContainer(path: folder.path)
    // The folder of a copy must not be there.
    try FileManager.default.removeItem(atPath: folder.path)
    _ = try StoreBackup.copy(source, to: target, environment: TestStore.environment())
    let copy = try TestStore(nil, in: folder)
    expect(try copy.world(plain.state.everything) == plain.state.lines, "the copy differs")
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
    func texts(_ pairs: [String: Set<ObjectKey>]) -> [String] {
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
