import CordialValues
package import Interruptions
import PersistentHistory
import SQLite
import Synchronization

/// What clients ask of the index, which its next attempt does before it reads the log.
extension SearchIndex {
  /// Pauses, resumes or rebuilds the index.
  ///
  /// - Parameters:
  ///   - kind: What to do, after the orders before.
  ///   - progress: Called on the index's thread while it builds a new index, with the number of
  ///     objects that it has read.
  ///   - interruption: What ends the order before it is carried out, and a build at any time; nil
  ///     for nothing.
  ///   - completion: Called on any thread, with the status afterwards, or the error that prevented
  ///     the order.
  package func execute(
    _ kind: IndexOrder.Kind,
    progress: (@Sendable (Int) -> Void)? = nil,
    interruption: Interruption? = nil,
    _ completion: @escaping @Sendable (Result<IndexStatus, any Error>) -> Void
  ) {
    let isStopped = shared.withLock { shared in
      let isStopped = shared.isStopped || shared.endsBuilds && kind.buildsIndex
      if !isStopped {
        shared.orders.append(
          IndexOrder(
            kind: kind,
            progress: progress,
            interruption: interruption,
            completion: completion
          )
        )
      }
      return isStopped
    }
    guard !isStopped else { return completion(.failure(SpotlightError.stopping)) }
    follow()
  }

  private func takeOrders() -> [IndexOrder] {
    shared.withLock { shared in
      defer { shared.orders = [] }
      return shared.orders
    }
  }

  func failOrders(_ error: any Error) {
    for order in takeOrders() { order.completion(.failure(error)) }
  }

  /// Does what clients have asked for since the last attempt.
  func executeOrders(_ follower: inout Follower) throws {
    var orders = refuseBuilds(takeOrders(), follower)[...]
    do {
      while let order = orders.first {
        do {
          try order.interruption?.check()
          try execute(order, &follower)
          try updatePause(follower)
          order.completion(.success(status))
        } catch let error as Interrupted {
          if let token = follower.token { reached(token) }
          try updatePause(follower)
          order.completion(.failure(error))
        }
        orders.removeFirst()
      }
    } catch is IndexStopped {
      let refused = orders.filter(\.kind.buildsIndex)
      // The next attempt does the others.
      shared.withLock { [orders] shared in
        shared.orders = orders.filter { !$0.kind.buildsIndex } + shared.orders
      }
      for order in refused { order.completion(.failure(SpotlightError.stopping)) }
      throw IndexStopped()
    } catch let error as SQLiteError where isOfDamage(error) {
      // The attempt goes on in a new file.
      shared.withLock { [orders] shared in shared.orders = orders + shared.orders }
      throw error
    } catch {
      for order in orders { order.completion(.failure(error)) }
      throw error
    }
  }

  private func execute(_ order: IndexOrder, _ follower: inout Follower) throws {
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

  /// Refuses the orders for a new index that has no room beside the old one, which goes on.
  ///
  /// - Returns: The other orders.
  private func refuseBuilds(
    _ orders: [IndexOrder],
    _ follower: borrowing Follower
  ) -> [IndexOrder] {
    guard follower.token != nil, orders.contains(where: \.kind.buildsIndex),
      let error = IndexSpace.shortage(besides: path)
    else { return orders }
    for order in orders where order.kind.buildsIndex { order.completion(.failure(error)) }
    return orders.filter { !$0.kind.buildsIndex }
  }

  /// Takes over whether the index is paused, and returns it.
  @discardableResult
  func updatePause(_ follower: borrowing Follower) throws -> Bool {
    let isPaused = try follower.file.queue.use { db in try IndexFile.isPaused(db) }
    let token = follower.token
    let count = documents.aliveCount
    let failed = shared.withLock { shared -> [IndexWaiter] in
      guard !shared.isDamaged else { return [] }
      guard isPaused else {
        guard shared.status.state == .paused || shared.status.token == nil else { return [] }
        shared.status = IndexStatus(token: token, documents: count, state: .catchingUp)
        return []
      }
      shared.status = IndexStatus(token: token, documents: count, state: .paused)
      // As after a failure, waits that began in this attempt go on.
      let attempts = shared.attempts
      return shared.takeWaiters { $0.attempts < attempts }
    }
    for waiter in failed { waiter.completion(waiter.number <= token?.number ?? -1) }
    return isPaused
  }

  private func writeFollowed(_ follower: inout Follower) throws {
    guard follower.followed != nil else { return }
    do {
      try writePosition(&follower)
    } catch is IndexMoved {
      // Another process has written a position meanwhile.
      try reload(&follower)
    }
  }

  private func pause(_ isPaused: Bool, _ follower: inout Follower) throws {
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

  /// Writes the position that the index has reached without another document.
  func writePosition(
    _ follower: inout Follower,
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
