import CordialValues
import JSONRPC
import ObjectModel
import PersistentHistory
import PersistentStore
import Synchronization

/// The observed requests of all connections, with their current results and their subscriptions.
///
/// Equal requests share one observation. The loop changes the registry, and a worker that updates
/// results reads it.
final class SubscriptionRegistry: Sendable {
  /// A copy of an observation with its number and its subscriptions, for callers of the registry.
  struct Affected: Sendable {
    let number: Int
    let observation: Observation
    let subscribers: SmallSet<Subscriber>
  }

  /// A count of replaced results, read at the beginning of a registration.
  ///
  /// The count identifies the results that the registration's connection has. A commit does not
  /// identify these results: a connection may be at a later commit than the registry, with the same
  /// result.
  typealias Moment = Int

  /// An observation with its subscriptions.
  ///
  /// `Entry` is a class, because each commit looks up many entries, and copies of observations are
  /// expensive.
  private final class Entry {
    var observation: Observation
    var subscribers: SmallSet<Subscriber>
    /// The results that were replaced during registrations, by ascending moment of the replacement.
    var former: [(until: Moment, result: any LiveResult)] = []
    var costs = ObservationCosts()

    init(_ observation: Observation, _ subscriber: Subscriber) {
      self.observation = observation
      subscribers = [subscriber]
    }
  }

  private struct State {
    var entries: [Int: Entry] = [:]
    /// The observation numbers, by the identities of the requests.
    var numbers: [String: Int] = [:]
    var table = SubscriptionTable()
    var nextNumber = 1
    /// The observations that are apart: their results are at a position of their own.
    var apart: Set<Int> = []
    /// The observations that are read alone, because they take long.
    var readAlone: Set<Int> = []
    /// The observations that were compiled for a store without dangling references.
    var undangling: Set<Int> = []
    /// The observed searches.
    var searches: Set<Int> = []
    /// The number of registrations that are running.
    var readers = 0
    var moment: Moment = 0
    /// The observations with results in `former`.
    var withFormer: Set<Int> = []
    /// The observations whose last subscription has ended.
    var recent: RecentObservations
    /// The memory of all observations, in bytes.
    var bytes = 0

    /// Returns an observation, at the given position unless the observation is apart.
    func current(_ number: Int, at position: LogPosition?) -> Observation? {
      guard var observation = entries[number]?.observation else { return nil }
      if let position, !apart.contains(number) { observation.position = position }
      return observation
    }

    func affected(_ number: Int) -> Affected? {
      guard let entry = entries[number] else { return nil }
      return Affected(
        number: number,
        observation: entry.observation,
        subscribers: entry.subscribers
      )
    }
  }

  private let state: Mutex<State>
  /// The account of the memory of the results.
  private let memory: ByteBudget.Kept

  init(_ limits: Limits, _ budget: ByteBudget) {
    state = Mutex(State(recent: RecentObservations(limits)))
    memory = budget.keep()
  }

  /// Counts the growth of the results' memory; a negative number releases memory.
  private func grow(_ state: inout State, by bytes: Int) {
    state.bytes += bytes
    memory.add(bytes)
  }

  /// Changes the recent observations and counts the growth of their results.
  private func changeRecent(
    _ state: inout State,
    _ change: (inout RecentObservations) -> Void
  ) {
    let former = state.recent.bytes
    change(&state.recent)
    memory.add(state.recent.bytes - former)
  }

  /// The number of observations.
  var count: Int { state.withLock { $0.entries.count } }

  /// Returns an observation of a request that has subscriptions, or had subscriptions a short time
  /// ago.
  ///
  /// - Parameters:
  ///   - identity: The identity of the request.
  ///   - position: The common position of the results; nil if unknown.
  /// - Returns: The observation with its result; nil if there is none.
  func known(_ identity: String, at position: LogPosition?) -> Observation? {
    state.withLock { state in
      guard let number = state.numbers[identity] else { return state.recent[identity] }
      return state.current(number, at: position)
    }
  }

  /// Forgets the results of observations that ended before the previous call, and returns whether
  /// later results remain.
  func forgetRecent() -> Bool {
    state.withLock { state in
      changeRecent(&state) { $0.expire() }
      return !state.recent.isEmpty
    }
  }

  func observation(_ number: Int) -> Observation? {
    state.withLock { $0.entries[number]?.observation }
  }

  func subscribers(of number: Int) -> SmallSet<Subscriber> {
    state.withLock { $0.entries[number]?.subscribers ?? [] }
  }

  /// Adds a subscription to the observation of a request, and adds the observation if it is new.
  ///
  /// - Parameters:
  ///   - subscriber: The subscription.
  ///   - observation: The observation, which is added if the request is new.
  ///   - isAligned: Whether the observation's result is at the common position, at which the next
  ///     step begins. If not, a new observation keeps a position of its own.
  /// - Returns: The observation's number, whether the observation is new, and whether its result is
  ///   at a position of its own.
  func add(
    _ subscriber: Subscriber,
    to observation: Observation,
    isAligned: Bool
  ) -> (number: Int, isNew: Bool, isApart: Bool) {
    state.withLock { state in
      let identity = observation.request.identity
      if let number = state.numbers[identity] {
        state.entries[number]?.subscribers.insert(subscriber)
        return (number, false, state.apart.contains(number))
      }
      let number = state.nextNumber
      state.nextNumber += 1
      state.entries[number] = Entry(observation, subscriber)
      grow(&state, by: observation.bytes)
      state.numbers[identity] = number
      changeRecent(&state) { $0.remove(identity) }
      state.table.set(observation.interest, for: number)
      if !isAligned { state.apart.insert(number) }
      if !observation.mayDangle { state.undangling.insert(number) }
      if observation.query.followsIndex { state.searches.insert(number) }
      return (number, true, !isAligned)
    }
  }

  /// Removes a subscription, and the observation if no subscription remains.
  ///
  /// - Parameters:
  ///   - subscriber: The subscription.
  ///   - number: The number of its observation.
  ///   - position: The common position of the other results; nil if unknown.
  func remove(_ subscriber: Subscriber, from number: Int, at position: LogPosition?) {
    state.withLock { state in
      state.entries[number]?.subscribers.remove(subscriber)
      guard let entry = state.entries[number], entry.subscribers.isEmpty else { return }
      if state.searches.remove(number) == nil {
        let ended = state.current(number, at: position) ?? entry.observation
        changeRecent(&state) { $0.add(ended) }
      }
      state.entries[number] = nil
      grow(&state, by: -entry.observation.bytes)
      state.numbers[entry.observation.request.identity] = nil
      state.table.remove(number)
      state.apart.remove(number)
      state.readAlone.remove(number)
      state.undangling.remove(number)
    }
  }

  /// Records that an observation stays at a position while the other observations advance.
  ///
  /// - Parameters:
  ///   - number: The number of the observation.
  ///   - position: The common position of the results until now.
  ///   - isReadAlone: Whether a read outside of steps updates the observation; otherwise the next
  ///     step updates it.
  func leave(_ number: Int, at position: LogPosition, isReadAlone: Bool) {
    state.withLock { state in
      guard let entry = state.entries[number] else { return }
      if state.apart.insert(number).inserted { entry.observation.position = position }
      if isReadAlone { state.readAlone.insert(number) }
    }
  }

  /// Records the end of a read alone; returns whether the observation was being read alone.
  func endReadAlone(_ number: Int) -> Bool {
    state.withLock { $0.readAlone.remove(number) != nil }
  }

  /// Records the result of an observation at a later position.
  ///
  /// - Parameters:
  ///   - observation: The observation with its new result.
  ///   - number: The observation number. An observation that was removed meanwhile stays removed.
  ///   - position: The position of the other observations' results; nil while a step brings them
  ///     to a later position.
  func update(_ observation: Observation, _ number: Int, at position: LogPosition?) {
    state.withLock { state in
      guard let old = state.entries[number]?.observation else { return }
      if state.readers > 0 {
        state.entries[number]?.former.append((state.moment, old.result))
        state.withFormer.insert(number)
        state.moment += 1
      }
      state.entries[number]?.observation = observation
      grow(&state, by: observation.bytes - old.bytes)
      if old.mayDangle != observation.mayDangle
        || observation.result.hasOtherInterest(than: old.result)
      {
        state.table.set(observation.interest, for: number)
      }
      if observation.mayDangle { state.undangling.remove(number) }
      if observation.position == position {
        state.apart.remove(number)
      } else {
        state.apart.insert(number)
      }
    }
  }

  /// The memory of all observations, in bytes.
  var bytes: Int { state.withLock { $0.bytes } }

  /// Returns the memory of all observations if a subscription to an observation is added, in bytes.
  func bytes(with observation: Observation) -> Int {
    state.withLock { state in
      let isShared = state.numbers[observation.request.identity] != nil
      return state.bytes + (isShared ? 0 : observation.bytes)
    }
  }

  /// Returns the observations, ordered by the memory of their results, the largest first.
  func bySize() -> [Affected] {
    state.withLock { state in
      state.entries.keys.compactMap { state.affected($0) }
        .sorted { $0.observation.bytes > $1.observation.bytes }
    }
  }

  /// Whether a search is observed.
  var hasSearches: Bool { state.withLock { !$0.searches.isEmpty } }

  /// Returns the observed searches, ordered by number.
  func searches() -> [Affected] {
    state.withLock { state in state.searches.sorted().compactMap { state.affected($0) } }
  }

  /// Records the result of a search at a later position of the index.
  ///
  /// - Returns: The former result; nil if the observation was removed meanwhile.
  func set(_ search: any LiveResult, of number: Int) -> (any LiveResult)? {
    state.withLock { state in
      guard let entry = state.entries[number] else { return nil }
      let (former, bytes) = (entry.observation.result, entry.observation.bytes)
      entry.observation.result = search
      grow(&state, by: entry.observation.bytes - bytes)
      return former
    }
  }

  /// Records that all observations at the common position are now valid at a later position.
  ///
  /// An observation whose result is at the later position is no longer apart.
  func advance(to position: LogPosition) {
    state.withLock { state in
      for number in state.apart where state.entries[number]?.observation.position == position {
        state.apart.remove(number)
      }
    }
  }

  /// Returns a copy of the requests, so that a comparison does not delay registrations.
  func table() -> SubscriptionTable {
    state.withLock { state in
      state.table.prepare()
      return state.table
    }
  }

  /// Returns the limits of a verdict on an observation; nil if the observation was removed.
  func verdictLimits(of number: Int) -> VerdictLimits? {
    state.withLock { $0.entries[number]?.observation.verdictLimits }
  }

  /// Returns an observation with its subscriptions; nil if it was removed meanwhile.
  func affected(_ number: Int) -> Affected? {
    state.withLock { $0.affected(number) }
  }

  /// Returns all observations except searches, ordered by number.
  func fetches() -> [Affected] {
    state.withLock { state in
      let numbers = state.entries.keys.filter { !state.searches.contains($0) }
      return numbers.sorted().compactMap { state.affected($0) }
    }
  }

  /// Returns the data that a step needs at its beginning.
  ///
  /// All data is read under one lock, because registrations continue meanwhile.
  ///
  /// - Returns: A copy of the requests; the observations that the step brings from their own
  ///   positions to the common position, ordered by number; and the numbers of all observations
  ///   that are apart or read alone.
  func start() -> (table: SubscriptionTable, joining: [Affected], apart: Set<Int>) {
    state.withLock { state in
      state.table.prepare()
      let joining = state.apart.subtracting(state.readAlone).sorted()
      return (
        state.table, joining.compactMap { state.affected($0) },
        state.apart.union(state.readAlone)
      )
    }
  }

  /// Returns the observations that were compiled for a store without dangling references, ordered
  /// by number.
  func compiledWithoutDangling() -> [Affected] {
    state.withLock { state in state.undangling.sorted().compactMap { state.affected($0) } }
  }

  /// Begins to keep replaced results, for a registration that brings a connection to a position of
  /// its own.
  ///
  /// - Returns: The moment whose results the connection has.
  func beginReading() -> Moment {
    state.withLock { state in
      state.readers += 1
      return state.moment
    }
  }

  /// Ends a period that `beginReading` began.
  ///
  /// The end of the last period discards the kept results.
  func endReading() {
    state.withLock { state in
      state.readers -= 1
      guard state.readers == 0 else { return }
      for number in state.withFormer { state.entries[number]?.former = [] }
      state.withFormer = []
    }
  }

  /// Returns an observation with the result that a connection had at a moment.
  ///
  /// - Parameters:
  ///   - number: The number of the observation.
  ///   - session: The number of the connection.
  ///   - moment: The moment that `beginReading` returned.
  /// - Returns: The observation, with the subscriptions of the connection only; nil for a
  ///   connection without a subscription to the observation.
  func former(_ number: Int, of session: Int, at moment: Moment) -> Affected? {
    state.withLock { state in
      guard let entry = state.entries[number],
        case let own = SmallSet(entry.subscribers.lazy.filter { $0.session == session }),
        !own.isEmpty
      else { return nil }
      var observation = entry.observation
      if let former = entry.former.first(where: { $0.until >= moment }) {
        observation.result = observation.result.with(former.result)
      }
      return Affected(number: number, observation: observation, subscribers: own)
    }
  }

  /// Returns the subscriptions whose results the changes may alter.
  func subscribers(affectedBy changes: ChangeSet) -> [Subscriber] {
    let table = table()
    let comparison = ChangeComparison(table.representatives(of: changes), [:], with: table)
    // The search may stop at the first object that may enter, leave or differ.
    let limits = VerdictLimits(membersMax: 0, valuesMax: 0)
    return comparison.concerned.flatMap { concern -> [Subscriber] in
      comparison.verdict(on: concern, limits) == .unaffected
        ? [] : Array(subscribers(of: concern.number))
    }
  }

  /// Counts a step for the observations that the step has compared with its changes.
  func countComparison(with numbers: some Sequence<Int>) {
    state.withLock { state in
      for number in numbers { state.entries[number]?.costs.commits += 1 }
    }
  }

  /// Adds the costs of a step to an observation.
  func add(_ costs: ObservationCosts, to number: Int) {
    state.withLock { state in
      guard let known = state.entries[number]?.costs else { return }
      state.entries[number]?.costs = known + costs
    }
  }

  /// Returns all observations with their costs, by number.
  func all() -> [Int: (observation: Observation, costs: ObservationCosts)] {
    state.withLock { state in state.entries.mapValues { ($0.observation, $0.costs) } }
  }

  /// Whether any observation is apart and not read alone, so that the next step must update it.
  var hasObservationsApart: Bool {
    state.withLock { !$0.apart.isSubset(of: $0.readAlone) }
  }

  /// The earliest commit among the positions of the observations that are apart; nil if no
  /// observation is apart.
  var leastApart: Int64? {
    state.withLock { state in
      state.apart.compactMap { state.entries[$0]?.observation.position.commit }.min()
    }
  }
}
