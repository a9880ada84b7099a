import CordialProtocol
import CordialValues
import JSON
import ObjectModel
import PersistentHistory
import PersistentStore

/// The encoder of commits that pass the filters of a request.
struct HistoryEncoder {
  private let call: HistoryCall
  private let snapshot: StoreSnapshot
  private let limits: Limits
  private let entities: Set<Int>?
  private var orders: FormerOrders

  /// Creates the encoder of a request.
  ///
  /// - Parameters:
  ///   - call: The request, whose filters select commits and changes.
  ///   - snapshot: A snapshot of the store.
  ///   - commit: The last commit that the encoder may receive.
  ///   - limits: The limits of the service.
  /// - Throws: `unknownEntity` for an entity in a filter that neither the model nor the history
  ///   has.
  init(
    _ call: HistoryCall,
    _ snapshot: StoreSnapshot,
    through commit: Int64,
    _ limits: Limits
  ) throws {
    self.call = call
    self.snapshot = snapshot
    self.limits = limits
    entities = try call.entities.map { try EntityNames.loggedNumbers($0, in: snapshot.model) }
    orders = FormerOrders(snapshot, through: commit)
  }

  /// Returns a commit in its wire form, or nil if the filters exclude it.
  mutating func json(
    _ transaction: HistoryTransaction,
    omitsChanges: Bool = false
  ) throws -> JSONValue? {
    if let authors = call.authors, !authors.contains(where: { $0.includes(transaction.author) }) {
      return nil
    }
    let omitsChanges = omitsChanges || transaction.changeCount > limits.historyChangesMax
    let changes = transaction.changes.filter { entities?.contains($0.key.entity) ?? true }
    // If the changes are omitted, their entities are unknown, so the filter keeps the commit.
    if entities != nil, changes.isEmpty, !omitsChanges { return nil }
    let token = StoreToken(
      generation: snapshot.token.generation,
      number: transaction.number,
      mark: transaction.mark
    )
    let commit = HistoryCall.Transaction(
      token: token.description,
      time: DateText.text(transaction.time) ?? "",
      author: transaction.author,
      context: transaction.context,
      process: transaction.process,
      changes: omitsChanges ? [] : try changes.map { try wire($0, of: transaction) },
      leftOut: omitsChanges ? Int64(transaction.changeCount) : nil
    )
    return commit.json
  }

  private mutating func wire(
    _ change: HistoryChange,
    of transaction: HistoryTransaction
  ) throws -> HistoryCall.Change {
    let entity = snapshot.model.entity(change.key.entity)
    let linked = Set(change.linked.keys).union(change.unlinked.keys)
    var before: [JSONMember] = []
    // A tombstone lists only the preserved attributes, if the entity has such attributes.
    let preserved = Set(entity.attributes.filter(\.isPreserved).map(\.name))
    let hidesOthers = change.kind == .delete && !preserved.isEmpty
    // If both the links and the order of a list changed, the result has only the changed links.
    for value in change.before
    where !linked.contains(value.property) && (!hidesOthers || preserved.contains(value.property)) {
      // The type of a property that the model no longer has is unknown, and null would be wrong.
      guard entity.property(named: value.property) != nil else { continue }
      guard case .relationship(let list)? = entity.property(named: value.property), list.toMany
      else {
        before.append(JSONMember(value.property, try snapshot.json(value, of: entity)))
        continue
      }
      // A delete logs only attributes and to-ones.
      guard change.kind == .update,
        let order = try orders.order(of: list.name, change.key, before: transaction)
      else { continue }
      before.append(JSONMember(list.name, try ids(order)))
    }
    for property in linked.sorted() {
      // The value that would revert the change: it adds removed links and removes added links.
      before.append(
        JSONMember(
          property,
          [
            "@add": try ids((change.unlinked[property] ?? []).sorted()),
            "@remove": try ids((change.linked[property] ?? []).sorted()),
          ]
        )
      )
    }
    return HistoryCall.Change(
      id: try snapshot.wrappedID(change.key).description,
      kind: change.kind.rawValue,
      properties: change.kind == .update ? change.properties.sorted() : [],
      before: change.kind == .insert ? [] : before
    )
  }

  private func ids(_ keys: [ObjectKey]) throws -> JSONValue {
    .array(try keys.map { .string(try snapshot.wrappedID($0).description) })
  }
}
