import Algorithms
package import CordialValues
package import ObjectModel
package import SQLite

/// The direction of a revert.
package enum RevertDirection: Int64, Sendable {
  case undo = 0
  case redo = 1
}

/// The commits that are reverted together: one commit, or adjacent commits of one author and
/// context.
package struct RevertGroup: Sendable, Equatable {
  /// The first commit of the group, or the revert's own commit when the group is a revert.
  package let first: Int64
  package let last: Int64
  /// The index of the revert among its commit's reverts, nil for ordinary commits.
  package let index: Int64?
  package let context: String?
  /// The change ranges of the group.
  package let changes: [ChangeRange]
}

/// The record of a store's undos and redos, on the writer's connection.
///
/// The record determines the next undo and redo. An undo is a commit with its own changes in the
/// log. `cordial_undo` stores the groups that each undo reverted, so that undo works after a
/// restart and in every process. A redo reverts an undo, and can itself be undone.
package final class UndoLog {
  private let db: SQLiteConnection
  private let model: Model
  private let log: HistoryLog

  /// The `kind` of a row that marks a commit up to which nothing can be undone; no
  /// `RevertDirection` has this value.
  static let barrier: Int64 = 2
  /// The maximum number of commits in a group; older commits belong to the next group.
  fileprivate static let groupCommitsMax = 100_000
  /// The maximum number of log rows for which reading a group reserves capacity.
  private static let reservedRowsMax = 1_000_000

  package init(_ db: SQLiteConnection, model: Model, log: HistoryLog) {
    self.db = db
    self.model = model
    self.log = log
  }

  /// One revert: a row of `cordial_undo`.
  private struct Revert {
    let number: Int64
    let index: Int64
    let kind: Int64
    let changes: ChangeRange
    let first: Int64
    let last: Int64
    let revertedIndex: Int64?
    let author: String?
    let context: String?
  }

  private struct RevertIdentity: Hashable {
    let number: Int64
    let index: Int64
  }

  /// All reverts that the log still has.
  private struct State {
    var reverts: [Int64: [Revert]] = [:]
    /// Reverts that were reverted themselves.
    var reverted: Set<RevertIdentity> = []
    /// The ranges of ordinary commits that were undone, by author, in order.
    ///
    /// The ranges do not overlap.
    var undone: [String?: [ClosedRange<Int64>]] = [:]
    /// The commit up to which nothing can be undone.
    var barrier: Int64 = 0

    func isUndone(_ number: Int64, of author: String?) -> Bool {
      guard let ranges = undone[author] else { return false }
      let index = ranges.partitioningIndex { $0.upperBound >= number }
      return index < ranges.count && ranges[index].contains(number)
    }

    /// Returns the ordinary commit from which a revert's chain of undos and redos started.
    func origin(_ number: Int64, _ index: Int64?) -> Int64 {
      var name = (number: number, index: index)
      while let index = name.index,
        let revert = reverts[name.number]?.first(where: { $0.index == index }),
        revert.first < name.number
      {
        name = (revert.first, revert.revertedIndex)
      }
      return name.number
    }

    func isReverted(_ revert: Revert) -> Bool {
      reverted.contains(RevertIdentity(number: revert.number, index: revert.index))
    }
  }

  private func state() throws -> State {
    var state = State()
    let rows = try PreparedStatement(
      db,
      """
      SELECT u.number, u.place, u.kind, u.after, u.through, u.first, u.last, u.revertedPlace,
        t.author, u.context
      FROM cordial_undo u JOIN cordial_transaction t ON t.number = u.number
      ORDER BY u.number, u.place
      """
    )
    defer { rows.reset() }
    while try rows.step() {
      let revert = Revert(
        number: rows.integer(0),
        index: rows.integer(1),
        kind: rows.integer(2),
        changes: try ChangeRange(after: rows.integer(3), through: rows.integer(4)),
        first: rows.integer(5),
        last: rows.integer(6),
        revertedIndex: rows.optionalInteger(7),
        author: rows.optionalText(8),
        context: rows.optionalText(9)
      )
      guard revert.kind != Self.barrier else {
        state.barrier = revert.number
        continue
      }
      state.reverts[revert.number, default: []].append(revert)
      if let index = revert.revertedIndex {
        state.reverted.insert(RevertIdentity(number: revert.first, index: index))
      } else if revert.kind == RevertDirection.undo.rawValue {
        let last = max(revert.first, revert.last)
        state.undone[revert.author, default: []].append(revert.first...last)
      }
    }
    for author in state.undone.keys {
      state.undone[author]?.sort { $0.lowerBound < $1.lowerBound }
    }
    return state
  }

  /// Returns the next groups to undo or redo for an author, newest first.
  ///
  /// - Parameters:
  ///   - direction: Whether to undo or to redo.
  ///   - author: The author of the commits; nil for commits without an author.
  ///   - context: The context of the groups; nil for groups of every context.
  ///   - count: The maximum number of groups.
  /// - Returns: The groups, and whether older groups may exist that cannot be undone because of a
  ///   purge or a barrier.
  /// - Throws: `SQLiteError`.
  /// - Complexity: Linear in the commits after the oldest of the groups, and in all reverts.
  package func groups(
    _ direction: RevertDirection,
    author: String?,
    context: String?,
    count: Int
  ) throws -> (groups: [RevertGroup], reachesEnd: Bool) {
    let state = try state()
    var collector = GroupCollector(context: context, count: count)
    let rows = try PreparedStatement(
      db,
      """
      SELECT t.number, t.lastChange, t.context, p.lastChange
      FROM cordial_transaction t LEFT JOIN cordial_transaction p ON p.number = t.number - 1
      WHERE t.author IS ? ORDER BY t.number DESC
      """
    )
    defer { rows.reset() }
    rows.bind(author, at: 1)
    while !collector.isFull, try rows.step() {
      let number = rows.integer(0)
      // The log no longer has the changes of the oldest retained commit.
      guard let before = rows.optionalInteger(3) else { break }
      guard number > state.barrier else {
        // The changes of the barrier and of earlier commits cannot be undone.
        if direction == .redo { return (collector.end(), false) }
        if number == state.barrier || rows.integer(1) == before { continue }
        return (collector.end(), true)
      }
      if let reverts = state.reverts[number] {
        collector.close()
        for revert in reverts.reversed()
        where revert.kind != direction.rawValue && !state.isReverted(revert) {
          collector.add(
            RevertGroup(
              first: number,
              last: number,
              index: revert.index,
              context: revert.context,
              changes: [revert.changes]
            )
          )
        }
      } else if direction == .redo {
        // Undos before an ordinary save with changes cannot be redone. A save without changes has
        // no effect on redo.
        guard rows.integer(1) == before else { return (collector.end(), false) }
      } else if rows.integer(1) == before {
        // A commit without changes does not separate the commits before and after it.
        continue
      } else if state.isUndone(number, of: author) {
        collector.close()
      } else {
        collector.extend(
          number,
          try ChangeRange(after: before, through: rows.integer(1)),
          rows.optionalText(2)
        )
      }
    }
    return (collector.end(), try isPurged())
  }

  private func isPurged() throws -> Bool {
    let first = try PreparedStatement(db, "SELECT min(number) FROM cordial_transaction")
    defer { first.reset() }
    return try first.step() && first.integer(0) > 0
  }

  /// Returns whether a group is the newest commit, or the last revert of the newest commit.
  ///
  /// - Throws: `SQLiteError`.
  package func isNewest(_ group: RevertGroup, _ head: HistoryHead) throws -> Bool {
    guard group.first == group.last, group.last == head.number else { return false }
    let last = try PreparedStatement(db, "SELECT max(place) FROM cordial_undo WHERE number = ?")
    defer { last.reset() }
    last.bind(head.number, at: 1)
    return try last.step() && last.optionalInteger(0) == group.index
  }

  /// Returns the changes of a group.
  ///
  /// - Parameter group: The group.
  /// - Returns: The log rows in order, and one change for each object that the group changed in
  ///   effect.
  /// - Throws: `SQLiteError`.
  package func changes(
    of group: RevertGroup
  ) throws -> (rows: [HistoryRow], net: [HistoryChange]) {
    var rows: [HistoryRow] = []
    // The ranges of a damaged table may be of any length.
    let count = group.changes.reduce(0) { count, range in
      min(count + min(range.count, Self.reservedRowsMax), Self.reservedRowsMax)
    }
    rows.reserveCapacity(count)
    var changes = HistoryChanges(model: model, rows: count)
    for range in group.changes {
      try log.eachRow(after: range.after, through: range.through) { row in
        rows.append(row)
        changes.add(row)
      }
    }
    // The code that reverts these changes uses the entity numbers as indices and reads the tables.
    let net = changes.list
    let isSound = net.allSatisfy { change in
      model.hasEntity(change.key.entity) && !model.entity(change.key.entity).isAbstract
    }
    guard isSound else {
      throw SQLiteError(.corrupt, "A commit that can be undone has an object without a table")
    }
    return (rows, net)
  }

  /// Returns the changes of objects since groups of an author.
  ///
  /// - Parameters:
  ///   - groups: The groups, which are about to be reverted together.
  ///   - author: The author of the groups.
  ///   - head: The newest commit.
  ///   - keys: The objects.
  /// - Returns: The values, inserts, deletions and link rows written by commits that are still in
  ///   effect.
  /// - Throws: `SQLiteError`.
  /// - Complexity: Linear in the changes logged after the oldest of the groups.
  package func laterChanges(
    since groups: [RevertGroup],
    of author: String?,
    through head: HistoryHead,
    in keys: Set<ObjectKey>
  ) throws -> LaterChanges {
    let state = try state()
    let own = Set(groups.flatMap(\.changes))
    var later = LaterChanges(model: model)
    for group in groups {
      later.origins[group.first] = state.origin(group.first, group.index)
    }
    guard var after = own.map(\.after).min(), let first = groups.map(\.first).min() else {
      return later
    }
    var ranges: [(range: ChangeRange, commitKind: LaterChanges.CommitKind)] = []
    try log.eachTransaction(after: first - 1, through: head.number, limit: Int64.max) { commit in
      let range = try ChangeRange(
        after: min(after, commit.lastChange),
        through: commit.lastChange
      )
      after = commit.lastChange
      if let reverts = state.reverts[commit.number] {
        for revert in reverts where !state.isReverted(revert) && !own.contains(revert.changes) {
          let origin = state.origin(revert.number, revert.index)
          let commitKind: LaterChanges.CommitKind =
            revert.kind == RevertDirection.undo.rawValue
            ? .undo(of: origin) : .redo(of: origin, isOwn: revert.author == author)
          ranges.append((revert.changes, commitKind))
        }
      } else if !own.contains(range), !state.isUndone(commit.number, of: commit.author) {
        ranges.append((range, .ordinary))
      }
      return true
    }
    for (range, commitKind) in ranges where !range.isEmpty {
      try log.eachRow(after: range.after, through: range.through) { row in
        later.add(row, commitKind, keys)
      }
    }
    return later
  }

  /// Returns the number of the last logged change, sealed or not.
  ///
  /// - Returns: The number; 0 if no change was ever logged.
  /// - Throws: `SQLiteError`.
  package func lastLogged() throws -> Int64 { try log.lastLogged() }

  /// Records the groups that a commit reverted.
  ///
  /// - Parameters:
  ///   - reverted: The groups in the order of their reverts, each with the changes of its revert.
  ///   - direction: The direction of the reverts.
  ///   - number: The number of the commit.
  /// - Throws: `SQLiteError`.
  package func record(
    _ reverted: [(group: RevertGroup, changes: ChangeRange)],
    _ direction: RevertDirection,
    in number: Int64
  ) throws {
    let insertion = try PreparedStatement(db, "INSERT INTO cordial_undo VALUES (?,?,?,?,?,?,?,?,?)")
    for (index, (group, changes)) in reverted.enumerated() {
      insertion.bind(number, at: 1)
      insertion.bind(Int64(index), at: 2)
      insertion.bind(direction.rawValue, at: 3)
      insertion.bind(changes.after, at: 4)
      insertion.bind(changes.through, at: 5)
      insertion.bind(group.first, at: 6)
      insertion.bind(group.last, at: 7)
      insertion.bind(group.index, at: 8)
      insertion.bind(group.context, at: 9)
      try insertion.run()
    }
  }

  /// Returns whether a store has the table of undos; a store of an earlier version may lack it.
  static func exists(_ db: SQLiteConnection) throws -> Bool {
    try db.hasTable("cordial_undo")
  }

  /// Records a barrier: nothing up to a commit can be undone.
  ///
  /// - Parameters:
  ///   - number: The number of the commit.
  ///   - db: A connection inside a transaction.
  /// - Throws: `SQLiteError`.
  package static func recordBarrier(at number: Int64, _ db: SQLiteConnection) throws {
    try db.execute(
      "INSERT INTO cordial_undo VALUES (?, 0, ?, 0, 0, ?, ?, NULL, NULL)",
      [number, barrier, number, number]
    )
  }
}

/// A collector that combines adjacent commits into groups, newest first.
private struct GroupCollector {
  let context: String?
  let count: Int
  private var groups: [RevertGroup] = []
  /// The commits of the open group, newest first.
  private var open: [(number: Int64, changes: ChangeRange)] = []
  private var openContext: String?

  init(context: String?, count: Int) {
    self.context = context
    self.count = count
  }

  var isFull: Bool { groups.count >= count }

  /// Closes the open group, so that the group gets no older commit.
  mutating func close() {
    guard let newest = open.first, let oldest = open.last else { return }
    add(
      RevertGroup(
        first: oldest.number,
        last: newest.number,
        index: nil,
        context: openContext,
        changes: open.reversed().map(\.changes)
      )
    )
    open = []
  }

  mutating func add(_ group: RevertGroup) {
    guard !isFull, context == nil || group.context == context else { return }
    groups.append(group)
  }

  /// Adds the next older commit.
  mutating func extend(_ number: Int64, _ changes: ChangeRange, _ commitContext: String?) {
    if commitContext == nil || commitContext != openContext
      || open.count >= UndoLog.groupCommitsMax
    {
      close()
    }
    openContext = commitContext
    open.append((number, changes))
  }

  mutating func end() -> [RevertGroup] {
    close()
    return groups
  }
}
