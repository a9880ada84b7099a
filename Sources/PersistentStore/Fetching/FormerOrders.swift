package import CordialValues
import ObjectModel
package import PersistentHistory
import SQLite
import StoreLayout

/// The orders of ordered to-manys before the commits that changed these orders.
///
/// The log has the former sort position of each moved member. Rewinding the log from the current
/// order gives the former order of the whole list. One pass over the log serves many commits.
package struct FormerOrders {
  private let snapshot: StoreSnapshot
  /// The last commit that a pass over the log includes.
  private let last: Int64
  /// The known orders, by commit; `membersMax` limits the total number of their members.
  private var orders: [Int64: [ListName: [ObjectKey]]] = [:]
  /// The last commit up to which `orders` contains every changed order.
  private var complete: Int64 = 0

  /// The maximum number of members in `orders`.
  static let membersMax = 1_000_000

  private struct ListName: Hashable {
    let owner: ObjectKey
    let property: String
  }

  /// Creates a reader of former orders.
  ///
  /// - Parameters:
  ///   - snapshot: The snapshot to read.
  ///   - last: The last commit whose orders the caller may request.
  package init(_ snapshot: StoreSnapshot, through last: Int64) {
    self.snapshot = snapshot
    self.last = min(last, snapshot.head.number)
  }

  /// Returns the members of a to-many before a commit that changed their order; nil if the commit
  /// did not change the order.
  ///
  /// - Throws: `SQLiteError`.
  /// - Complexity: The first call is linear in the rows of the log since the commit.
  package mutating func order(
    of property: String,
    _ owner: ObjectKey,
    before commit: HistoryTransaction
  ) throws -> [ObjectKey]? {
    if commit.number > complete { try read(from: commit) }
    return orders[commit.number]?[ListName(owner: owner, property: property)]
  }

  /// Reads the orders of a commit and of the commits after it.
  private mutating func read(from commit: HistoryTransaction) throws {
    orders = [:]
    let start = commit.lastChange - Int64(commit.changeCount)
    let moved = try self.moved(after: start, from: commit.number)
    var former = FormerLists(snapshot.model)
    for list in Set(moved.flatMap(\.lists)) {
      guard let toMany = toMany(list) else { continue }
      let source = LinkTable(toMany, in: snapshot.model)
      let positions = try source.positions(
        of: list.owner.object,
        snapshot.statement(source.positionsQuery)
      )
      former.begin(toMany, of: list.owner, with: positions)
    }
    var rest = moved
    complete = last
    var count = 0
    /// Records the orders before each commit whose changes all come after the given change.
    func note(_ change: Int64) {
      while let newest = rest.last, newest.after >= change {
        rest.removeLast()
        var known: [ListName: [ObjectKey]] = [:]
        for list in newest.lists {
          guard let toMany = toMany(list) else { continue }
          let members = former.members(of: toMany, list.owner)
          count += members.count
          known[list] = members.map { snapshot.model.key(toMany.destination, $0) }
        }
        orders[newest.number] = known
        // If there are too many members, the orders of the newest commits are dropped. A later call
        // of `order` reads them again.
        while count > Self.membersMax, let latest = orders.keys.max(), latest > commit.number {
          count -= orders.removeValue(forKey: latest)?.values.reduce(0) { $0 + $1.count } ?? 0
          complete = latest - 1
        }
      }
    }
    let end = snapshot.head.lastChange
    try snapshot.log.eachRowBackwards(after: start, through: end) { row in
      note(row.number)
      former.rewind(row)
      return true
    }
    note(start)
  }

  private func toMany(_ list: ListName) -> RelationshipDescription? {
    guard
      case .relationship(let found)? = snapshot.model.entity(list.owner.entity)
        .property(named: list.property), found.toMany, found.ordered
    else { return nil }
    return found
  }

  /// A commit with the lists whose order it changed.
  private struct Moves {
    let number: Int64
    /// The number of the last change before the commit.
    let after: Int64
    var lists: Set<ListName> = []
  }

  /// Returns the lists whose order commits changed, oldest commit first.
  private func moved(after start: Int64, from first: Int64) throws -> [Moves] {
    var moves: [Moves] = []
    var after = start
    // The caller may iterate over commits with the log's own statement, so this pass uses a
    // separate statement.
    let commits = try snapshot.statement(
      """
      SELECT number, lastChange FROM cordial_transaction WHERE number >= ?1 AND number <= ?2
      ORDER BY number
      """
    )
    defer { commits.reset() }
    commits.bind(first, at: 1)
    commits.bind(last, at: 2)
    while try commits.step() {
      let lastChange = commits.integer(1)
      var found = Moves(number: commits.integer(0), after: after)
      try snapshot.log.eachRow(after: after, through: lastChange) { row in
        guard let former = row.formerPosition, former.event == .moved,
          snapshot.model.hasEntity(row.entity)
        else { return }
        let owner = snapshot.model.key(row.entity, row.object)
        found.lists.insert(ListName(owner: owner, property: former.property))
      }
      if !found.lists.isEmpty { moves.append(found) }
      after = lastChange
    }
    return moves
  }
}
