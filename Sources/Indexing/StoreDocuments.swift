package import CordialValues
import ObjectModel
import PersistentHistory
package import PersistentStore
package import Spotlight

/// The source of the index's documents, which reads the log and the texts of objects.
package final class StoreDocuments: DocumentSource {
  private let store: PersistentStore
  private let reader: StoreReader
  private let rules: IndexRules
  private let layout: IndexLayout
  /// The maximum number of changes in one batch; the last commit of the batch may exceed it.
  private static let changesMax: Int64 = 20_000
  /// The maximum number of objects in a portion of `eachObject`.
  private static let portionMax = 1000

  /// Opens a connection to a store.
  ///
  /// - Parameters:
  ///   - store: The store.
  ///   - rules: The index rules of the store.
  /// - Throws: `StoreError` if the store cannot be read.
  package init(_ store: PersistentStore, _ rules: IndexRules) throws {
    self.store = store
    self.rules = rules
    layout = IndexLayout(store.model)
    reader = try store.makeReader()
  }

  package func batch(after token: StoreToken) throws -> IndexBatch? {
    do {
      return try Self.reading {
        try reader.snapshot(hidingUnsealed: store.isReadOnly) { snapshot in
          try batch(after: token, snapshot)
        }
      }
    } catch is UnsealedChanges {
      // The next reader starts the sealing, and the sealed commit wakes the index again.
      return IndexBatch(through: token, remainingCommits: 0, documents: [])
    }
  }

  /// Runs a read of the store, and converts all errors except `UnsealedChanges` to `StoreError`.
  private static func reading<Result>(_ body: () throws -> Result) throws -> Result {
    do {
      return try body()
    } catch let error as UnsealedChanges {
      throw error
    } catch {
      throw StoreError(any: error)
    }
  }

  private func batch(after token: StoreToken, _ snapshot: StoreSnapshot) throws -> IndexBatch? {
    guard let position = try snapshot.logPosition(of: token) else { return nil }
    // A model without indexed attributes has no documents.
    guard !layout.isEmpty else {
      return IndexBatch(through: snapshot.token, remainingCommits: 0, documents: [])
    }
    let from = position.commit
    let through = try snapshot.log.commit(after: from, changesMax: Self.changesMax)
    guard let (set, spans) = try snapshot.log.changesWithSpans(from: from, through: through)
    else { return nil }
    let indexed = try IndexedTexts(snapshot, rules)
    guard let concerned = try indexed.concerned(by: set, spans: spans, since: position)
    else { return nil }
    var documents: [IndexedDocument] = []
    documents.reserveCapacity(concerned.objects.count)
    for (entity, keys) in Dictionary(grouping: concerned.objects.keys, by: \.entity) {
      // The texts are read from the snapshot. If an object changes again after this batch, a later
      // batch indexes the object again.
      let content = try indexed.content(keys.map(\.object), of: entity)
      for key in keys {
        let change = set.changes[key]
        let isGone = spans[key] != nil && change == nil
        documents.append(
          IndexedDocument(
            key: key,
            content: content[key.object],
            isNew: change?.kind == .insert || isGone,
            commits: concerned.objects[key] ?? through...through
          )
        )
      }
    }
    return IndexBatch(
      through: try snapshot.token(of: through),
      remainingCommits: snapshot.head.number - through,
      documents: documents.sorted {
        ($0.commits.upperBound, $0.key) < ($1.commits.upperBound, $1.key)
      },
      unknown: concerned.entities
    )
  }

  package func eachObject(_ body: ([IndexedDocument]) throws -> Void) throws -> StoreToken {
    try reader.snapshot(hidingUnsealed: true) { snapshot in
      let indexed = try IndexedTexts(snapshot, rules)
      let commit = snapshot.head.number
      for number in indexed.entities {
        let entity = snapshot.model.entity(number)
        var last: Int64 = 0
        while true {
          let objects = try Self.reading {
            try snapshot.objects(of: entity, after: last, limit: Self.portionMax)
          }
          guard let end = objects.last else { break }
          let content = try Self.reading { try indexed.content(objects, of: number) }
          try body(
            objects.map { object in
              IndexedDocument(
                key: ObjectKey(entity: number, object: object),
                content: content[object],
                isNew: true,
                commits: commit...commit
              )
            }
          )
          last = end
        }
      }
      return snapshot.token
    }
  }
}
