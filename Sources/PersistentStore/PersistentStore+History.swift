package import CordialValues
import Dispatch
package import PersistentHistory
import SQLite

/// Followers of the log, and its beginning.
extension PersistentStore {
  /// How many followers a store has at the most.
  package static let followersMax = 1000

  /// Has a name follow the log; see `StoreWriter.register`.
  ///
  /// - Parameters:
  ///   - name: The name.
  ///   - since: From where, for one that is new or expired; nil for the newest commit.
  ///   - silence: How long it may say nothing, in milliseconds.
  ///   - source: Who asks.
  ///   - completion: Called on the writer's thread with its position.
  package func register(
    follower name: String,
    since: StoreToken?,
    silence: Int64,
    source: Int = 0,
    _ completion: @escaping @Sendable (Result<StoreToken, StoreError>) -> Void
  ) {
    write(source, completion) { try $0.register(name, since: since, silence: silence) }
  }

  /// Notes how far a follower has come; it never goes back.
  ///
  /// - Parameters:
  ///   - name: The name.
  ///   - token: The position.
  ///   - silence: How long it may say nothing, in milliseconds.
  ///   - source: Who asks.
  ///   - completion: Called on the writer's thread with the position that it has then.
  package func acknowledge(
    follower name: String,
    _ token: StoreToken,
    silence: Int64,
    source: Int = 0,
    _ completion: @escaping @Sendable (Result<StoreToken, StoreError>) -> Void
  ) {
    write(source, completion) { try $0.acknowledge(name, token, silence: silence) }
  }

  /// Ends a follower.
  ///
  /// - Parameters:
  ///   - name: The name.
  ///   - source: Who asks.
  ///   - completion: Called on the writer's thread with whether there was one.
  package func remove(
    follower name: String,
    source: Int = 0,
    _ completion: @escaping @Sendable (Result<Bool, StoreError>) -> Void
  ) {
    write(source, completion) { try $0.removeFollower(name) }
  }

  /// Gives the room back that nothing takes up any more; saves wait as long as that takes.
  ///
  /// - Parameters:
  ///   - source: Who asks.
  ///   - completion: Called on the writer's thread with the bytes before and after.
  package func compact(
    source: Int = 0,
    _ completion: @escaping @Sendable (Result<(before: Int, after: Int), StoreError>) -> Void
  ) {
    let files = [container.storePath, container.storePath + "-wal"]
    write(source, completion) { writer in
      let before = FileSize.of(files)
      try writer.compact()
      return (before, FileSize.of(files))
    }
  }

  /// Copies the store to a new folder, on a thread of its own.
  ///
  /// - Parameters:
  ///   - path: The folder to make.
  ///   - completion: Called on that thread with what was copied.
  package func backup(
    to path: String,
    _ completion: @escaping @Sendable (Result<StoreBackup.Outcome, StoreError>) -> Void
  ) {
    let (source, environment) = (container, environment)
    DispatchQueue(label: "cordial.backup").async {
      let outcome = Result { () throws(StoreError) in
        try StoreBackup.copy(source, to: StoreContainer(path: path), environment: environment)
      }
      completion(outcome)
    }
  }

  /// Removes the log in front of a commit, a little at a time, between saves.
  ///
  /// - Parameters:
  ///   - number: The commit that becomes the oldest position.
  ///   - silence: How long a follower may say nothing, in milliseconds: those that did not are not
  ///     passed.
  ///   - completion: Called on the writer's thread with how many commits were removed.
  package func purge(
    to number: Int64,
    silence: Int64,
    _ completion: @escaping @Sendable (Result<Int, StoreError>) -> Void
  ) {
    purge(to: number, silence: silence, removed: 0, completion)
  }

  private func purge(
    to number: Int64,
    silence: Int64,
    removed: Int,
    _ completion: @escaping @Sendable (Result<Int, StoreError>) -> Void
  ) {
    write(0) { (outcome: Result<Int?, StoreError>) in
      switch outcome {
      case .success(let count?):
        self.purge(to: number, silence: silence, removed: removed + count, completion)
      case .success(nil): completion(.success(removed))
      case .failure(let error): completion(.failure(error))
      }
    } _: {
      try $0.purgeStep(to: number, silence: silence)
    }
  }
}

/// How much of the log is to go.
package enum HistoryPurgeGoal: Sendable {
  /// Everything before a position.
  case token(StoreToken)
  /// Everything before a time, in milliseconds since 1970.
  case time(Int64)
  /// All but so many commits.
  case transactions(Int64)
  /// All but about so many bytes.
  case bytes(Int64)
}

extension StoreSnapshot {
  /// The followers of the log, by name.
  ///
  /// - Returns: The followers.
  /// - Throws: `SQLiteError`.
  package func followers() throws -> [Follower] {
    // A store that was made by an earlier program, and is only read, has no table of them.
    let table = try statement("SELECT 1 FROM sqlite_schema WHERE name = 'cordial_follower'")
    defer { table.reset() }
    guard try table.step() else { return [] }
    let rows = try statement("SELECT name, number, seen FROM cordial_follower ORDER BY name")
    defer { rows.reset() }
    var followers: [Follower] = []
    while try rows.step() {
      followers.append(
        Follower(name: rows.text(0), number: rows.integer(1), seen: rows.integer(2))
      )
    }
    return followers
  }

  /// The commit to which a goal leads.
  ///
  /// - Parameter goal: The goal.
  /// - Returns: Its number; that of the oldest commit when there is nothing to remove.
  /// - Throws: `historyExpired`, or `SQLiteError`.
  /// - Complexity: Linear in the changes that are kept for a number of bytes, else constant.
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

  /// The last commit before a time; the clock may have been set back since, so the log is read
  /// from its beginning.
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

  /// The first commit whose last change is that or a later one.
  private func firstCommit(from change: Int64) throws -> Int64? {
    let row = try statement("SELECT min(number) FROM cordial_transaction WHERE lastChange >= ?")
    defer { row.reset() }
    row.bind(change, at: 1)
    return try row.step() ? row.optionalInteger(0) : nil
  }
}
