import CordialValues
import Interruptions
import JSON
import PersistentHistory
import SQLite

/// Followers of the history log, and the removal of old history.
extension StoreWriter {
  /// Runs a transaction that adds no commit to the history log; a power failure may undo the
  /// transaction.
  private func note<Answer>(_ body: (SQLiteConnection) throws -> Answer) throws -> Answer {
    try opened.check()
    return try queue.use { db in
      try setDurability(false, db)
      return try db.transaction(.immediate) { try body(db) }
    }
  }

  /// Registers a follower of the history log.
  ///
  /// - Parameters:
  ///   - name: The follower's name.
  ///   - since: The position at which a new or expired follower starts; nil starts a new follower
  ///     at the newest commit, and fails for an expired follower.
  ///   - silence: The time without a request after which a follower expires, in milliseconds.
  /// - Returns: The follower's position; a follower that exists keeps its position.
  /// - Throws: `historyExpired` for an expired follower without a new position.
  func register(_ name: String, since: StoreToken?, silence: Int64) throws -> StoreToken {
    try note { db in
      let table = FollowerTable(db)
      let now = environment.now()
      let known = try table.follower(named: name)
      if let known, !known.isExpired(now, after: silence) {
        guard let token = try commits.entry(known.number)?.token else { throw try expired(name) }
        try table.put(Follower(name: name, number: known.number, lastRequest: now))
        return token
      }
      guard known == nil || since != nil else { throw try expired(name) }
      if known == nil, try table.all().count >= PersistentStore.followersMax {
        throw StoreError(
          .limitExceeded,
          "There are \(PersistentStore.followersMax) followers already",
          data: [
            JSONMember("limit", "followers"),
            JSONMember("max", .integer(Int64(PersistentStore.followersMax))),
          ]
        )
      }
      let number = try since.map { try position(of: $0) } ?? newest(db)
      guard let token = try commits.entry(number)?.token else { throw try expired(name) }
      try table.put(Follower(name: name, number: number, lastRequest: now))
      return token
    }
  }

  /// Moves the position of a follower forward; it never moves back.
  func acknowledge(_ name: String, _ token: StoreToken, silence: Int64) throws -> StoreToken {
    try note { db in
      let table = FollowerTable(db)
      let now = environment.now()
      guard let known = try table.follower(named: name) else {
        throw StoreError(
          .invalidRequest,
          "There is no follower \(StoreError.short(name))",
          hint: .registerFollower
        )
      }
      guard !known.isExpired(now, after: silence) else { throw try expired(name) }
      let number = max(known.number, try position(of: token))
      guard let reached = try commits.entry(number)?.token else { throw try expired(name) }
      try table.put(Follower(name: name, number: number, lastRequest: now))
      return reached
    }
  }

  /// Removes a follower.
  ///
  /// - Returns: Whether a follower of this name existed.
  func removeFollower(_ name: String) throws -> Bool {
    try note { db in try FollowerTable(db).remove(name) }
  }

  /// Records the last commit that a service's subscriptions have examined; nil ends the service's
  /// lease.
  func lease(_ name: String, through number: Int64?) throws {
    try note { db in
      guard let number else { return try SubscriptionLeases(db).remove(name) }
      try SubscriptionLeases(db).put(
        SubscriptionLease(name: name, process: .current, number: number)
      )
    }
  }

  /// Removes a part of the history before a commit, but no history that a follower or lease needs.
  ///
  /// - Returns: The number of commits removed; nil when nothing is left to remove.
  func purgeStep(to number: Int64, silence: Int64, ownLease: String) throws -> Int? {
    try note { db in
      let now = environment.now()
      let leases = SubscriptionLeases(db)
      var number = number
      for lease in try leases.all() where lease.name != ownLease {
        if lease.process.isRunning {
          number = min(number, lease.number)
        } else {
          try leases.remove(lease.name)
        }
      }
      let least = try FollowerTable(db).all().filter { !$0.isExpired(now, after: silence) }
        .map(\.number).min()
      return try HistoryPurge(db).step(to: min(number, least ?? number))
    }
  }

  /// Reclaims unused disk space.
  ///
  /// If a reader still needs the write-ahead log, the store's file shrinks only after that reader
  /// has ended.
  ///
  /// - Parameter work: The interruption, which can stop the compaction only before SQLite writes
  ///   the new pages.
  /// - Throws: `storeFull` when the free disk space is smaller than the store; `storeBusy`;
  ///   `Interrupted`.
  func compact(_ work: LongWork) throws {
    try opened.check()
    try queue.use { db in
      try db.transaction(.immediate) { try history.dangling.clearIfPossible() }
      try db.progress.stopping(by: work.interruption) {
        try db.interruptingCalls { try db.execute("VACUUM") }
      }
      // `emptyLog` does not wait for readers, because all saves would wait too.
      if try emptyLog(db) { writeAheadLog.wasEmptied() }
    }
  }

  private func expired(_ name: String) throws -> StoreError {
    StoreError(
      .historyExpired,
      "The follower \(name) was silent for so long that its history was not retained",
      hint: .registerFollowerAgain,
      data: [JSONMember("oldest", .string(try commits.oldest().description))]
    )
  }

  private func position(of token: StoreToken) throws -> Int64 {
    guard try commits.entry(of: token) != nil else {
      throw StoreError.noCommit(token, oldest: try commits.oldest())
    }
    return token.number
  }

  private func newest(_ db: SQLiteConnection) throws -> Int64 {
    try db.integer("SELECT max(number) FROM cordial_transaction") ?? 0
  }
}
