package import CordialValues
package import GRDB
package import ObjectModel

/// Which way a revert goes.
package enum RevertDirection: Int64, Sendable {
  case undo = 0
  case redo = 1
}

/// What is reverted as one: a commit, or neighbouring ones of one author and context.
package struct RevertGroup: Sendable, Equatable {
  /// The first and last commit of it; of a revert that is reverted, both its own.
  package let first: Int64
  package let last: Int64
  /// Which of a commit's reverts it is, nil for ordinary commits.
  package let place: Int64?
  package let context: String?
  /// The numbers of its changes: each stretch without its lower bound and with its upper one.
  package let changes: [Range<Int64>]
}

/// What became of objects since a group that is about to be reverted.
package struct LaterChanges: Sendable {
  /// The properties that were written, each with its value before the first of those writes.
  package var written: [ObjectKey: [String: LoggedValue]] = [:]
  package var deleted: Set<ObjectKey> = []
}

/// What was undone and done again, and so what is next; on the writer's connection.
///
/// An undo is a commit like others, with its own changes in the log: what it reverted is kept
/// beside, so that it holds over restarts and processes. A redo reverts an undo, and can be undone.
package final class UndoLog {
  private let db: Database
  private let model: Model
  private let log: HistoryLog

  /// A commit before which nothing is undone; stands where `RevertDirection` has no value.
  private static let barrier: Int64 = 2
  /// How many groups one call reverts at the most.
  package static let groupsMax = 1000

  package init(_ db: Database, model: Model, log: HistoryLog) {
    self.db = db
    self.model = model
    self.log = log
  }

  /// One revert: a row of `cordial_undo`.
  private struct Revert {
    let number: Int64
    let place: Int64
    let kind: Int64
    let changes: Range<Int64>
    let first: Int64
    let last: Int64
    let revertedPlace: Int64?
    let author: String?
    let context: String?
  }

  private struct RevertName: Hashable {
    let number: Int64
    let place: Int64
  }

  /// All that was reverted, as far as the log reaches.
  private struct State {
    var reverts: [Int64: [Revert]] = [:]
    /// Reverts that were reverted themselves.
    var reverted: Set<RevertName> = []
    /// Ordinary commits that were: by author, the stretches of their numbers.
    var undone: [String?: [ClosedRange<Int64>]] = [:]
    /// The commit up to which nothing is undone.
    var barrier: Int64 = 0

    func isUndone(_ number: Int64, of author: String?) -> Bool {
      undone[author]?.contains { $0.contains(number) } ?? false
    }

    /// The ordinary commit about which a revert is in the end, through whatever it reverts.
    func origin(_ number: Int64, _ place: Int64?) -> Int64 {
      var name = (number: number, place: place)
      while let place = name.place,
        let revert = reverts[name.number]?.first(where: { $0.place == place })
      {
        name = (revert.first, revert.revertedPlace)
      }
      return name.number
    }

    func isReverted(_ revert: Revert) -> Bool {
      reverted.contains(RevertName(number: revert.number, place: revert.place))
    }
  }

  private func state() throws -> State {
    var state = State()
    let rows = try PreparedStatement(
      db,
      """
      SELECT u.number, u.place, u.kind, u.after, u.through, u.first, u.last, u.revertedPlace,
        t.author, t.context
      FROM cordial_undo u JOIN cordial_transaction t ON t.number = u.number
      ORDER BY u.number, u.place
      """
    )
    defer { rows.reset() }
    while try rows.step() {
      let revert = Revert(
        number: rows.integer(0),
        place: rows.integer(1),
        kind: rows.integer(2),
        changes: rows.integer(3)..<rows.integer(4),
        first: rows.integer(5),
        last: rows.integer(6),
        revertedPlace: rows.optionalInteger(7),
        author: rows.optionalText(8),
        context: rows.optionalText(9)
      )
      guard revert.kind != Self.barrier else {
        state.barrier = revert.number
        continue
      }
      state.reverts[revert.number, default: []].append(revert)
      if let place = revert.revertedPlace {
        state.reverted.insert(RevertName(number: revert.first, place: place))
      } else if revert.kind == RevertDirection.undo.rawValue {
        state.undone[revert.author, default: []].append(revert.first...revert.last)
      }
    }
    return state
  }

  /// What comes next for an author, the newest first.
  ///
  /// - Parameters:
  ///   - direction: Whether to undo or to redo.
  ///   - author: Whose commits; nil for those who said no name.
  ///   - context: Only groups of this context; nil for all.
  ///   - count: How many groups at most.
  /// - Returns: As many groups as there are, and whether the log may have had more.
  /// - Throws: `DatabaseError`.
  /// - Complexity: Linear in the commits behind the oldest of the groups.
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
      // The oldest commit that is kept has no changes any more.
      guard let before = rows.optionalInteger(3) else { break }
      guard number > state.barrier else { return (collector.end(), false) }
      if let reverts = state.reverts[number] {
        collector.close()
        for revert in reverts.reversed()
        where revert.kind != direction.rawValue && !state.isReverted(revert) {
          collector.add(
            RevertGroup(
              first: number,
              last: number,
              place: revert.place,
              context: revert.context,
              changes: [revert.changes]
            )
          )
        }
      } else if direction == .redo {
        // An ordinary save ends what could be done again.
        return (collector.end(), false)
      } else if state.isUndone(number, of: author) || rows.integer(1) == before {
        collector.close()
      } else {
        collector.extend(number, before..<rows.integer(1), rows.optionalText(2))
      }
    }
    return (collector.end(), try isPurged())
  }

  private func isPurged() throws -> Bool {
    let first = try PreparedStatement(db, "SELECT min(number) FROM cordial_transaction")
    defer { first.reset() }
    return try first.step() && first.integer(0) > 0
  }

  /// What a group did, object by object.
  ///
  /// - Parameter group: The group.
  /// - Returns: One for each object that it left other than it was.
  /// - Throws: `DatabaseError`.
  package func changes(of group: RevertGroup) throws -> [HistoryChange] {
    var changes = HistoryChanges(model: model)
    for range in group.changes {
      try log.eachRow(after: range.lowerBound, through: range.upperBound) { changes.add($0) }
    }
    return changes.list
  }

  /// What became of the objects of a group since, by others or by commits that still stand.
  ///
  /// What was undone again does not count, nor what undid it, nor what comes before the group among
  /// the author's own commits and was done again after it was undone.
  ///
  /// - Parameters:
  ///   - group: The group.
  ///   - author: Whose it is.
  ///   - others: Groups that are reverted with it.
  ///   - head: The newest commit.
  ///   - keys: Which objects.
  /// - Returns: What was written and deleted.
  /// - Throws: `DatabaseError`.
  /// - Complexity: Linear in what is logged behind the group.
  package func changes(
    since group: RevertGroup,
    of author: String?,
    revertedWith others: [RevertGroup],
    through head: HistoryHead,
    in keys: Set<ObjectKey>
  ) throws -> LaterChanges {
    let state = try state()
    let own = Set((others + [group]).flatMap(\.changes))
    let origin = state.origin(group.first, group.place)
    var later = LaterChanges()
    var after = group.changes.map(\.lowerBound).min() ?? 0
    let start = group.first - 1
    var stretches: [Range<Int64>] = []
    try log.eachTransaction(after: start, through: head.number, limit: Int64.max) { commit in
      let range = after..<commit.lastChange
      after = commit.lastChange
      if let reverts = state.reverts[commit.number] {
        // Where an undo stands, what it undid does not, and the two are as nothing.
        stretches += reverts.filter { revert in
          revert.kind == RevertDirection.redo.rawValue && !state.isReverted(revert)
            && (revert.author != author || state.origin(revert.number, revert.place) > origin)
        }.map(\.changes).filter { !own.contains($0) }
      } else if !own.contains(range), !state.isUndone(commit.number, of: commit.author) {
        stretches.append(range)
      }
      return true
    }
    for stretch in stretches where !stretch.isEmpty {
      try log.eachRow(after: stretch.lowerBound, through: stretch.upperBound) { row in
        let key = self.model.key(row.entity, row.object)
        guard keys.contains(key) else { return }
        if row.kind == .delete { later.deleted.insert(key) }
        guard row.kind == .update else { return }
        for value in row.values where later.written[key]?[value.property] == nil {
          later.written[key, default: [:]][value.property] = value
        }
      }
    }
    return later
  }

  /// The number of the last logged change.
  ///
  /// - Returns: The number, 0 where nothing was ever logged.
  /// - Throws: `DatabaseError`.
  package func lastChange() throws -> Int64 {
    let last = try PreparedStatement(db, "SELECT coalesce(max(number), 0) FROM cordial_change")
    defer { last.reset() }
    return try last.step() ? last.integer(0) : 0
  }

  /// Enters what a commit reverted.
  ///
  /// - Parameters:
  ///   - reverted: The groups in the order in which they were, with the changes that did it.
  ///   - direction: Which way.
  ///   - number: The commit.
  /// - Throws: `DatabaseError`.
  package func enter(
    _ reverted: [(group: RevertGroup, changes: Range<Int64>)],
    _ direction: RevertDirection,
    in number: Int64
  ) throws {
    let insertion = try PreparedStatement(db, "INSERT INTO cordial_undo VALUES (?,?,?,?,?,?,?,?)")
    for (place, (group, changes)) in reverted.enumerated() {
      insertion.bind(number, at: 1)
      insertion.bind(Int64(place), at: 2)
      insertion.bind(direction.rawValue, at: 3)
      insertion.bind(changes.lowerBound, at: 4)
      insertion.bind(changes.upperBound, at: 5)
      insertion.bind(group.first, at: 6)
      insertion.bind(group.last, at: 7)
      insertion.bind(group.place, at: 8)
      try insertion.run()
    }
  }

  /// Enters that nothing up to a commit is undone.
  ///
  /// - Parameters:
  ///   - number: The commit.
  ///   - db: A connection inside a transaction.
  /// - Throws: `DatabaseError`.
  package static func enterBarrier(at number: Int64, _ db: Database) throws {
    try db.execute(
      sql: "INSERT INTO cordial_undo VALUES (?, 0, ?, 0, 0, ?, ?, NULL)",
      arguments: [number, barrier, number, number]
    )
  }
}

/// Takes neighbouring commits together, the newest first.
private struct GroupCollector {
  let context: String?
  let count: Int
  private var groups: [RevertGroup] = []
  private var open: RevertGroup?

  init(context: String?, count: Int) {
    self.context = context
    self.count = count
  }

  var isFull: Bool { groups.count >= count }

  /// Nothing older belongs to the group that is open.
  mutating func close() {
    if let group = open { add(group) }
    open = nil
  }

  mutating func add(_ group: RevertGroup) {
    guard !isFull, context == nil || group.context == context else { return }
    groups.append(group)
  }

  /// Adds the next older commit.
  mutating func extend(_ number: Int64, _ changes: Range<Int64>, _ context: String?) {
    if let group = open, let context, group.context == context {
      open = RevertGroup(
        first: number,
        last: group.last,
        place: nil,
        context: context,
        changes: [changes] + group.changes
      )
      return
    }
    close()
    open = RevertGroup(
      first: number,
      last: number,
      place: nil,
      context: context,
      changes: [changes]
    )
  }

  mutating func end() -> [RevertGroup] {
    close()
    return groups
  }
}
