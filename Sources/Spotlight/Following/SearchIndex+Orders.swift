import CordialValues
import Interruptions
import PersistentHistory
import SQLite
import Synchronization

/// The orders of clients, which the next attempt carries out before it reads the log.
extension SearchIndex {
  /// Carries out the orders that clients have given since the last attempt.
  ///
  /// If the attempt is stopped during an order, the next attempt carries out the remaining orders.
  ///
  /// - Throws: `IndexStopped`; `SQLiteError`; the errors of the source.
  func executeOrders(_ follower: inout IndexFollower) throws {
    refuseBuilds(follower)
    for order in state.withLock({ $0.orders }) {
      do {
        try order.interruption?.check()
        try execute(order, &follower)
        try updatePause(follower)
        handle(.orderEnded(order.number, .success(status)))
      } catch let error as Interrupted {
        if let token = follower.token { reached(token) }
        try updatePause(follower)
        handle(.orderEnded(order.number, .failure(error)))
      } catch is IndexStopped {
        handle(.orderEnded(order.number, .failure(SpotlightError.stopping)))
        throw IndexStopped()
      }
    }
  }

  private func execute(_ order: IndexOrder, _ follower: inout IndexFollower) throws {
    switch order.kind {
    case .pause, .resume: try pause(order.kind == .pause, &follower)
    case .write: try writeFollowed(&follower)
    case .deleteDomains(let domains): try deleteDomains(domains, &follower)
    case .restoreDomains(let domains):
      try rebuild(
        &follower,
        advances: true,
        order.progress,
        order.interruption,
        restoring: domains
      )
    case .rebuild: try rebuild(&follower, advances: true, order.progress, order.interruption)
    }
  }

  /// Refuses the orders to build a new index if the disk lacks room for it beside the old one.
  private func refuseBuilds(_ follower: borrowing IndexFollower) {
    guard follower.token != nil, state.withLock({ $0.orders.contains(where: \.kind.buildsIndex) }),
      let error = IndexSpace.shortage(besides: path)
    else { return }
    handle(.noRoom(error))
  }

  /// Reads from the file whether the index is paused, and reports the result to the state.
  @discardableResult
  func updatePause(_ follower: borrowing IndexFollower) throws -> Bool {
    let isPaused = try follower.file.queue.use { db in try IndexFile.isPaused(db) }
    found(.pause(isPaused, follower.token, documents: documents.aliveCount))
    return isPaused
  }

  private func writeFollowed(_ follower: inout IndexFollower) throws {
    guard follower.followed != nil else { return }
    do {
      try writePosition(&follower)
    } catch is IndexMoved {
      // Another process has written a position meanwhile.
      try reload(&follower)
    }
  }

  private func pause(_ isPaused: Bool, _ follower: inout IndexFollower) throws {
    func write() throws {
      try writePosition(&follower) { db in try IndexFile.setPaused(isPaused, db) }
    }
    do {
      try write()
    } catch is IndexMoved {
      // Another process has written to the file since this attempt began.
      try reload(&follower)
      try write()
    }
  }

  /// Writes the position that the index has reached through commits without documents.
  func writePosition(
    _ follower: inout IndexFollower,
    _ body: (SQLiteConnection) throws -> Void = { _ in }
  ) throws {
    let file = follower.file
    let known = follower.position
    var reached = known
    if let followed = follower.followed { reached?.token = followed }
    _ = try file.transaction(documents) { db in
      guard try IndexFile.position(db) == known else { throw IndexMoved() }
      if let reached, reached != known { try file.set(reached) }
      try body(db)
    } known: { _ in
      if let reached { documents.apply(reached, added: [], removed: []) }
    }
    follower.position = reached
    follower.followed = nil
  }
}
