package import CordialValues
import Dispatch
package import Interruptions
package import PersistentHistory
import SQLite

/// Followers of the history log, copies of the store, and the removal of old history.
extension PersistentStore {
  /// The maximum number of followers of a store.
  package static let followersMax = 1000

  /// Registers a follower of the history log; see `StoreWriter.register`.
  ///
  /// - Parameters:
  ///   - name: The follower's name.
  ///   - since: The position at which a new or expired follower starts; nil starts a new follower
  ///     at the newest commit, and fails for an expired follower.
  ///   - silence: The time without a request after which a follower expires, in milliseconds.
  ///   - source: The client's connection.
  ///   - completion: Called on the writer's thread with the follower's position.
  package func register(
    follower name: String,
    since: StoreToken?,
    silence: Int64,
    source: Int = 0,
    _ completion: @escaping @Sendable (Result<StoreToken, StoreError>) -> Void
  ) {
    write(source, completion) { try $0.register(name, since: since, silence: silence) }
  }

  /// Moves the position of a follower forward; it never moves back.
  ///
  /// - Parameters:
  ///   - name: The follower's name.
  ///   - token: The position.
  ///   - silence: The time without a request after which a follower expires, in milliseconds.
  ///   - source: The client's connection.
  ///   - completion: Called on the writer's thread with the follower's new position.
  package func acknowledge(
    follower name: String,
    _ token: StoreToken,
    silence: Int64,
    source: Int = 0,
    _ completion: @escaping @Sendable (Result<StoreToken, StoreError>) -> Void
  ) {
    write(source, completion) { try $0.acknowledge(name, token, silence: silence) }
  }

  /// Records the last commit that a service's subscriptions have examined, or ends the service's
  /// lease.
  ///
  /// While the service runs, no purge of another service removes the history after that commit.
  ///
  /// - Parameters:
  ///   - name: The name of the service's lease.
  ///   - number: The last commit that the subscriptions have examined; nil to end the lease.
  ///   - completion: Called on the writer's thread.
  package func lease(
    _ name: String,
    through number: Int64?,
    _ completion: @escaping @Sendable (Result<Void, StoreError>) -> Void
  ) {
    write(0, completion) { try $0.lease(name, through: number) }
  }

  /// Removes a follower.
  ///
  /// - Parameters:
  ///   - name: The follower's name.
  ///   - source: The client's connection.
  ///   - completion: Called on the writer's thread; the result is whether the follower existed.
  package func remove(
    follower name: String,
    source: Int = 0,
    _ completion: @escaping @Sendable (Result<Bool, StoreError>) -> Void
  ) {
    write(source, completion) { try $0.removeFollower(name) }
  }

  /// Reclaims unused disk space, while all saves wait.
  ///
  /// - Parameters:
  ///   - source: The client's connection.
  ///   - work: The interruption that can stop the compaction.
  ///   - completion: Called on the writer's thread with the sizes before and after, in bytes.
  package func compact(
    source: Int = 0,
    work: LongWork = LongWork(),
    _ completion: @escaping @Sendable (Result<(before: Int, after: Int), StoreError>) -> Void
  ) {
    let files = [container.storePath, container.storePath + "-wal"]
    write(source, completion) { writer in
      let before = FileSize.of(files)
      try writer.compact(work)
      return (before, FileSize.of(files))
    }
  }

  /// Copies the store to a new folder, on a separate thread; one copy is made at a time.
  ///
  /// - Parameters:
  ///   - path: The folder to create.
  ///   - work: The interruption of the copy, and the receiver of its progress.
  ///   - completion: Called on the thread of the copy with the outcome.
  package func backup(
    to path: String,
    work: LongWork = LongWork(),
    _ completion: @escaping @Sendable (Result<StoreBackup.Outcome, StoreError>) -> Void
  ) {
    let (source, environment, opened, writer) = (container, environment, opened, writer)
    // If another program changed the write-ahead log, the copy would contain pages that no
    // connection of Cordial wrote.
    let check: @Sendable () throws -> Void = {
      if let writer { try writer.checkFiles() } else { try opened?.check() }
    }
    backups.async {
      let outcome = Result { () throws(StoreError) in
        try StoreBackup.copy(
          source,
          to: StoreContainer(path: path),
          environment: environment,
          check: check,
          work: work
        )
      }
      completion(outcome)
    }
  }

  /// Removes the history before a commit, in small steps between saves.
  ///
  /// - Parameters:
  ///   - number: The number of the commit that becomes the oldest retained position.
  ///   - silence: The time without a request after which a follower expires, in milliseconds. The
  ///     purge keeps the history that an unexpired follower needs.
  ///   - ownLease: The name of this service's lease. The purge ignores this lease, because the
  ///     caller knows the service's newer position.
  ///   - work: The interruption, which stops the purge between two steps, and the receiver of its
  ///     progress.
  ///   - completion: Called on the writer's thread with the number of removed commits.
  package func purge(
    to number: Int64,
    silence: Int64,
    ownLease: String,
    work: LongWork = LongWork(),
    _ completion: @escaping @Sendable (Result<Int, StoreError>) -> Void
  ) {
    purge(to: number, silence: silence, ownLease, removed: 0, work, completion)
  }

  private func purge(
    to number: Int64,
    silence: Int64,
    _ ownLease: String,
    removed: Int,
    _ work: LongWork,
    _ completion: @escaping @Sendable (Result<Int, StoreError>) -> Void
  ) {
    write(0) { (outcome: Result<Int?, StoreError>) in
      switch outcome {
      case .success(let count?):
        self.purge(
          to: number,
          silence: silence,
          ownLease,
          removed: removed + count,
          work,
          completion
        )
      case .success(nil): completion(.success(removed))
      case .failure(let error): completion(.failure(error))
      }
    } _: {
      try work.report(removed, of: removed)
      return try $0.purgeStep(to: number, silence: silence, ownLease: ownLease)
    }
  }
}

/// The part of the history log that a purge removes.
package enum HistoryPurgeGoal: Sendable {
  /// Everything before a position.
  case token(StoreToken)
  /// Everything before a time, in milliseconds since 1970.
  case time(Int64)
  /// Everything except this number of the newest commits.
  case transactions(Int64)
  /// Everything except the newest changes, up to about this number of bytes.
  case bytes(Int64)
}

extension StoreSnapshot {
  /// Returns the followers of the history log, in the order of their names.
  ///
  /// - Returns: The followers.
  /// - Throws: `SQLiteError`.
  package func followers() throws -> [Follower] {
    // If a store from an earlier version is opened read-only, it may have no table of followers.
    let table = try statement("SELECT 1 FROM sqlite_schema WHERE name = 'cordial_follower'")
    defer { table.reset() }
    guard try table.step() else { return [] }
    let rows = try statement("SELECT name, number, seen FROM cordial_follower ORDER BY name")
    defer { rows.reset() }
    var followers: [Follower] = []
    while try rows.step() {
      followers.append(
        Follower(name: rows.text(0), number: rows.integer(1), lastRequest: rows.integer(2))
      )
    }
    return followers
  }

  /// Returns the leases of the services whose processes still run.
  ///
  /// - Returns: The leases, in the order of their names.
  /// - Throws: `SQLiteError`.
  package func leases() throws -> [SubscriptionLease] {
    // If a store from an earlier version is opened read-only, it may have no table of leases.
    let table = try statement("SELECT 1 FROM sqlite_schema WHERE name = 'cordial_lease'")
    defer { table.reset() }
    guard try table.step() else { return [] }
    let rows = try statement("SELECT \(SubscriptionLeases.columns) FROM cordial_lease")
    defer { rows.reset() }
    var leases: [SubscriptionLease] = []
    while try rows.step() { leases.append(SubscriptionLeases.read(rows)) }
    return leases.filter(\.process.isRunning)
  }

  /// Returns the commit that becomes the oldest retained position when a purge reaches a goal.
  ///
  /// - Parameter goal: The goal.
  /// - Returns: The number of the commit; the number of the oldest commit if the purge has nothing
  ///   to remove.
  /// - Throws: `historyExpired`, or `SQLiteError`.
  /// - Complexity: Linear in the retained changes for `bytes`, in the retained commits for `time`,
  ///   otherwise constant.
  package func commit(of goal: HistoryPurgeGoal) throws -> Int64 {
    let oldest = try oldest().number
    switch goal {
    case .token(let token): return try position(of: token)
    case .transactions(let count): return max(oldest, head.number - max(0, count))
    case .time(let time): return max(oldest, try lastCommit(before: time) ?? oldest)
    case .bytes(let bytes):
      let rows = try statement(
        "SELECT number, 24 + coalesce(length(before), 0) FROM cordial_change ORDER BY number DESC"
      )
      defer { rows.reset() }
      var sum: Int64 = 0
      while try rows.step() {
        sum += rows.integer(1)
        if sum > bytes { return try firstCommit(from: rows.integer(0)) ?? head.number }
      }
      return oldest
    }
  }

  /// Returns the last commit before the first commit at or after a time.
  ///
  /// If no commit is at or after the time, this is the newest commit. Commit times may decrease,
  /// because the clock may have been set back.
  private func lastCommit(before time: Int64) throws -> Int64? {
    let row = try statement(
      """
      SELECT coalesce((SELECT min(number) - 1 FROM cordial_transaction WHERE time >= ?),
        (SELECT max(number) FROM cordial_transaction))
      """
    )
    defer { row.reset() }
    row.bind(time, at: 1)
    return try row.step() ? row.optionalInteger(0) : nil
  }

  /// Returns the first commit whose last change has this number or a greater number.
  private func firstCommit(from change: Int64) throws -> Int64? {
    let row = try statement("SELECT min(number) FROM cordial_transaction WHERE lastChange >= ?")
    defer { row.reset() }
    row.bind(change, at: 1)
    return try row.step() ? row.optionalInteger(0) : nil
  }
}
