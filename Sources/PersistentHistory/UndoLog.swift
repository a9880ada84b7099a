import Algorithms
package import CordialValues
package import ObjectModel
package import SQLite

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

/// What was undone and done again, and so what is next; on the writer's connection.
///
/// An undo is a commit like others, with its own changes in the log: what it reverted is kept
/// beside, so that it holds over restarts and processes. A redo reverts an undo, and can be undone.
package final class UndoLog {
  private let db: SQLiteConnection
  private let model: Model
  private let log: HistoryLog

  /// A commit before which nothing is undone; stands where `RevertDirection` has no value.
  private static let barrier: Int64 = 2
  /// How many commits one group has at the most; older ones are the next group.
  fileprivate static let groupCommitsMax = 100_000
  /// For how many rows of a group there is room from the beginning.
  private static let reservedRowsMax = 1_000_000

  package init(_ db: SQLiteConnection, model: Model, log: HistoryLog) {
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
    /// Ordinary commits that were: by author, the stretches of their numbers, in order.
    ///
    /// No two of them have a commit in common.
    var undone: [String?: [ClosedRange<Int64>]] = [:]
    /// The commit up to which nothing is undone.
    var barrier: Int64 = 0

    func isUndone(_ number: Int64, of author: String?) -> Bool {
      guard let ranges = undone[author] else { return false }
      let index = ranges.partitioningIndex { $0.upperBound >= number }
      return index < ranges.count && ranges[index].contains(number)
    }

    /// The ordinary commit about which a revert is in the end, through whatever it reverts.
    func origin(_ number: Int64, _ place: Int64?) -> Int64 {
      var name = (number: number, place: place)
      while let place = name.place,
        let revert = reverts[name.number]?.first(where: { $0.place == place }),
        revert.first < name.number
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
        t.author, u.context
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
        changes: try Self.range(rows.integer(3), rows.integer(4)),
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
        let last = max(revert.first, revert.last)
        state.undone[revert.author, default: []].append(revert.first...last)
      }
    }
    for author in state.undone.keys {
      state.undone[author]?.sort { $0.lowerBound < $1.lowerBound }
    }
    return state
  }

  /// The changes between two of them; a file in which they stand the wrong way round is damaged.
  private static func range(_ after: Int64, _ through: Int64) throws -> Range<Int64> {
    guard after <= through else {
      throw SQLiteError(
        .corrupt,
        "An entry of the history ends before the one before it"
      )
    }
    return after..<through
  }

  /// What comes next for an author, the newest first.
  ///
  /// - Parameters:
  ///   - direction: Whether to undo or to redo.
  ///   - author: Whose commits; nil for those who said no name.
  ///   - context: Only groups of this context; nil for all.
  ///   - count: How many groups at most.
  /// - Returns: As many groups as there are, and whether the log may have had more.
  /// - Throws: `SQLiteError`.
  /// - Complexity: Linear in the commits behind the oldest of the groups, and in all that was
  ///   reverted.
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
        // An ordinary save ends what could be done again; one that changed nothing does not.
        guard rows.integer(1) == before else { return (collector.end(), false) }
      } else if rows.integer(1) == before {
        // A commit that only remembers its transaction does not part its neighbours.
        continue
      } else if state.isUndone(number, of: author) {
        collector.close()
      } else {
        collector.extend(number, try Self.range(before, rows.integer(1)), rows.optionalText(2))
      }
    }
    return (collector.end(), try isPurged())
  }

  private func isPurged() throws -> Bool {
    let first = try PreparedStatement(db, "SELECT min(number) FROM cordial_transaction")
    defer { first.reset() }
    return try first.step() && first.integer(0) > 0
  }

  /// Whether nothing followed a group: it is the newest commit, or the last revert of it.
  ///
  /// - Throws: `SQLiteError`.
  package func isNewest(_ group: RevertGroup, _ head: HistoryHead) throws -> Bool {
    guard group.first == group.last, group.last == head.number else { return false }
    let last = try PreparedStatement(db, "SELECT max(place) FROM cordial_undo WHERE number = ?")
    defer { last.reset() }
    last.bind(head.number, at: 1)
    return try last.step() && last.optionalInteger(0) == group.place
  }

  /// What a group did.
  ///
  /// - Parameter group: The group.
  /// - Returns: The rows of the log in their order, and one change for each object that it left
  ///   other than it was.
  /// - Throws: `SQLiteError`.
  package func changes(
    of group: RevertGroup
  ) throws -> (rows: [HistoryRow], net: [HistoryChange]) {
    var rows: [HistoryRow] = []
    let count = min(group.changes.reduce(0) { $0 + $1.count }, Self.reservedRowsMax)
    rows.reserveCapacity(count)
    var changes = HistoryChanges(model: model, rows: count)
    for range in group.changes {
      try log.eachRow(after: range.lowerBound, through: range.upperBound) { row in
        rows.append(row)
        changes.add(row)
      }
    }
    return (rows, changes.list)
  }

  /// What became of objects since groups of an author.
  ///
  /// - Parameters:
  ///   - groups: The groups, which are about to be reverted together.
  ///   - author: Whose they are.
  ///   - head: The newest commit.
  ///   - keys: Which objects.
  /// - Returns: What was written, deleted, inserted and paired by commits that still stand.
  /// - Throws: `SQLiteError`.
  /// - Complexity: Linear in what is logged behind the oldest of the groups.
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
      later.origins[group.first] = state.origin(group.first, group.place)
    }
    guard var after = own.map(\.lowerBound).min(), let first = groups.map(\.first).min() else {
      return later
    }
    var stretches: [(range: Range<Int64>, standing: LaterChanges.Standing)] = []
    try log.eachTransaction(after: first - 1, through: head.number, limit: Int64.max) { commit in
      let range = try Self.range(min(after, commit.lastChange), commit.lastChange)
      after = commit.lastChange
      if let reverts = state.reverts[commit.number] {
        for revert in reverts where !state.isReverted(revert) && !own.contains(revert.changes) {
          let origin = state.origin(revert.number, revert.place)
          let standing: LaterChanges.Standing =
            revert.kind == RevertDirection.undo.rawValue
            ? .undo(of: origin) : .redo(of: origin, isOwn: revert.author == author)
          stretches.append((revert.changes, standing))
        }
      } else if !own.contains(range), !state.isUndone(commit.number, of: commit.author) {
        stretches.append((range, .ordinary))
      }
      return true
    }
    for (stretch, standing) in stretches where !stretch.isEmpty {
      try log.eachRow(after: stretch.lowerBound, through: stretch.upperBound) { row in
        later.add(row, standing, keys)
      }
    }
    return later
  }

  /// The number of the last logged change, entered or not.
  ///
  /// - Returns: The number, 0 where nothing was ever logged.
  /// - Throws: `SQLiteError`.
  package func lastLogged() throws -> Int64 { try log.lastLogged() }

  /// Enters what a commit reverted.
  ///
  /// - Parameters:
  ///   - reverted: The groups in the order in which they were, with the changes that did it.
  ///   - direction: Which way.
  ///   - number: The commit.
  /// - Throws: `SQLiteError`.
  package func enter(
    _ reverted: [(group: RevertGroup, changes: Range<Int64>)],
    _ direction: RevertDirection,
    in number: Int64
  ) throws {
    let insertion = try PreparedStatement(db, "INSERT INTO cordial_undo VALUES (?,?,?,?,?,?,?,?,?)")
    for (place, (group, changes)) in reverted.enumerated() {
      insertion.bind(number, at: 1)
      insertion.bind(Int64(place), at: 2)
      insertion.bind(direction.rawValue, at: 3)
      insertion.bind(changes.lowerBound, at: 4)
      insertion.bind(changes.upperBound, at: 5)
      insertion.bind(group.first, at: 6)
      insertion.bind(group.last, at: 7)
      insertion.bind(group.place, at: 8)
      insertion.bind(group.context, at: 9)
      try insertion.run()
    }
  }

  /// Enters that nothing up to a commit is undone.
  ///
  /// - Parameters:
  ///   - number: The commit.
  ///   - db: A connection inside a transaction.
  /// - Throws: `SQLiteError`.
  package static func enterBarrier(at number: Int64, _ db: SQLiteConnection) throws {
    try db.execute(
      "INSERT INTO cordial_undo VALUES (?, 0, ?, 0, 0, ?, ?, NULL, NULL)",
      [number, barrier, number, number]
    )
  }
}

/// Takes neighbouring commits together, the newest first.
private struct GroupCollector {
  let context: String?
  let count: Int
  private var groups: [RevertGroup] = []
  /// The commits of the group that may go on, the newest first.
  private var open: [(number: Int64, changes: Range<Int64>)] = []
  private var openContext: String?

  init(context: String?, count: Int) {
    self.context = context
    self.count = count
  }

  var isFull: Bool { groups.count >= count }

  /// Nothing older belongs to the group that is open.
  mutating func close() {
    guard let newest = open.first, let oldest = open.last else { return }
    add(
      RevertGroup(
        first: oldest.number,
        last: newest.number,
        place: nil,
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
  mutating func extend(_ number: Int64, _ changes: Range<Int64>, _ context: String?) {
    if context == nil || context != openContext || open.count >= UndoLog.groupCommitsMax { close() }
    openContext = context
    open.append((number, changes))
  }

  mutating func end() -> [RevertGroup] {
    close()
    return groups
  }
}
