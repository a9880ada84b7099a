import CordialProtocol
import CordialValues
import Interruptions
import JSON
import JSONRPC
import ObjectModel
import PersistentHistory
import PersistentStore
import ProtocolSchemas
import Spotlight
import Synchronization

extension Service {
  /// The time for which a search without `at` waits for the newest commit, in milliseconds.
  static let freshnessMilliseconds = 100

  /// Checks the length of a query.
  private func check(_ query: String) throws {
    guard query.utf8.count <= limits.queryBytesMax else {
      throw Limits.exceeded(
        "queryBytes",
        max: limits.queryBytesMax,
        "A query may have at most \(limits.queryBytesMax) bytes"
      )
    }
  }

  func suggest(_ call: SuggestCall, _ request: Request) throws {
    try check(call.query)
    let wanted = SearchRequest(
      query: call.query,
      entities: try call.entities.map { try EntityNames.numbers($0, in: store.model) },
      isPrefix: false,
      offset: 0,
      limit: call.limit,
      wordsMax: limits.queryWordsMax
    )
    index.follow(to: newestCommit)
    let interruption = interruption(of: request)
    whenIndexed(
      newestCommit,
      milliseconds: Self.freshnessMilliseconds,
      interruption
    ) { service, _ in
      service.withSearch(SearchCall(query: call.query), wanted, interruption) { answer, index in
        let suggestions = try answer.suggestions(wanted, index)
        var writer = JSONWriter()
        MessageWriter.beginResult(request.id, &writer)
        let result = SuggestCall.Result(
          token: index.token.description,
          suggestions: suggestions.map {
            .init(text: $0.text, kind: $0.kind.rawValue, documents: $0.documents)
          }
        )
        writer.value(result.json)
        writer.raw("}")
        return MessageBytes(writer)
      } completion: { service, outcome in
        service.finish(request, outcome)
      }
    }
  }

  /// Returns the parameters of a search.
  ///
  /// - Parameters:
  ///   - call: The search.
  ///   - wantsAll: Whether the search collects all hits; a search with facets always does.
  /// - Returns: The parameters.
  /// - Throws: `RPCError` for a query that is too long, and for an unknown entity.
  func searchRequest(_ call: SearchCall, wantsAll: Bool = false) throws -> SearchRequest {
    try check(call.query)
    return SearchRequest(
      query: call.query,
      match: Self.match(call.match),
      entities: try call.entities.map { try EntityNames.numbers($0, in: store.model) },
      isPrefix: call.has(\.isPrefix),
      isFuzzy: call.has(\.isFuzzy),
      hasReadings: call.has(\.hasReadings),
      offset: call.offset,
      limit: call.hitsMax,
      wordsMax: limits.queryWordsMax,
      wantsAll: wantsAll || call.facets != nil,
      explains: call.explains
    )
  }

  private static func match(_ match: SearchCall.Match) -> SearchRequest.Match {
    switch match {
    case .forgiving: .forgiving
    case .all: .all
    case .any: .any
    }
  }

  func search(_ call: SearchCall, _ request: Request) throws {
    let wanted = try searchRequest(call)
    var call = call
    call.positionEncoding = sessions[request.session]?.positionEncoding ?? .utf16
    let start = facts.clock()
    try whenIndexed(call, request) { [call] service in
      service.run(wanted, call, start: start, request)
    }
  }

  /// Calls `next` once the index has reached the commit that a search names, or the newest commit.
  func whenIndexed(
    _ call: SearchCall,
    _ request: Request,
    _ next: @escaping @Sendable (isolated Service) -> Void
  ) throws {
    index.follow(to: newestCommit)
    guard let at = call.at ?? call.asOf else {
      // An index without a position has no documents yet, so the search waits longer for it.
      let isNew = index.status.token == nil
      let milliseconds = isNew ? limits.waitMax : Self.freshnessMilliseconds
      return whenIndexed(
        newestCommit,
        milliseconds: milliseconds,
        interruption(of: request)
      ) { service, _ in next(service) }
    }
    guard let token = StoreToken(at) else {
      throw RPCError(.invalidParams, "\(request.method.name): \"\(at.excerpt)\" is not a token")
    }
    let interruption = interruption(of: request)
    try whenVisible(at, request) { service in
      service.index.follow(to: token.number)
      service.whenIndexed(
        token.number,
        milliseconds: service.limits.waitMax,
        interruption
      ) { service, reached in
        guard reached || interruption.reason != nil else {
          return service.finish(request, .failure(RPCError(late: service.index.lateness(at))))
        }
        next(service)
      }
    }
  }

  /// Calls `next` with true once the index has reached a commit; with false after a time limit, or
  /// if the request is stopped.
  func whenIndexed(
    _ number: Int64,
    milliseconds: Int,
    _ interruption: Interruption,
    _ next: @escaping @Sendable (isolated Service, Bool) -> Void
  ) {
    let waiter = index.whenReached(number) { reached in
      self.onLoop { service in
        interruption.whenStopped(nil)
        next(service, reached)
      }
    }
    guard let waiter else { return }
    let index = index
    interruption.whenStopped { index.cancelWait(waiter) }
    loop.schedule(milliseconds: milliseconds) { index.cancelWait(waiter) }
  }

  /// Runs a body with a search, a snapshot of the index and a snapshot of the store.
  ///
  /// - Parameters:
  ///   - call: The search.
  ///   - wanted: The parameters of the search.
  ///   - interruption: The interruption of the search.
  ///   - body: Receives the search and the snapshot of the index, on a thread for searches.
  ///   - completion: Called on the loop, with the result of the body.
  nonisolated func withSearch<Output: Sendable>(
    _ call: SearchCall,
    _ wanted: SearchRequest,
    _ interruption: Interruption,
    _ body: @escaping @Sendable (SearchAnswer, IndexSnapshot) throws -> Output,
    completion: @escaping @Sendable (isolated Service, Result<Output, RPCError>) -> Void
  ) {
    let past = call.asOf.flatMap { StoreToken($0) }
    // An observed search must return the same result as a later search of the same commit.
    let isExact = call.isObserved
    let rules = indexRules
    searches.search(
      // The index's snapshot comes first, so that the store's snapshot is never older.
      { searcher, reader in
        try searcher.snapshot(
          asOf: past,
          isResuming: isExact,
          interruption: interruption
        ) { index in
          func answer(_ snapshot: StoreSnapshot) throws -> Output {
            let answer = try SearchAnswer(call, wanted, snapshot, rules, token: index.token)
            return try answer.completing(index) { try body(answer, $0) }
          }
          if let past {
            return try reader.snapshot(asOf: past, interruption: interruption, answer)
          }
          if isExact { return try self.snapshot(reader, at: index.token, interruption, answer) }
          return try reader.snapshot(
            hidingUnsealed: true,
            interruption: interruption
          ) { snapshot in
            if snapshot.hidesUnsealedChanges { self.lookForCommits() }
            return try answer(snapshot)
          }
        }
      },
      completion: { outcome in
        // This error means that the store has too many unsealed changes to hide, so the service
        // seals them.
        if case .failure(let error) = outcome, error.code == ErrorName.storeBusy.code {
          self.lookForCommits()
        }
        self.onLoop { service in completion(service, outcome) }
      }
    )
  }

  /// Reads the store as of the position of the index, or the present state of the store if the
  /// history no longer has that position.
  nonisolated func snapshot<Output>(
    _ reader: StoreReader,
    at token: StoreToken,
    _ interruption: Interruption?,
    _ body: (StoreSnapshot) throws -> Output
  ) throws -> Output {
    let newest = try reader.snapshot(
      hidingUnsealed: true,
      interruption: interruption
    ) { snapshot -> Output? in
      if snapshot.hidesUnsealedChanges { self.lookForCommits() }
      return snapshot.token == token ? try body(snapshot) : nil
    }
    if let newest { return newest }
    do {
      return try reader.snapshot(asOf: token, interruption: interruption, body)
    } catch let error as StoreError where error.code == .historyExpired {
      return try reader.snapshot(hidingUnsealed: true, interruption: interruption, body)
    }
  }

  private func run(
    _ wanted: SearchRequest,
    _ call: SearchCall,
    start: Int64,
    _ request: Request
  ) {
    let facts = facts
    let bytesMax = limits.answerBytesMax
    withSearch(call, wanted, interruption(of: request)) { answer, index in
      var writer = JSONWriter(
        reserving: 4096,
        pieceBytes: Limits.pieceBytes,
        meter: request.share
      )
      MessageWriter.beginResult(request.id, &writer)
      try answer.write(
        try answer.search(wanted, index),
        microseconds: { facts.clock() - start },
        bytesMax: bytesMax,
        to: &writer
      )
      writer.raw("}")
      return MessageBytes(writer)
    } completion: { service, outcome in
      service.finish(request, outcome)
    }
  }
}
