import Cordial
import CordialValues
import TestSeeds
import Testing

/// What the contract says about contexts over one store, without a store.
///
/// A property that a context has changed keeps its value; every other one is the store's after the
/// context has saved its object. Objects are named by their `key`, which never changes.
private struct PlainStore {
  struct Row: Equatable {
    var title: String
    var priority: Int
  }

  var rows: [String: Row] = [:]
}

private struct PlainContext {
  struct Entry: Equatable {
    /// The store's row that the context has read; nil for an inserted object.
    var base: PlainStore.Row?
    /// The row with the changes; nil for a deleted object.
    var current: PlainStore.Row?
  }

  var entries: [String: Entry] = [:]
  var undoable: [[String: Entry?]] = []
  var redoable: [[String: Entry?]] = []

  mutating func read(_ store: PlainStore) {
    for (key, row) in store.rows where entries[key] == nil {
      entries[key] = Entry(base: row, current: row)
    }
  }

  mutating func change(_ key: String, to current: PlainStore.Row?, inserting: Bool = false) {
    let former = entries[key]
    var entry = former ?? Entry()
    entry.current = current
    guard entry != former else { return }
    undoable.append([key: former])
    redoable = []
    entries[key] = entry
  }

  mutating func undo() {
    guard let step = undoable.popLast() else { return }
    redoable.append(step.map { ($0.key, entries[$0.key]) }.asDictionary)
    for (key, entry) in step { entries[key] = entry }
  }

  mutating func redo() {
    guard let step = redoable.popLast() else { return }
    undoable.append(step.map { ($0.key, entries[$0.key]) }.asDictionary)
    for (key, entry) in step { entries[key] = entry }
  }

  mutating func rollback() {
    (undoable, redoable) = ([], [])
    for (key, entry) in entries {
      entries[key] = entry.base.map { Entry(base: $0, current: $0) }
    }
  }

  /// Saves with the policy `objectTrump`; the result is false, without effect, where an object
  /// that the context has changed does not exist any more.
  mutating func save(_ store: inout PlainStore) -> Bool {
    let missing = entries.contains { key, entry in
      entry.base != nil && entry.current != entry.base && store.rows[key] == nil
    }
    guard !missing else { return false }
    // A save without changes does nothing, so that the steps stay.
    guard entries.values.contains(where: { $0.current != $0.base }) else { return true }
    for (key, entry) in entries where entry.current != entry.base {
      guard let current = entry.current else {
        store.rows[key] = nil
        entries[key] = nil
        continue
      }
      var row = entry.base == nil ? current : store.rows[key] ?? current
      if current.title != entry.base?.title { row.title = current.title }
      if current.priority != entry.base?.priority { row.priority = current.priority }
      store.rows[key] = row
      entries[key] = Entry(base: row, current: row)
    }
    (undoable, redoable) = ([], [])
    return true
  }
}

extension [(key: String, value: PlainContext.Entry?)] {
  fileprivate var asDictionary: [String: PlainContext.Entry?] {
    Dictionary(uniqueKeysWithValues: map { ($0.key, $0.value) })
  }
}

/// A context with the objects that it has shown, by key.
@MainActor private final class TestedContext {
  let context: Context
  var objects: [String: ContextObject<EditedTask>] = [:]
  var plain = PlainContext()

  init(_ client: Client) {
    context = Context(client, automaticallyMergesChanges: false)
  }

  var rows: [String: PlainStore.Row] {
    objects.compactMapValues { object in
      object.value.map { PlainStore.Row(title: $0.title ?? "", priority: $0.priority ?? 0) }
    }
  }
}

@Suite struct `Two contexts` {
  @Test(arguments: Seeds.first(4)) @MainActor
  func `do what a plain model does`(seed: UInt64) async throws {
    var random = SplitMix64(seed: seed)
    try await withService { _, client in
      var store = PlainStore()
      let contexts = [TestedContext(client), TestedContext(client)]
      var keys = 0
      for step in 0..<120 {
        let tested = contexts[Int.random(in: 0...1, using: &random)]
        let alive = tested.plain.entries.filter { $0.value.current != nil }.keys.sorted()
        switch Int.random(in: 0..<12, using: &random) {
        case 0...1:
          keys += 1
          let key = "k\(keys)"
          let object = tested.context.insert {
            EditedTask(id: $0, title: "t", priority: keys, done: false)
          }
          tested.objects[key] = object
          tested.plain.change(key, to: .init(title: "t", priority: keys))
        case 2...5:
          guard let key = alive.randomElement(using: &random), let object = tested.objects[key],
            var row = tested.plain.entries[key]?.current
          else { continue }
          let number = Int.random(in: 0..<4, using: &random)
          if Bool.random(using: &random) {
            row.title = "t\(number)"
            try object.update { $0.title = row.title }
          } else {
            row.priority = number
            try object.update { $0.priority = number }
          }
          tested.plain.change(key, to: row)
        case 6:
          guard let key = alive.randomElement(using: &random), let object = tested.objects[key]
          else {
            continue
          }
          tested.context.delete(object)
          tested.plain.change(key, to: nil)
        case 7:
          tested.context.undo()
          tested.plain.undo()
        case 8:
          tested.context.redo()
          tested.plain.redo()
        case 9 where Int.random(in: 0..<3, using: &random) == 0:
          tested.context.rollback()
          tested.plain.rollback()
        default:
          let isPossible = tested.plain.save(&store)
          do {
            try await tested.context.save(mergePolicy: .objectTrump)
            #expect(isPossible, "step \(step). \(Seeds.repeating(seed))")
          } catch let error as ClientError {
            #expect(!isPossible, "step \(step). \(Seeds.repeating(seed))")
            #expect(error.code == .objectNotFound)
            tested.context.rollback()
            tested.context.reset()
            tested.plain = PlainContext()
            tested.objects = [:]
          }
          // The other context reads what it has not read yet.
          try await share(contexts, store, client)
        }
        for tested in contexts {
          let expected = tested.plain.entries.compactMapValues(\.current)
          #expect(tested.rows == expected, "step \(step). \(Seeds.repeating(seed))")
        }
      }
      let stored = try await client.fetch(FetchRequest<EditedTask>())
      #expect(stored.count == store.rows.count, "\(Seeds.repeating(seed))")
    }
  }

  /// Gives each context the objects of the store that it does not have.
  @MainActor private func share(
    _ contexts: [TestedContext],
    _ store: PlainStore,
    _ client: Client
  ) async throws {
    for tested in contexts {
      for (key, _) in store.rows where tested.plain.entries[key] == nil {
        let ids = contexts.compactMap { $0.objects[key]?.id }.filter { !$0.isTemporary }
        guard let id = ids.first else { continue }
        tested.objects[key] = try await tested.context.existingObject(EditedTask.self, with: id)
        tested.plain.entries[key] = .init(base: store.rows[key], current: store.rows[key])
      }
    }
  }
}
