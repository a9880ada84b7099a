import CordialProtocol
import CordialValues
import Interruptions
import JSON
import JSONRPC
import ObjectModel
import PersistentHistory
import PersistentStore
import Subscriptions

/// The registration of a subscription at one snapshot, and the updates of the connection's older
/// subscriptions to that snapshot.
struct Registration: Sendable {
  /// The older subscriptions of the connection.
  struct Older: Sendable {
    let session: Int
    /// The commit of the position that the client knows.
    let known: Int64
    /// The position of the client's results.
    let position: LogPosition
    /// The moment of the registry whose results the client has, except for `results`.
    let moment: SubscriptionRegistry.Moment
    /// The results that differ from those of the registry, by the subscription's number.
    let results: [Int: ObservedResult]
    /// The searches whose clients have other results than the registry.
    let searches: [Search]
  }

  /// An older subscription to a search.
  struct Search: Sendable {
    let number: Int
    /// The result that the client has.
    let result: ObservedResult
    /// The search with its newest result.
    let observation: Observation
  }

  /// An older subscription whose result may differ.
  struct OlderUpdate: Sendable {
    let number: Int
    let result: ObservedResult
    let body: UpdateBody?
    var isEnded = false
  }

  struct Outcome: Sendable {
    let token: StoreToken
    let position: LogPosition
    let observation: Observation
    let message: MessageBytes
    let older: [OlderUpdate]
    /// The authors of the commits after the position that the client knows.
    let authors: [String?]
  }

  let call: ObserveCall
  /// The connection and the number of the new subscription.
  let subscriber: Subscriber
  /// The result of an observed search; nil for other requests.
  let search: ObservedSearch?
  /// The result of an observed search at `since`; nil where the index does not have it.
  let former: ObservedSearch?
  let since: StoreToken?
  let id: RequestID
  /// The memory of the response.
  let share: AnswerShare?
  let older: Older?
  /// An observation of the same request with an earlier result; nil where none is known.
  let known: Observation?
  let registry: SubscriptionRegistry
  let limits: Limits

  /// Reads the result, or the difference from the client's result.
  ///
  /// - Parameter snapshot: A snapshot; of a reader of past commits where the client resumes.
  /// - Returns: The registration with the complete response.
  /// - Throws: The errors of the request; `SQLiteError`.
  func perform(_ snapshot: StoreSnapshot) throws -> Outcome {
    let updates = try olderUpdates(snapshot) + searchUpdates(snapshot)
    let request = ObservedRequest(call, subscriber)
    var observation = try refreshed(snapshot) ?? compiled(request, snapshot)
    var head = JSONWriter(reserving: 256)
    MessageWriter.beginResult(id, &head)
    head.raw("{\"subscription\":\"")
    head.raw(string: LiveSubscription.name(subscriber.number))
    head.raw("\",\"token\":\"")
    head.raw(string: snapshot.token.description)
    head.raw("\",")
    var message = MessageBytes(head)
    message.append(try answer(&observation, snapshot))
    message.append(Array("}}".utf8))
    return Outcome(
      token: snapshot.token,
      position: snapshot.head.position,
      observation: observation,
      message: message,
      older: updates,
      authors: try authors(updates, snapshot)
    )
  }

  private func compiled(
    _ request: ObservedRequest,
    _ snapshot: StoreSnapshot
  ) throws -> Observation {
    let reader = ResultReader(snapshot: snapshot, limits: limits)
    let query = try reader.compile(request)
    var result = ObservedResult()
    result.search = search
    return Observation(
      request: request,
      query: query,
      modelHash: snapshot.model.hash,
      // A search reads no references itself.
      mayDangle: snapshot.mayDangle || search != nil,
      inclusion: try reader.inclusion(request, query),
      result: result,
      position: snapshot.head.position
    )
  }

  /// Returns the known observation with its result at the snapshot; nil where the request has to be
  /// read again.
  private func refreshed(_ snapshot: StoreSnapshot) throws -> Observation? {
    guard let observation = known, since == nil, observation.query.isKept,
      observation.modelHash == snapshot.model.hash, observation.mayDangle == snapshot.mayDangle,
      observation.position.commit <= snapshot.head.number
    else { return nil }
    var table = SubscriptionTable()
    table.set(observation.interest, for: 0)
    var advance = Advance(snapshot, limits, table)
    guard
      let span = try advance.span(
        since: observation.position,
        changesMax: limits.recentChangesMax
      ), span.isComplete
    else { return nil }
    let verdict = observation.interest.verdict(on: span.changes, try advance.rows(of: span))
    let resolved = try advance.resolve(verdict, on: observation, over: span)
    guard resolved != .undecided else { return nil }
    let refreshed = try advance.refresh(observation, resolved, over: span)
    return refreshed.isReread ? nil : refreshed.observation
  }

  /// Returns the rest of the result of `observe`: a whole result or an update.
  private func answer(
    _ observation: inout Observation,
    _ snapshot: StoreSnapshot
  ) throws -> MessageBytes {
    guard let since else { return try whole(&observation, nil, snapshot) }
    let resumption = try Resumption(since, observation, snapshot)
    switch resumption {
    case .startsOver(let why): return try whole(&observation, why, snapshot)
    case .resumes(let position, let changes) where search != nil:
      return try resumed(&observation, position, changes, snapshot)
    case .resumes(let position, let changes):
      let old = try snapshot.earlier(position) { earlier in
        let reader = ResultReader(snapshot: earlier, limits: limits)
        var out = UpdateWriter(isDiscarding: true, meter: share)
        return try reader.compile(observation.request).read(
          observation.request,
          reader,
          to: &out
        )
      }
      var out = UpdateWriter(isDiscarding: true, meter: share)
      let reader = ResultReader(snapshot: snapshot, limits: limits)
      observation.result = try observation.query.read(observation.request, reader, to: &out)
      let builder = UpdateBuilder(
        observation: observation,
        snapshot: snapshot,
        limits: limits.unsplit,
        from: position,
        changes: changes
      )
      let difference = try ResultDifference(
        from: old,
        to: observation.result,
        ResultDifference.Comparison(observation: observation, changes: changes)
      )
      let isLarger = difference.elementCount > observation.result.elementCount
      if isLarger, observation.request.mode != .signal {
        return try whole(&observation, .larger, snapshot)
      }
      return Self.message(try builder.update(from: old, to: observation.result))
    }
  }

  /// Returns the update of a search from the result that the client has.
  private func resumed(
    _ observation: inout Observation,
    _ position: LogPosition,
    _ changes: ChangeSet,
    _ snapshot: StoreSnapshot
  ) throws -> MessageBytes {
    guard let former, let search else { return try whole(&observation, .index, snapshot) }
    let mode = observation.request.mode
    if mode != .signal, try search.elementCount(from: former, mode) > search.hits.count {
      return try whole(&observation, .larger, snapshot)
    }
    let builder = UpdateBuilder(
      observation: observation,
      snapshot: snapshot,
      limits: limits.unsplit,
      from: position,
      changes: changes
    )
    return Self.message(try builder.search(from: former, to: search, isLimited: false))
  }

  /// Returns the rest of the result of an `observe` that resumes; a nil body is no difference.
  private static func message(_ body: UpdateBody?) -> MessageBytes {
    var message = MessageBytes(Array("\"fresh\":false,\"update\":{".utf8))
    if let fragment = body?.fragments.first { message.append(fragment.bytes) }
    message.append(Array("}".utf8))
    return message
  }

  private func whole(
    _ observation: inout Observation,
    _ why: FreshReason?,
    _ snapshot: StoreSnapshot
  ) throws -> MessageBytes {
    let isSignal = observation.request.mode == .signal
    var out = UpdateWriter(bytesMax: limits.answerBytesMax, meter: share)
    try out.member("fresh") { $0.bool(true) }
    if let why { try out.member("why") { $0.string(why.rawValue) } }
    let reader = ResultReader(snapshot: snapshot, limits: limits)
    // A known result is written as it is.
    let isKnown = observation.result.revision >= 0
    if let search {
      guard !isSignal else { return out.fragments.first?.bytes ?? MessageBytes([]) }
      try out.object("result") { try search.write(observation.request.mode, to: &$0) }
    } else if isSignal {
      guard !isKnown else { return out.fragments.first?.bytes ?? MessageBytes([]) }
      var unused = UpdateWriter(isDiscarding: true, meter: share)
      observation.result = try observation.query.read(observation.request, reader, to: &unused)
    } else {
      try out.object("result") { out in
        observation.result =
          try isKnown
          ? observation.query.write(observation, reader, to: &out)
          : observation.query.read(observation.request, reader, to: &out)
      }
    }
    return out.fragments.first?.bytes ?? MessageBytes([])
  }

  // MARK: Older subscriptions

  private func olderUpdates(_ snapshot: StoreSnapshot) throws -> [OlderUpdate] {
    guard let older, older.position.commit < snapshot.head.number || !older.results.isEmpty else {
      return []
    }
    // An observation that a step compiles anew after this is in the table with its new interest.
    let recompiled = snapshot.mayDangle ? registry.compiledWithoutDangling() : []
    let table = registry.table()
    var advance = Advance(snapshot, limits, table)
    guard let span = try advance.span(since: older.position) else { return [] }
    let comparison = ChangeComparison(span.changes, try advance.entries(of: span), with: table)
    var updates: [OlderUpdate] = []
    func add(
      _ number: Int,
      _ verdict: (SubscriptionRegistry.Affected) -> Verdict
    ) throws {
      guard let candidate = registry.former(number, of: older.session, at: older.moment),
        case let verdict = verdict(candidate), verdict != .unaffected
      else { return }
      for subscriber in candidate.subscribers.sorted() {
        var observation = candidate.observation
        if let own = older.results[subscriber.number] { observation.result = own }
        updates.append(
          try Self.update(observation, subscriber.number, verdict, over: span, &advance)
        )
      }
    }
    // Changes do not tell whether they concern requests that are not compiled for dangling
    // references, and without the changes, each result may be another one.
    let undecided = (span.isComplete ? recompiled : registry.fetches()).map(\.number)
    for number in undecided { try add(number) { _ in .undecided } }
    let others = Set(undecided)
    for concern in comparison.concerned where !others.contains(concern.number) {
      try add(concern.number) { candidate in
        comparison.verdict(on: concern, candidate.observation.verdictLimits)
      }
    }
    return updates
  }

  /// Returns the updates of older searches, whose results the commits do not tell.
  private func searchUpdates(_ snapshot: StoreSnapshot) throws -> [OlderUpdate] {
    guard let older else { return [] }
    return try older.searches.map { search in
      let builder = UpdateBuilder(
        observation: search.observation,
        snapshot: snapshot,
        limits: limits,
        from: older.position,
        changes: ChangeSet(from: older.position.commit, through: snapshot.head.number)
      )
      return OlderUpdate(
        number: search.number,
        result: search.observation.result,
        body: try builder.update(from: search.result, to: search.observation.result)
      )
    }
  }

  /// Returns the update of an older subscription.
  ///
  /// - Parameters:
  ///   - observation: The observation with the result that the client has.
  ///   - number: The number of the subscription.
  ///   - verdict: The effect of the changes on the observation.
  ///   - span: The changes since the client's position.
  ///   - advance: Brings the observation to the snapshot.
  /// - Returns: The update.
  /// - Throws: The errors that concern the store; `Interrupted`.
  private static func update(
    _ observation: Observation,
    _ number: Int,
    _ verdict: Verdict,
    over span: Advance.Span,
    _ advance: inout Advance
  ) throws -> OlderUpdate {
    let former = observation.result
    do {
      let refreshed = try advance.refresh(observation, verdict, over: span)
      return OlderUpdate(
        number: number,
        result: refreshed.observation.result,
        body: try advance.update(refreshed, from: former, over: span)
      )
    } catch {
      return OlderUpdate(
        number: number,
        result: former,
        body: try advance.end(for: error),
        isEnded: true
      )
    }
  }

  private func authors(
    _ updates: [OlderUpdate],
    _ snapshot: StoreSnapshot
  ) throws -> [String?] {
    guard let older, updates.contains(where: { $0.body != nil }) else { return [] }
    return try snapshot.lastCommits(after: older.known).map(\.author)
  }
}

/// Whether a client resumes from a position.
private enum Resumption {
  /// The client has the result of a position, which these changes follow.
  case resumes(LogPosition, ChangeSet)
  case startsOver(FreshReason)

  init(_ since: StoreToken, _ observation: Observation, _ snapshot: StoreSnapshot) throws {
    let head = snapshot.token
    if since.generation == head.generation, since.number > head.number {
      self = .startsOver(.ahead)
    } else if let migration = try snapshot.newestMigration(), since.number < migration,
      since.generation == head.generation
    {
      self = .startsOver(.model)
    } else if let position = try snapshot.logPosition(of: since) {
      if observation.query.usesCollation, let folding = try snapshot.newestFolding(),
        since.number < folding
      {
        self = .startsOver(.collation)
        return
      }
      let changes = try snapshot.changes(since: position)
      self = changes.map { .resumes(position, $0) } ?? .startsOver(.log)
    } else {
      self = .startsOver(.log)
    }
  }
}
