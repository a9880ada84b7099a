import CordialProtocol
import CordialValues
import Indexing
import Interruptions
import JSONRPC
import Logging
import PersistentStore
import Spotlight

/// Observed searches, whose results may differ after the index has advanced.
extension Service {
  /// A search that was run again.
  private struct Refreshed: Sendable {
    /// The number of the observation.
    let number: Int
    /// The result; nil if it does not differ.
    let outcome: Result<ObservedSearch?, RPCError>
  }

  /// Searches for the first result of a subscription.
  ///
  /// - Parameters:
  ///   - call: The search.
  ///   - key: The key of the subscription; nil for none.
  ///   - since: The position of the result that the client has; nil for none.
  ///   - request: The request; if the search fails, the request ends with the error.
  ///   - next: Receives the new result, and the result at `since`. The latter is nil without
  ///     `since`, or if the index does not have that result.
  /// - Throws: `RPCError` for a query that is too long, and for an unknown entity.
  func find(
    _ call: SearchCall,
    key: String?,
    since: StoreToken?,
    _ request: Request,
    _ next: @escaping @Sendable (isolated Service, ObservedSearch, ObservedSearch?) -> Void
  ) throws {
    let wanted = try searchRequest(call)
    var call = call
    call.isObserved = true
    index.follow()
    let interruption = interruption(of: request, key: key)
    let observed = call
    whenIndexed(
      newestCommit,
      milliseconds: Self.freshnessMilliseconds,
      interruption
    ) { service, _ in
      let call = observed
      service.find(call, wanted, interruption) { service, outcome in
        switch outcome {
        case .success(let search):
          guard let since else { return next(service, search, nil) }
          var former = call
          former.asOf = since.description
          service.find(former, wanted, interruption) { service, outcome in
            switch outcome {
            case .success(let former):
              let isOther = since.number <= search.synonyms.after
              next(service, search, isOther ? former.withOtherSynonyms() : former)
            case .failure(let error) where interruption.reason != nil:
              service.finish(request, .failure(error))
            // After any other error of the search at `since`, the client starts over.
            case .failure: next(service, search, nil)
            }
          }
        case .failure(let error): service.finish(request, .failure(error))
        }
      }
    }
  }

  private func find(
    _ call: SearchCall,
    _ wanted: SearchRequest,
    _ interruption: Interruption,
    completion: @escaping @Sendable (isolated Service, Result<ObservedSearch, RPCError>) -> Void
  ) {
    let bytesMax = limits.answerBytesMax
    withSearch(call, wanted, interruption) { answer, index in
      guard !answer.isVolatile else { throw Self.volatile }
      return try answer.observed(
        try answer.search(wanted, index),
        try index.usedSynonyms(wanted),
        bytesMax: bytesMax
      )
    } completion: { service, outcome in
      completion(service, outcome)
    }
  }

  /// The first and the longest pause in milliseconds before failed searches are run again.
  private static let retryMilliseconds = (least: 250, most: 5000)

  private static var volatile: StoreError {
    StoreError(
      .invalidRequest,
      "observe: the values of now() and random: are not part of a commit",
      hint: "Send the time as an argument"
    )
  }

  /// Runs the observed searches again after a change of the synonyms.
  func lookForSynonyms(_ digest: String?) {
    guard let digest, digest != observing.synonyms else { return }
    observing.synonyms = digest
    guard observing.registry.hasSearches else { return }
    // The index records the position of the change for clients that resume.
    index.follow()
    refreshSearches()
  }

  /// Returns the connection's searches for which the client does not have the newest result.
  func olderSearches(of observed: ObservedState) -> [Registration.Search] {
    observed.formerViews.compactMap { subscription, former in
      guard let observation = observing.registry.observation(subscription.observation),
        observation.query.followsIndex
      else { return nil }
      return Registration.Search(
        number: subscription.number,
        result: former.result,
        observation: observation
      )
    }
  }

  /// Runs the observed searches again, and reports the differences.
  ///
  /// If a run has already begun, a further run follows, because the index may have advanced since.
  ///
  /// - Parameter work: The work after a run that begins after this call; nil for none.
  func refreshSearches(_ work: (@Sendable (isolated Service) -> Void)? = nil) {
    if let work { observing.afterSearches.append(work) }
    guard !observing.isSearching else {
      observing.searchesAgain = true
      return
    }
    let waiting = observing.afterSearches
    observing.afterSearches = []
    let known = observing.registry.searches()
    guard !known.isEmpty else {
      for work in waiting { work(self) }
      return
    }
    observing.isSearching = true
    let runs = known.map { affected in (affected, Result { try self.run(of: affected) }) }
    let (limits, rules) = (limits, indexRules)
    searches.search(
      { searcher, reader in
        try searcher.snapshot { index in
          try self.snapshot(reader, at: index.token, nil) { snapshot in
            var found: [String: ObservedSearch] = [:]
            return try runs.map { affected, run in
              try Self.refreshed(affected, run, &found, index, snapshot, rules, limits)
            }
          }
        }
      },
      completion: { outcome in
        self.onLoop { service in service.searched(outcome, waiting) }
      }
    )
  }

  private func run(
    of affected: SubscriptionRegistry.Affected
  ) throws -> (call: SearchCall, wanted: SearchRequest) {
    guard case .search(let call) = affected.observation.request.target else {
      throw RPCError(.internalError, "An observed search has no search")
    }
    return (call, try searchRequest(call))
  }

  /// Runs one search again; an error of the search ends only the subscriptions of that search.
  ///
  /// - Parameters:
  ///   - affected: The observation of the search.
  ///   - run: The search.
  ///   - found: The results of the same run by the text of the request, so that equal searches of
  ///     several clients run once.
  ///   - index: A snapshot of the index.
  ///   - snapshot: A snapshot of the store.
  ///   - rules: The rules that decide which parts of the objects are indexed.
  ///   - limits: The limits of the service.
  /// - Returns: The result.
  /// - Throws: The errors of the store and of the index.
  private static func refreshed(
    _ affected: SubscriptionRegistry.Affected,
    _ run: Result<(call: SearchCall, wanted: SearchRequest), any Error>,
    _ found: inout [String: ObservedSearch],
    _ index: IndexSnapshot,
    _ snapshot: StoreSnapshot,
    _ rules: IndexRules,
    _ limits: Limits
  ) throws -> Refreshed {
    let interruption = Interruption(secondsMax: Double(limits.liveSearchSecondsMax))
    do {
      let (call, wanted) = try run.get()
      let text = "\(call.positionEncoding) \(affected.observation.request.text)"
      let search: ObservedSearch
      if let known = found[text] {
        search = known
      } else {
        search = try index.stopping(by: interruption) { index in
          try snapshot.stopping(by: interruption) {
            let answer = try SearchAnswer(call, wanted, snapshot, rules, token: index.token)
            return try answer.completing(index) { index in
              try answer.observed(
                try answer.search(wanted, index),
                try index.usedSynonyms(wanted),
                bytesMax: limits.answerBytesMax
              )
            }
          }
        }
        found[text] = search
      }
      let observation = affected.observation
      let differs = try search.differs(from: observation.result, observation.request.mode)
      return Refreshed(number: affected.number, outcome: .success(differs ? search : nil))
    } catch {
      if error is UnsealedChanges || error is SpotlightError { throw error }
      let failure = StoreError(any: error)
      // Only these errors concern the search. All other errors come from the store or the index.
      let isOwn =
        [.limitExceeded, .internalError, .timedOut].contains(failure.code) || error is RPCError
      guard isOwn else { throw error }
      let end = error as? RPCError ?? RPCError(failure)
      return Refreshed(number: affected.number, outcome: .failure(end))
    }
  }

  private func searched(
    _ outcome: Result<[Refreshed], RPCError>,
    _ waiting: [@Sendable (isolated Service) -> Void]
  ) {
    // The results must not change while a step is running, because the step has already read them.
    guard !observing.isStepping else {
      return observing.afterStep.append { service in service.searched(outcome, waiting) }
    }
    observing.isSearching = false
    switch outcome {
    case .success(let refreshed):
      observing.searchPause = 0
      for search in refreshed { take(search) }
    case .failure(let error):
      let (least, most) = Self.retryMilliseconds
      if observing.searchPause == 0 {
        log.warning(
          "Observed searches could not be run again; trying later",
          metadata: ["error": "\(error.message)"]
        )
      }
      observing.searchPause = min(max(least, 2 * observing.searchPause), most)
      // The error may mean that an external client has made too many changes for the snapshot to
      // hide. Sealing these changes as a commit makes the next run possible.
      if error.code == ErrorName.storeBusy.code { lookForCommits() }
      onLoop(afterMilliseconds: observing.searchPause) { service in service.refreshSearches() }
    }
    for work in waiting { work(self) }
    guard observing.searchesAgain || !observing.afterSearches.isEmpty else { return }
    observing.searchesAgain = false
    refreshSearches()
  }

  /// Records the result of a search, which the next step reports.
  private func take(_ refreshed: Refreshed) {
    let subscribers = observing.registry.subscribers(of: refreshed.number)
    switch refreshed.outcome {
    case .success(nil): break
    case .success(let search?):
      guard let replaced = observing.registry.set(search.live, of: refreshed.number) else { return }
      let former = KeptResult(replaced, budget)
      for subscriber in subscribers {
        guard let session = sessions[subscriber.session] else { continue }
        afterUpdate(session) { service in
          guard let session = service.session(of: subscriber, to: refreshed.number),
            let position = service.observing.position
          else { return }
          session.observed.fallBehind(subscriber.number, with: former, at: position)
          if !session.isWritable { session.observed.isBlocked = true }
          service.observing.withNews.insert(session.number)
          service.markChanged(session)
        }
      }
    case .failure(let error):
      for subscriber in subscribers {
        guard let session = sessions[subscriber.session] else { continue }
        afterUpdate(session) { service in
          guard let session = service.session(of: subscriber, to: refreshed.number) else { return }
          service.end(subscriber.number, of: session, .end(error))
        }
      }
    }
  }

  /// Returns the connection of a subscription; nil if the subscription now has a different
  /// observation.
  private func session(of subscriber: Subscriber, to observation: Int) -> Session? {
    guard let session = sessions[subscriber.session],
      let index = session.observed.index(of: subscriber.number),
      session.observed.subscriptions[index].observation == observation
    else { return nil }
    return session
  }

  /// Reports the differences of a connection's searches at the newest position of the index.
  func flushSearches(
    of connection: Int,
    _ next: @escaping @Sendable (isolated Service, (any Error)?) -> Void
  ) {
    guard observing.registry.hasSearches else { return next(self, nil) }
    refreshSearches { service in
      service.update(connection) { error in
        service.onLoop { service in next(service, error) }
      }
    }
  }
}
