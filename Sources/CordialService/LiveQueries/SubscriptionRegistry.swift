import CordialValues
import JSONRPC
import ObjectModel
import PersistentHistory
import PersistentStore
import Synchronization

/// The observed requests of all connections, with their current results and their subscriptions.
///
/// The loop changes it; a worker that updates results reads it too. Equal requests share one
/// observation.
final class SubscriptionRegistry: Sendable {
  /// An observation that changes may have altered.
  struct Affected: Sendable {
    let number: Int
    let observation: Observation
    let subscribers: SmallSet<Subscriber>
  }

  /// The number of results that were replaced before a registration began, which identifies the
  /// results that its connection has.
  ///
  /// A commit does not identify them: a connection may be at a later commit than the registry, with
  /// the same result.
  typealias Moment = Int

  /// A class, because each commit looks up many entries, and an observation has many parts to copy.
  private final class Entry {
    var observation: Observation
    var subscribers: SmallSet<Subscriber>
    /// Earlier results while registrations are under way, each with the moment until which it was
    /// the result, ascending.
    var former: [(until: Moment, result: any LiveResult)] = []
    var costs = ObservationCosts()

    init(_ observation: Observation, _ subscriber: Subscriber) {
      self.observation = observation
      subscribers = [subscriber]
    }
  }

  private struct State {
    var entries: [Int: Entry] = [:]
    /// The numbers of the observations by the identities of their requests.
    var numbers: [String: Int] = [:]
    var table = SubscriptionTable()
    var nextNumber = 1
    /// The observations that are apart: their results are of another position than the others'.
    var apart: Set<Int> = []
    /// Those of them that are read alone, because they take long.
    var readAlone: Set<Int> = []
    /// The observations that are not compiled for dangling references.
    var undangling: Set<Int> = []
    /// The observed searches.
    var searches: Set<Int> = []
    /// The number of registrations that are under way.
    var readers = 0
    var moment: Moment = 0
    /// The observations with earlier results.
    var withFormer: Set<Int> = []
    /// The observations whose last subscription has ended.
    var recent: RecentObservations
    /// The memory of all observations, in bytes.
    var bytes = 0

    /// Returns an observation; at the position of the others, if its result is of that position.
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
  /// What counts the memory of the results.
  private let memory: ByteBudget.Kept

  init(_ limits: Limits, _ budget: ByteBudget) {
    state = Mutex(State(recent: RecentObservations(limits)))
    memory = budget.keep()
  }

  /// Counts the growth of the results, which is negative where one has ended.
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

  /// Returns an observation of a request that has subscriptions, or had some a short time ago.
  ///
  /// - Parameters:
  ///   - identity: The identity of the request.
  ///   - position: The position of the observations' results, where it is known.
  /// - Returns: The observation with its result; nil where none is known.
  func known(_ identity: String, at position: LogPosition?) -> Observation? {
    state.withLock { state in
      guard let number = state.numbers[identity] else { return state.recent[identity] }
      return state.current(number, at: position)
    }
  }

  /// Forgets the results of observations that had ended when it was called last; returns whether
  /// others are kept.
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

  /// Adds a subscription to the observation of a request, which is added where it is new.
  ///
  /// - Parameters:
  ///   - subscriber: The subscription.
  ///   - observation: The observation, for a request that is new.
  ///   - isAligned: Whether the next step begins at the position of the observation's result.
  /// - Returns: The number of the observation, whether it is new, and whether it is apart.
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

  /// Removes a subscription, and its observation after the last one.
  ///
  /// - Parameters:
  ///   - subscriber: The subscription.
  ///   - number: The number of its observation.
  ///   - position: The position of the other observations' results, where it is known.
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

  /// Records that an observation keeps the result of a position, which the others leave.
  ///
  /// - Parameters:
  ///   - number: The number of the observation.
  ///   - position: The position of the observations' results until now.
  ///   - isReadAlone: Whether the observation is read alone from there.
  func leave(_ number: Int, at position: LogPosition, isReadAlone: Bool) {
    state.withLock { state in
      guard let entry = state.entries[number] else { return }
      if state.apart.insert(number).inserted { entry.observation.position = position }
      if isReadAlone { state.readAlone.insert(number) }
    }
  }

  /// Records that an observation is not read alone any more; returns whether it was.
  func endReadAlone(_ number: Int) -> Bool {
    state.withLock { $0.readAlone.remove(number) != nil }
  }

  /// Records the result of an observation at a later position.
  ///
  /// - Parameters:
  ///   - observation: The observation with its new result.
  ///   - number: Its number; an observation that was removed meanwhile stays removed.
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

  /// Returns the memory of all results with one more subscription, in bytes.
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
  /// - Returns: The result before; nil for an observation that was removed meanwhile.
  func set(_ search: any LiveResult, of number: Int) -> (any LiveResult)? {
    state.withLock { state in
      guard let entry = state.entries[number] else { return nil }
      let (former, bytes) = (entry.observation.result, entry.observation.bytes)
      entry.observation.result = search
      grow(&state, by: entry.observation.bytes - bytes)
      return former
    }
  }

  /// Records that the results of all other observations are valid at a later position too.
  func advance(to position: LogPosition) {
    state.withLock { state in
      for number in state.apart where state.entries[number]?.observation.position == position {
        state.apart.remove(number)
      }
    }
  }

  /// The requests as they are now, for comparing changes with them while others are registered.
  func table() -> SubscriptionTable {
    state.withLock { state in
      state.table.prepare()
      return state.table
    }
  }

  /// Returns how many objects a verdict on an observation names; nil where it was removed.
  func verdictLimits(of number: Int) -> VerdictLimits? {
    state.withLock { $0.entries[number]?.observation.verdictLimits }
  }

  /// Returns an observation with its subscriptions; nil where it was removed meanwhile.
  func affected(_ number: Int) -> Affected? {
    state.withLock { $0.affected(number) }
  }

  /// Returns all observations but those of searches, ordered by number.
  func fetches() -> [Affected] {
    state.withLock { state in
      let numbers = state.entries.keys.filter { !state.searches.contains($0) }
      return numbers.sorted().compactMap { state.affected($0) }
    }
  }

  /// Returns what a step begins with, all of one moment: requests are registered meanwhile.
  ///
  /// - Returns: The requests as they are now; the observations that are apart and not read alone,
  ///   ordered by number; and the numbers of all that are apart or read alone.
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

  /// Returns the observations that are not compiled for dangling references, ordered by number.
  func compiledWithoutDangling() -> [Affected] {
    state.withLock { state in state.undangling.sorted().compactMap { state.affected($0) } }
  }

  /// Begins to keep earlier results, for a registration that brings a connection from its position
  /// to one at which the observations are not.
  ///
  /// - Returns: The moment whose results the connection has.
  func beginReading() -> Moment {
    state.withLock { state in
      state.readers += 1
      return state.moment
    }
  }

  /// Ends what `beginReading` began.
  func endReading() {
    state.withLock { state in
      state.readers -= 1
      guard state.readers == 0 else { return }
      for number in state.withFormer { state.entries[number]?.former = [] }
      state.withFormer = []
    }
  }

  /// Returns an observation of a connection with the result that it had at a moment.
  ///
  /// - Parameters:
  ///   - number: The number of the observation.
  ///   - session: The number of the connection.
  ///   - moment: What `beginReading` returned.
  /// - Returns: The observation, with the subscriptions of the connection only; nil where it has
  ///   none.
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

  /// Returns the subscriptions whose results changes may alter.
  func subscribers(affectedBy changes: ChangeSet) -> [Subscriber] {
    let table = table()
    let comparison = ChangeComparison(table.representatives(of: changes), [:], with: table)
    // One object that may enter, leave or differ is sufficient.
    let limits = VerdictLimits(membersMax: 0, valuesMax: 0)
    return comparison.concerned.flatMap { concern -> [Subscriber] in
      comparison.verdict(on: concern, limits) == .unaffected
        ? [] : Array(subscribers(of: concern.number))
    }
  }

  /// Counts a step whose changes were compared with observations.
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

  /// Whether an observation is apart, and not read alone.
  var hasObservationsApart: Bool {
    state.withLock { !$0.apart.isSubset(of: $0.readAlone) }
  }

  /// The least commit of the results of observations that are apart; nil without any.
  var leastApart: Int64? {
    state.withLock { state in
      state.apart.compactMap { state.entries[$0]?.observation.position.commit }.min()
    }
  }
}
