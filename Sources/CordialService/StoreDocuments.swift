package import CordialValues
import ObjectModel
import PersistentHistory
package import PersistentStore
package import Spotlight

/// The source of the index's documents: the log, and the texts of the objects in it.
package final class StoreDocuments: DocumentSource {
  private let store: PersistentStore
  private let reader: StoreReader
  private let layout: IndexLayout
  /// The maximum number of changes in one batch, apart from those of its last commit.
  private static let changesMax: Int64 = 20_000
  /// The number of objects in a portion when all objects are read.
  private static let portionMax = 1000

  package init(store: PersistentStore, layout: IndexLayout) throws {
    self.store = store
    self.layout = layout
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
      // The next reader has the changes sealed, and the index is then woken again.
      return IndexBatch(through: token, remainingCommits: 0, documents: [])
    }
  }

  /// Runs a read of the store, whose errors become `StoreError`.
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
    let from: Int64
    do {
      from = try snapshot.position(of: token)
    } catch let error as StoreError where error.code == .historyExpired {
      return nil
    }
    // A model without indexed attributes has no documents.
    guard !layout.attributes.isEmpty else {
      return IndexBatch(through: snapshot.token, remainingCommits: 0, documents: [])
    }
    let through = try snapshot.log.commit(after: from, changesMax: Self.changesMax)
    guard let set = try snapshot.log.changeSet(from: from, through: through) else { return nil }
    let documents = try set.changes.values.sorted { $0.key < $1.key }.compactMap { change in
      try document(change, snapshot)
    }
    return IndexBatch(
      through: try snapshot.token(of: through),
      remainingCommits: snapshot.head.number - through,
      documents: documents
    )
  }

  /// Returns the document of a change, or nil if the change does not affect the index.
  private func document(
    _ change: ObjectChange,
    _ snapshot: StoreSnapshot
  ) throws -> IndexedDocument? {
    guard let attributes = layout.attributes[change.key.entity] else { return nil }
    let names = attributes.map(\.name)
    if change.kind == .update, !change.properties.contains(ChangeSet.everyProperty),
      change.properties.isDisjoint(with: names)
    {
      return nil
    }
    // The texts are those of the snapshot. If the object changes again after this batch, the batch
    // with that change indexes it again.
    let texts = change.kind == .delete ? nil : try snapshot.texts(change.key, names)
    return IndexedDocument(key: change.key, texts: texts, isNew: change.kind == .insert)
  }

  package func eachObject(_ body: ([IndexedDocument]) throws -> Void) throws -> StoreToken {
    try reader.snapshot(hidingUnsealed: true) { snapshot in
      for (number, attributes) in layout.attributes.sorted(by: { $0.key < $1.key }) {
        let entity = snapshot.model.entity(number)
        guard !entity.isAbstract else { continue }
        let names = attributes.map(\.name)
        var last: Int64 = 0
        while true {
          let portion = try Self.reading {
            try snapshot.objects(of: entity, after: last, limit: Self.portionMax).map { object in
              let key = ObjectKey(entity: number, object: object)
              return IndexedDocument(
                key: key,
                texts: try snapshot.texts(key, names),
                isNew: true
              )
            }
          }
          guard let end = portion.last else { break }
          try body(portion)
          last = end.key.object
        }
      }
      return snapshot.token
    }
  }
}
