import CordialValues
import JSON
import ObjectModel
import PersistentHistory
import PersistentStore
import TestSeeds
import TestStores
import Testing

/// One random model that is filled and migrated several times.
struct WideMigrationRun {
  private let seed: UInt64
  private let test: String
  private let coverage: ModelCoverage
  private let folder: TestFolder
  private var objects: WideObjects
  private var model: WideModel

  init(_ seed: UInt64, _ coverage: ModelCoverage, _ test: String) throws {
    self.seed = seed
    self.test = test
    self.coverage = coverage
    folder = try TestFolder()
    var generator = WideModelGenerator(seed: seed)
    model = generator.generate()
    objects = WideObjects(model, seed: seed)
  }

  mutating func run(versions: Int) async throws {
    var text: String? = model.text
    for _ in 0..<versions {
      let state = try await fill(text)
      let migration = nextVersion(state)
      let next = migration.model.text
      guard try migrate(migration, from: state, opening: { try TestStore(next, in: $0) }) else {
        return
      }
      text = nil
    }
  }

  /// Fills a store and migrates it through a chain of three versions at once.
  mutating func runChain() async throws {
    let state = try await fill(model.text)
    var stages: [WideMigration] = []
    for attempt in 0..<(seed.isMultiple(of: 4) ? 1 : 20) as Range<UInt64> {
      let seed = seed &+ attempt &* 1_000_003
      var first = WideMigration(model, state, seed: seed)
      first.namesLosses = false
      first.run()
      var second = WideMigration(after: first, seed: seed)
      second.run()
      stages = [first, second]
      if second.isCertain { break }
    }
    let (first, second) = (stages[0], stages[1])
    let earlier = [model, first.model]
    _ = try migrate(second, from: state) { folder in
      let models = try (earlier + [second.model]).map {
        try ModelDocument.parse(Array($0.text.utf8).span)
      }
      try PersistentStore(
        container: StoreContainer(path: folder.path),
        model: models[2],
        earlier: { Array(models.dropLast()) },
        mode: .readWrite,
        environment: TestStore.environment()
      ).close()
      return try TestStore(nil, in: folder)
    }
  }

  /// A random next version; two of three are such that the store can migrate to them.
  private func nextVersion(_ state: WideState) -> WideMigration {
    var attempt: UInt64 = 0
    while true {
      var migration = WideMigration(model, state, seed: seed &+ attempt &* 1_000_003)
      migration.run()
      let isAny = attempt == 0 && migration.random.oneIn(3)
      if migration.isCertain || attempt == 20 || isAny { return migration }
      attempt += 1
    }
  }

  private func failure(_ what: String, _ migration: WideMigration) -> Comment {
    """
    \(what)
    from \(migration.before.text)
    to \(migration.model.text)
    by \(migration.steps.joined(separator: "; "))
    \(Seeds.repeating(seed, test))
    """
  }

  /// Inserts and changes objects, and returns what the store has then.
  private mutating func fill(_ text: String?) async throws -> WideState {
    let store = try TestStore(text, in: folder)
    objects.model = model
    for request: JSONValue in [["insert": .array(objects.inserts(3))], [:], [:]] {
      let request = request.members == [] ? objects.change(try WideState(store, model)) : request
      do {
        try await store.save(request.text)
        coverage.count("save accepted")
      } catch let error as StoreError {
        coverage.count("save refused: \(error.code)")
      }
    }
    return try WideState(store, model)
  }

  /// Migrates the store and compares it; returns whether it may go on.
  private mutating func migrate(
    _ migration: WideMigration,
    from state: WideState,
    opening: (TestFolder) throws -> TestStore
  ) throws -> Bool {
    let store: TestStore
    do {
      store = try opening(folder)
    } catch let error as StoreError {
      compare(error, migration)
      let after = try WideState(try TestStore(nil, in: folder), model)
      if after != state {
        Issue.record(failure("the refused migration changed the store", migration))
      }
      return true
    }
    guard migration.refusals.isEmpty else {
      Issue.record(failure("the store accepts \(migration.refusals)", migration))
      return false
    }
    coverage.count("migrated")
    for step in migration.steps { coverage.count("step: \(step.prefix { $0 != " " })") }
    model = migration.model
    let found = try WideState(store, model)
    let differences = differences(found, migration)
    if !differences.isEmpty {
      Issue.record(failure(differences.joined(separator: "\n"), migration))
    }
    let problems = try store.snapshot { snapshot in
      var verification = StoreVerification(snapshot)
      return try verification.run()["problems"] ?? .null
    }
    if problems != [] {
      Issue.record(failure("store/verify reports \(problems.text)", migration))
    }
    try readHistory(of: store, migration)
    return differences.isEmpty
  }

  /// Reads every commit, in the names of the new model.
  private func readHistory(of store: TestStore, _ migration: WideMigration) throws {
    try store.snapshot { snapshot in
      let commits = try snapshot.log.transactions(after: 0, through: .max, limit: .max)
      #expect(commits.last?.context == "migration", failure("no commit", migration))
      for change in commits.flatMap(\.changes) {
        let entity = snapshot.model.entity(change.key.entity)
        for value in change.before {
          // An answer leaves out the values of removed properties (P-117c).
          guard entity.property(named: value.property) != nil else { continue }
          _ = try snapshot.json(value, of: entity)
        }
      }
    }
  }

  private func compare(_ error: StoreError, _ migration: WideMigration) {
    let problems = error.data.first { $0.name == "problems" }?.value.array ?? []
    guard error.code == .modelMismatch, !problems.isEmpty else {
      Issue.record(failure("refused with \(error)", migration))
      return
    }
    if migration.refusals.isEmpty, migration.openings.isEmpty {
      Issue.record(failure("refused: \(JSONValue.array(problems).text)", migration))
    }
    coverage.count(migration.refusals.isEmpty ? "open: refused" : "refused")
  }

  /// What the store has, without what the contract leaves open, against what it should have.
  private func differences(_ found: WideState, _ migration: WideMigration) -> [String] {
    let model = migration.model
    var (found, wanted) = (found, migration.state)
    for (name, object) in found.objects {
      found.objects[name]?.id = ""
      guard let expected = wanted.objects[name] else { continue }
      for attribute in model.attributes(name.entity)
      where attribute.derived != nil && expected.values[attribute.number] == nil {
        found.objects[name]?.values[attribute.number] = nil
      }
      if migration.openVersions.contains(name),
        (expected.version...expected.version + 2).contains(object.version)
      {
        wanted.objects[name]?.version = object.version
      }
    }
    found = found.normalized(model, open: migration.openOrders)
    wanted = wanted.normalized(model, open: migration.openOrders)
    return found.differences(from: wanted, model)
  }
}
