import CordialProtocol
import CordialValues
import Interruptions
import JSON
import JSONRPC
import ObjectModel
import PersistentHistory
import PersistentStore

/// The registration of a subscription at one snapshot, and the updates of the connection's older
/// subscriptions to that snapshot.
struct Registration: Sendable {
  /// The older subscriptions of the connection.
  struct Older: Sendable {
    let session: Int
    /// The commit of the position that the client knows.
    let known: Int64
    /// The last recorded commit of each author, for the commits up to `recorded`.
    ///
    /// The log may no longer have these commits.
    let authors: [String?: Int64]
    let recorded: Int64
    /// The position of the client's results.
    let position: LogPosition
    /// The moment at which the registry had the client's results, except for `results`.
    let moment: SubscriptionRegistry.Moment
    /// The client's results that differ from the registry's results, by subscription number.
    let results: [Int: any LiveResult]
    /// The searches for which the client's result differs from the registry's result.
    let searches: [Search]
  }

  /// An older subscription to a search.
  struct Search: Sendable {
    let number: Int
    /// The result that the client has.
    let result: any LiveResult
    /// The search with its newest result.
    let observation: Observation
  }

  /// An older subscription whose result may differ.
  struct OlderUpdate: Sendable {
    let number: Int
    let result: any LiveResult
    let body: UpdateBody?
    var isEnded = false
  }

  struct Outcome: Sendable {
    let token: StoreToken
    let position: LogPosition
    let observation: Observation
    let message: MessageBytes
    let older: [OlderUpdate]
    /// The authors of the commits after the position that the client knows, in the order of their
    /// last commits.
    let authors: [String?]
  }

  let call: ObserveCall
  /// The text of the params that name the request.
  let text: String
  /// The connection and the number of the new subscription.
  let subscriber: Subscriber
  /// The result of a search at `since`; nil for other requests, or if the search index has no such
  /// result.
  let former: (any LiveResult)?
  let since: StoreToken?
  let id: RequestID
  /// The meter of the memory that the response may use; nil if no bound applies.
  let share: AnswerShare?
  let older: Older?
  /// An observation of the same request with an earlier result; nil if there is none.
  let known: Observation?
  /// The function that makes queries of an additional kind; nil for none.
  let added: AddedKind?
  /// The function that makes the query of a search whose hits are known; nil for other requests.
  let found: AddedKind?
  let registry: SubscriptionRegistry
  let limits: Limits

  /// Reads the result, or the difference from the client's result.
  ///
  /// - Parameter snapshot: The snapshot. If the client resumes, the snapshot's reader can read past
  ///   commits.
  /// - Returns: The registration with the complete response.
  /// - Throws: The errors of the request; `SQLiteError`.
  func perform(_ snapshot: StoreSnapshot) throws -> Outcome {
    let updates = try olderUpdates(snapshot) + searchUpdates(snapshot)
    let (observation, rest) = try answer(snapshot)
    var head = JSONWriter(reserving: 256)
    MessageWriter.beginResult(id, &head)
    head.key(.subscription, after: "{")
    head.raw("\"")
    head.raw(string: subscriber.name)
    head.key(.token, after: "\",")
    head.raw("\"")
    head.raw(string: snapshot.token.description)
    head.raw("\",")
    var message = MessageBytes(head)
    message.append(rest)
    message.append(Array("}}".utf8))
    return Outcome(
      token: snapshot.token,
      position: snapshot.head.position,
      observation: observation,
      message: message,
      older: updates,
      authors: try authors(snapshot)
    )
  }

  /// Returns the known observation with its result at the snapshot; nil if the request must be read
  /// again.
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

  /// Returns the observation at the snapshot, and the rest of the response after the token.
  ///
  /// The rest contains a whole result or an update.
  private func answer(_ snapshot: StoreSnapshot) throws -> (Observation, MessageBytes) {
    let reader = ResultReader(snapshot: snapshot, limits: limits)
    if let known = try refreshed(snapshot) {
      let message = try whole(known.request, nil) { out in
        // Writes the known result, without another read of the request.
        guard known.request.mode != .signal else { return }
        try known.result.write(known.request, reader, to: &out)
      }
      return (known, message)
    }
    let request = ObservedRequest(call, text, subscriber, added)
    let query = try found?(request, reader) ?? reader.compile(request)
    let inclusion = try reader.inclusion(request, query)
    func observation(_ result: any LiveResult) -> Observation {
      Observation(
        request: request,
        result: result,
        modelHash: snapshot.model.hash,
        // The query of a search is never compiled again, because its result comes from the search
        // index.
        mayDangle: snapshot.mayDangle || query.followsIndex,
        inclusion: inclusion,
        position: snapshot.head.position
      )
    }
    func anew(_ why: FreshReason?) throws -> (Observation, MessageBytes) {
      var result: (any LiveResult)?
      let message = try whole(request, why) { out in
        result = try query.reading(request, reader, to: &out)
      }
      guard let result else { throw StoreError(.internalError, "A whole result was not read") }
      return (observation(result), message)
    }
    guard let since else { return try anew(nil) }
    switch try Resumption(since, query, snapshot) {
    case .startsOver(let why): return try anew(why)
    case .resumes(let position, let changes):
      guard let old = try result(of: request, query, at: position, snapshot) else {
        return try anew(.index)
      }
      var out = UpdateWriter(isDiscarding: true, meter: share)
      let observation = observation(try query.reading(request, reader, to: &out))
      let builder = UpdateBuilder(
        observation: observation,
        snapshot: snapshot,
        limits: limits.unsplit,
        from: position,
        changes: changes
      )
      switch try observation.result.update(from: old, nil, isLimited: true, builder) {
      case .same: return (observation, Self.resumed(nil))
      case .difference(let body): return (observation, Self.resumed(body))
      case .startsOver(let why):
        let message = try whole(request, why) { out in
          try observation.result.write(request, reader, to: &out)
        }
        return (observation, message)
      }
    }
  }

  /// Returns the result that the client has; nil if the index does not have that result.
  private func result(
    of request: ObservedRequest,
    _ query: any LiveQuery,
    at position: LogPosition,
    _ snapshot: StoreSnapshot
  ) throws -> (any LiveResult)? {
    guard !query.followsIndex else { return former }
    return try snapshot.earlier(position) { earlier in
      let reader = ResultReader(snapshot: earlier, limits: limits)
      var out = UpdateWriter(isDiscarding: true, meter: share)
      return try reader.compile(request).reading(request, reader, to: &out)
    }
  }

  /// Returns the rest of the response to an `observe` that resumes.
  ///
  /// - Parameter body: The difference; nil for an empty update, because nothing differs.
  /// - Returns: The rest.
  private static func resumed(_ body: UpdateBody?) -> MessageBytes {
    var head = JSONWriter()
    head.key(.fresh)
    head.raw("false")
    head.key(.update, after: ",")
    head.raw("{")
    var message = MessageBytes(head)
    if let fragment = body?.fragments.first { message.append(fragment.bytes) }
    message.append(Array("}".utf8))
    return message
  }

  /// Returns the rest of the response to an `observe` that starts over.
  ///
  /// - Parameters:
  ///   - request: The request.
  ///   - why: The reason why the client cannot resume; nil if the client did not want to resume.
  ///   - write: Reads the result and writes its members, which mode `signal` discards.
  /// - Returns: The rest.
  /// - Throws: `limitExceeded` for a response that is too long; the errors of `write`.
  private func whole(
    _ request: ObservedRequest,
    _ why: FreshReason?,
    _ write: (inout UpdateWriter) throws -> Void
  ) throws -> MessageBytes {
    var out = UpdateWriter(bytesMax: limits.answerBytesMax, meter: share)
    try out.member(.fresh) { $0.bool(true) }
    if let why { try out.member(.why) { $0.string(why.rawValue) } }
    if request.mode == .signal {
      var unused = UpdateWriter(isDiscarding: true, meter: share)
      try write(&unused)
    } else {
      try out.object(.result, write)
    }
    return out.fragments.first?.bytes ?? MessageBytes([])
  }

  // MARK: Older subscriptions

  private func olderUpdates(_ snapshot: StoreSnapshot) throws -> [OlderUpdate] {
    guard let older, older.position.commit < snapshot.head.number || !older.results.isEmpty else {
      return []
    }
    // The list must be read before the table. A step may have recompiled an observation already:
    // then the list lacks the observation, and the table must have its new interest.
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
        if let own = older.results[subscriber.number] {
          observation.result = observation.result.with(own)
        }
        updates.append(
          try Self.update(observation, subscriber.number, verdict, over: span, &advance)
        )
      }
    }
    // These observations need no comparison. Requests that were compiled without dangling
    // references are compiled and read again in any case. If changes are missing, any result may
    // differ.
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

  /// Returns the updates of older searches, whose results come from the index instead of commits.
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
        body: try builder.update(from: search.result)
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

  private func authors(_ snapshot: StoreSnapshot) throws -> [String?] {
    guard let older else { return [] }
    var last = older.authors
    for (author, commit) in try snapshot.lastCommits(after: older.recorded) {
      last[author] = commit
    }
    return last.filter { $0.value > older.known }.sorted { $0.value < $1.value }.map(\.key)
  }
}

/// The decision whether a client can resume from a position.
private enum Resumption {
  /// The client resumes from the position, and these changes follow the position.
  case resumes(LogPosition, ChangeSet)
  case startsOver(FreshReason)

  init(_ since: StoreToken, _ query: any LiveQuery, _ snapshot: StoreSnapshot) throws {
    let head = snapshot.token
    if since.generation == head.generation, since.number > head.number {
      self = .startsOver(.ahead)
    } else if let migration = try snapshot.newestMigration(), since.number < migration,
      since.generation == head.generation
    {
      self = .startsOver(.model)
    } else if let position = try snapshot.logPosition(of: since) {
      if query.usesCollation, let folding = try snapshot.newestFolding(),
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
