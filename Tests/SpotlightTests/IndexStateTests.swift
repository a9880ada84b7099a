import CordialValues
import SQLite
import Spotlight
import Testing

/// Each row of the table of `IndexState`.
@Suite struct `The attempts of an index` {
  private struct Full: Error {}

  private var reading: IndexState {
    var state = IndexState()
    _ = state.handle(.wake)
    _ = state.handle(.due(hasLease: true))
    return state
  }

  private var full: IndexState {
    var state = reading
    _ = state.handle(.ended(.failed(Full(), isFull: true), microseconds: 0))
    return state
  }

  private func order(_ kind: IndexOrder.Kind, _ number: Int = 1) -> IndexEvent {
    .order(IndexOrder(number: number, kind: kind) { _ in })
  }

  private func waiter(_ commit: Int64, _ number: Int = 1) -> IndexEvent {
    .wait(IndexWaiter(number: number, commit: commit) { _ in })
  }

  @Test func `begin when they are due, and end`() {
    var state = IndexState()
    #expect(names(state.handle(.wake)) == ["schedule 0"])
    #expect(state.attempt == .scheduled)
    #expect(names(state.handle(.wake)) == [])
    #expect(names(state.handle(.due(hasLease: true))) == ["read"])
    #expect(state.attempt == .reads(again: false))
    #expect(names(state.handle(.ended(.done, microseconds: 7))) == [])
    #expect(state.attempt == .none && state.activity.processorMicroseconds == 7)
    // What is due without being scheduled reads nothing.
    #expect(names(state.handle(.due(hasLease: true))) == [])
  }

  @Test(arguments: [
    IndexEvent.wake, .foundDamage(nil), .order(IndexOrder(number: 1, kind: .write) { _ in }),
  ])
  func `come once more after an event`(event: IndexEvent) {
    var state = reading
    #expect(names(state.handle(event)) == [])
    #expect(state.attempt == .reads(again: true))
    #expect(names(state.handle(.ended(.done, microseconds: 0))) == ["schedule 0"])
    #expect(state.attempt == .scheduled)
  }

  @Test func `wait longer each time for the lease, and then do without it`() {
    var state = IndexState(leaseWaitMax: 100)
    _ = state.handle(.wake)
    #expect(names(state.handle(.due(hasLease: false))) == ["readOthers", "schedule 2"])
    #expect(names(state.handle(.due(hasLease: false))) == ["readOthers", "schedule 4"])
    // A process that advances has not stopped.
    #expect(names(state.handle(.othersAdvanced)) == [])
    for pause in [8, 16, 32, 64] {
      #expect(names(state.handle(.due(hasLease: false))) == ["readOthers", "schedule \(pause)"])
    }
    #expect(names(state.handle(.due(hasLease: false))) == ["read"])
  }

  @Test func `that fail answer their orders and those who waited before them`() {
    var state = IndexState()
    _ = state.handle(.wake)
    #expect(names(state.handle(waiter(1, 1))) == [])
    _ = state.handle(.due(hasLease: true))
    _ = state.handle(order(.write, 2))
    #expect(names(state.handle(waiter(1, 3))) == [])
    let effects = state.handle(.ended(.failed(Full(), isFull: false), microseconds: 0))
    // Another attempt is for those who came meanwhile.
    #expect(names(effects) == ["complete [2] Full()", "answer [1] false", "schedule 0"])
    #expect(state.status.state == .failed)
    #expect(names(state.handle(.due(hasLease: true))) == ["read"])
    #expect(state.status.state == .catchingUp && state.status.failure == nil)
    let token = StoreToken(generation: 1, number: 1, mark: 1)
    let reached = state.handle(.found(.reached(token, documents: 0, isRebuilt: true)))
    #expect(names(reached) == ["answer [3] true"])
  }

  @Test func `without disk space come after a pause, or for an order`() {
    var state = full
    #expect(state.status.state == .paused && state.status.reason == .diskFull)
    #expect(names(state.handle(.wake)) == [])
    #expect(names(state.handle(waiter(1))) == ["answer [1] false"])
    #expect(names(state.handle(.spaceDue(1))) == ["schedule 0"])
    var pauses: [Int] = []
    for _ in 1...6 {
      _ = state.handle(.due(hasLease: true))
      for effect in state.handle(.ended(.failed(Full(), isFull: true), microseconds: 0)) {
        guard case .awaitSpace(let number, let seconds) = effect else { continue }
        pauses.append(seconds)
        #expect(names(state.handle(.spaceDue(number))) == ["schedule 0"])
      }
    }
    #expect(pauses == [2, 4, 8, 16, 16, 16])
    state = full
    #expect(names(state.handle(order(.resume))) == ["schedule 0"])
    _ = state.handle(.due(hasLease: true))
    // The second pause ends the first one, whose end means nothing any more.
    _ = state.handle(.ended(.failed(Full(), isFull: true), microseconds: 0))
    #expect(names(state.handle(.spaceDue(1))) == [])
    #expect(names(state.handle(.spaceDue(2))) == ["schedule 0"])
  }

  @Test func `do not begin after the end, which answers all`() {
    var state = reading
    _ = state.handle(order(.rebuild, 1))
    _ = state.handle(order(.pause, 2))
    _ = state.handle(waiter(1, 3))
    #expect(names(state.handle(.endBuilds)) == ["complete [1] stopping"])
    #expect(!state.allowsBuilds && !state.isStopped)
    #expect(names(state.handle(order(.restoreDomains(["a"]), 4))) == ["complete [4] stopping"])
    // The order that the build belongs to was answered already.
    #expect(names(state.handle(.orderEnded(1, .failure(Full())))) == [])
    #expect(names(state.handle(.ended(.stopped, microseconds: 0))) == ["schedule 0"])
    #expect(names(state.handle(.stop)) == [])
    #expect(names(state.handle(.due(hasLease: true))) == [])
    #expect(names(state.handle(.wake)) == [])
    #expect(names(state.handle(waiter(1, 5))) == ["answer [5] false"])
    #expect(names(state.handle(.closed)) == ["complete [2] stopping", "answer [3] false"])
    #expect(names(state.handle(order(.write, 6))) == ["complete [6] stopping"])
  }

  @Test func `leave no position of a file that is damaged, or no longer there`() throws {
    let token = StoreToken(generation: 1, number: 4, mark: 1)
    let (first, second) = (try #require(FileIdentity("/")), try #require(FileIdentity("/dev/null")))
    var state = reading
    func open() {
      _ = state.handle(.found(.opened(first, oldest: token)))
      _ = state.handle(.found(.reached(token, documents: 3, isRebuilt: true)))
    }
    open()
    #expect(state.file(at: 4) == first && state.file(at: 5) == nil)
    _ = state.handle(.found(.opened(second, oldest: nil)))
    #expect(state.status.token == nil && state.file(at: 0) == nil)
    open()
    _ = state.handle(.foundDamage(first))
    #expect(!state.allowsSearches && state.status.token == nil)
    // What the present attempt does to the damaged file is in vain.
    _ = state.handle(.found(.reached(token, documents: 3, isRebuilt: false)))
    #expect(state.status.token == nil)
    _ = state.handle(.found(.removed))
    open()
    #expect(state.allowsSearches && state.status.token == token)
    // Another file was opened since.
    _ = state.handle(.lostFile(second))
    #expect(state.status.token == token)
    _ = state.handle(.lostFile(first))
    #expect(state.status.token == nil)
  }
}

/// Returns the names of effects, with what they are for.
func names(_ effects: [IndexEffect]) -> [String] {
  effects.map { effect in
    switch effect {
    case .schedule(let pause): "schedule \(pause)"
    case .awaitSpace(let number, let seconds): "awaitSpace \(number) \(seconds)"
    case .read: "read"
    case .readOthers: "readOthers"
    case .answer(let waiters, let hasReached):
      "answer \(waiters.map(\.number).sorted()) \(hasReached)"
    case .complete(let orders, .success): "complete \(orders.map(\.number)) done"
    case .complete(let orders, .failure(let error)):
      "complete \(orders.map(\.number)) "
        + ((error as? SpotlightError)?.code == .stopping ? "stopping" : "\(error)")
    case .report(let bodies): "report \(bodies.count)"
    }
  }
}
