import CordialProtocol
import Interruptions
import JSON
import JSONRPC
import ObjectModel
import PersistentHistory
import PersistentStore
import ProtocolSchemas
import Spotlight

extension Service {
  /// Begins a request, whose response follows now or later.
  ///
  /// - Throws: The error of a request that cannot begin.
  func begin(_ request: Request, _ session: Session) throws {
    let params = request.params
    switch request.method.kind {
    case .initialize: try initialize(try InitializeCall.read(params), session, request)
    case .shutdown:
      _ = try ShutdownCall.read(params)
      finish(request, result: nil)
    case .fetch: try fetch(try FetchCall.read(try expanded(params)), request)
    case .save: try save(try SaveCall.read(params), session, request)
    case .delete: try delete(try DeleteCall.read(params), session, request)
    case .update: try update(try UpdateCall.read(params), session, request)
    case .undo: try revert(.undo, try UndoCall.read(params).params, session, request)
    case .redo: try revert(.redo, try RedoCall.read(params).params, session, request)
    case .observe:
      let params = try expanded(observed: params)
      let text = ObservedRequest.text(of: params)
      try observe(try ObserveCall.read(params), text, session, request)
    case .unobserve: try unobserve(try UnobserveCall.read(params), session, request)
    case .flush:
      _ = try FlushCall.read(params)
      flush(session, request)
    case .listSubscriptions:
      _ = try ListSubscriptionsCall.read(params)
      listSubscriptions(request)
    case .search: try search(try SearchCall.read(params), request)
    case .explainSearch: try explainSearch(try SearchExplainCall.read(params), request)
    case .suggest: try suggest(try SuggestCall.read(params), request)
    case .indexStatus:
      _ = try IndexStatusCall.read(params)
      indexStatus(request)
    case .verifyIndex:
      _ = try IndexVerifyCall.read(params)
      try indexVerify(request)
    case .rebuildIndex:
      _ = try IndexRebuildCall.read(params)
      try order(.rebuild, request)
    case .pauseIndex:
      _ = try IndexPauseCall.read(params)
      try order(.pause, request)
    case .resumeIndex:
      _ = try IndexResumeCall.read(params)
      try order(.resume, request)
    case .history: try history(try HistoryCall.read(params), request)
    case .purgeHistory: try purge(try PurgeCall.read(params), request)
    case .registerFollower: try register(try RegisterFollowerCall.read(params), request)
    case .acknowledge: try acknowledge(try AcknowledgeCall.read(params), request)
    case .listFollowers:
      _ = try ListFollowersCall.read(params)
      listFollowers(request)
    case .removeFollower: removeFollower(try RemoveFollowerCall.read(params), request)
    case .model:
      _ = try ModelCall.read(params)
      finish(request, result: store.model.document)
    case .status:
      _ = try StatusCall.read(params)
      status(request)
    case .backupStore: try backup(try BackupCall.read(params), request)
    case .verifyStore:
      _ = try VerifyCall.read(params)
      try verify(request)
    case .compactStore:
      _ = try CompactCall.read(params)
      try compact(request)
    case .discover:
      _ = try DiscoverCall.read(params)
      finish(request, result: OpenRPC.document)
    case .initialized, .exit, .cancelRequest, .setTrace, .changes:
      throw RPCError(.methodNotFound, "\(request.method.name) is a notification")
    }
  }

  /// Returns the params of a fetch, with the names of stored requests and selections replaced by
  /// their contents.
  nonisolated func expanded(_ params: JSONValue) throws(RPCError) -> JSONValue {
    let model = store.model
    return try FetchCall.expand(params) { name in
      model.templates.first { $0.name == name }?.params
    } selection: { name, entity in
      model.values.first { $0.name == name && $0.entity == entity }?.select
    }
  }

  /// Returns the params of an `observe`, with the stored names in its fetch replaced.
  nonisolated func expanded(observed params: JSONValue) throws(RPCError) -> JSONValue {
    guard let fetch = params[.fetch], let members = params.members else { return params }
    let whole = try expanded(fetch)
    return .object(
      members.map { $0.isOne(of: .fetch) ? JSONMember(.fetch, whole) : $0 }
    )
  }

  /// Reads on a thread of the store and answers a request with the output of a body.
  ///
  /// - Parameters:
  ///   - request: The request to answer.
  ///   - progress: The progress of the request, which ends before the response; nil for none.
  ///   - body: Writes the result. It runs on another thread, possibly more than once.
  func read(
    _ request: Request,
    _ progress: WorkProgress? = nil,
    _ body: @escaping @Sendable (StoreSnapshot, inout JSONWriter) throws -> Void
  ) {
    snapshot(for: request) { snapshot in
      var writer = JSONWriter(
        reserving: 4096,
        pieceBytes: Limits.pieceBytes,
        meter: request.share
      )
      MessageWriter.beginResult(request.id, &writer)
      try body(snapshot, &writer)
      writer.raw("}")
      return MessageBytes(writer)
    } completion: { outcome in
      progress?.end()
      self.onLoop { service in
        service.finish(request, outcome)
      }
    }
  }

  /// Reads on a thread of the store, after the changes of external SQLite clients are sealed.
  ///
  /// - Parameters:
  ///   - request: The request for which the body reads; its interruption stops the body.
  ///   - readers: The readers that the body may use.
  ///   - body: Reads the snapshot. It runs on another thread, possibly more than once.
  ///   - completion: Called on any thread with the result of the body.
  func snapshot<Answer: Sendable>(
    for request: Request,
    of readers: Readers = .present,
    _ body: @escaping @Sendable (StoreSnapshot) throws -> Answer,
    completion: @escaping @Sendable (Result<Answer, RPCError>) -> Void
  ) {
    let interruption = interruption(of: request)
    let turn = ReadTurn(source: request.session, interruption: interruption)
    snapshot(of: readers, turn, attempt: 0, body, completion: completion)
  }

  /// Reads as `snapshot(for:of:_:completion:)` does, for the client and with the interruption of a
  /// turn.
  nonisolated func snapshot<Answer: Sendable>(
    for turn: ReadTurn,
    _ body: @escaping @Sendable (StoreSnapshot) throws -> Answer,
    completion: @escaping @Sendable (Result<Answer, RPCError>) -> Void
  ) {
    snapshot(of: .present, turn, attempt: 0, body, completion: completion)
  }

  /// Reads as `snapshot(for:of:_:completion:)` does, for work that the service starts itself.
  nonisolated func snapshot<Answer: Sendable>(
    _ body: @escaping @Sendable (StoreSnapshot) throws -> Answer,
    completion: @escaping @Sendable (Result<Answer, RPCError>) -> Void
  ) {
    snapshot(of: .present, .ofService, attempt: 0, body, completion: completion)
  }

  /// The set of store connections that serve a read: for the present state, or for past commits.
  enum Readers {
    case present, past
  }

  private nonisolated func snapshot<Answer: Sendable>(
    of readers: Readers,
    _ turn: ReadTurn,
    attempt: Int,
    _ body: @escaping @Sendable (StoreSnapshot) throws -> Answer,
    completion: @escaping @Sendable (Result<Answer, RPCError>) -> Void
  ) {
    let work = { @Sendable (reader: Result<StoreReader, StoreError>) in
      do {
        // After several attempts, the read ignores unsealed changes. Otherwise, an external client
        // that writes without pause would delay the read forever.
        let hides = self.store.isReadOnly || attempt >= Self.sealingAttemptsMax
        let answer = try reader.get().snapshot(
          hidingUnsealed: hides,
          interruption: turn.interruption,
          body
        )
        completion(.success(answer))
      } catch is UnsealedChanges {
        self.seal { succeeded in
          let next = succeeded ? attempt + 1 : Self.sealingAttemptsMax
          self.snapshot(of: readers, turn, attempt: next, body, completion: completion)
        }
      } catch {
        completion(.failure(RPCError(any: error)))
      }
    }
    switch readers {
    case .present: store.read(turn, work)
    case .past: store.readPast(turn, work)
    }
  }

  /// The maximum number of seals for one read, after which the read uses the newest sealed commit.
  private static let sealingAttemptsMax = 3

  /// Seals the changes of external SQLite clients, and reports the commit to the followers.
  ///
  /// - Parameter completion: Called on any thread; receives whether the changes were sealed.
  nonisolated func seal(_ completion: @escaping @Sendable (Bool) -> Void) {
    store.seal { outcome in
      guard case .success(let number) = outcome else { return completion(false) }
      self.onLoop { service in service.committed(number) }
      completion(true)
    }
  }
}
