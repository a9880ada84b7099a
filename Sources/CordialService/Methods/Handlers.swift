package import CordialProtocol
import Interruptions
import JSON
import JSONRPC
import ObjectModel
import PersistentHistory
import PersistentStore
import Spotlight

extension Service {
  typealias Handler = @Sendable (isolated Service, Session, Request) throws -> Void

  /// Returns whether the service has a handler for a method.
  package static func handles(_ method: Method) -> Bool {
    handlers[ObjectIdentifier(method)] != nil
  }

  /// The handler of each request in the method table.
  static let handlers: [ObjectIdentifier: Handler] = [
    ObjectIdentifier(InitializeCall.method): {
      try $0.initialize(try InitializeCall.read($2.params), $1, $2)
    },
    ObjectIdentifier(ShutdownCall.method): { service, _, request in
      _ = try ShutdownCall.read(request.params)
      service.finish(request, result: nil)
    },
    ObjectIdentifier(FetchCall.method): {
      try $0.fetch(try FetchCall.read(try $0.expanded($2.params)), $2)
    },
    ObjectIdentifier(SaveCall.method): { try $0.save(try SaveCall.read($2.params), $1, $2) },
    ObjectIdentifier(DeleteCall.method): { try $0.delete(try DeleteCall.read($2.params), $1, $2) },
    ObjectIdentifier(UpdateCall.method): { try $0.update(try UpdateCall.read($2.params), $1, $2) },
    ObjectIdentifier(UndoCall.method): {
      try $0.revert(.undo, try UndoCall.read($2.params).params, $1, $2)
    },
    ObjectIdentifier(RedoCall.method): {
      try $0.revert(.redo, try RedoCall.read($2.params).params, $1, $2)
    },
    ObjectIdentifier(ObserveCall.method): {
      try $0.observe(try ObserveCall.read(try $0.expanded(observed: $2.params)), $1, $2)
    },
    ObjectIdentifier(UnobserveCall.method): {
      try $0.unobserve(try UnobserveCall.read($2.params), $1, $2)
    },
    ObjectIdentifier(ListSubscriptionsCall.method): {
      _ = try ListSubscriptionsCall.read($2.params)
      $0.listSubscriptions($2)
    },
    ObjectIdentifier(FlushCall.method): {
      _ = try FlushCall.read($2.params)
      $0.flush($1, $2)
    },
    ObjectIdentifier(SearchCall.method): { try $0.search(try SearchCall.read($2.params), $2) },
    ObjectIdentifier(SearchExplainCall.method): {
      try $0.explainSearch(try SearchExplainCall.read($2.params), $2)
    },
    ObjectIdentifier(IndexStatusCall.method): { service, _, request in
      _ = try IndexStatusCall.read(request.params)
      service.indexStatus(request)
    },
    ObjectIdentifier(IndexVerifyCall.method): { service, _, request in
      _ = try IndexVerifyCall.read(request.params)
      try service.indexVerify(request)
    },
    ObjectIdentifier(SuggestCall.method): {
      try $0.suggest(try SuggestCall.read($2.params), $2)
    },
    ObjectIdentifier(IndexRebuildCall.method): { service, _, request in
      _ = try IndexRebuildCall.read(request.params)
      try service.order(.rebuild, request)
    },
    ObjectIdentifier(IndexPauseCall.method): { service, _, request in
      _ = try IndexPauseCall.read(request.params)
      try service.order(.pause, request)
    },
    ObjectIdentifier(IndexResumeCall.method): { service, _, request in
      _ = try IndexResumeCall.read(request.params)
      try service.order(.resume, request)
    },
    ObjectIdentifier(HistoryCall.method): { try $0.history(try HistoryCall.read($2.params), $2) },
    ObjectIdentifier(PurgeCall.method): { try $0.purge(try PurgeCall.read($2.params), $2) },
    ObjectIdentifier(RegisterFollowerCall.method): {
      try $0.register(try RegisterFollowerCall.read($2.params), $2)
    },
    ObjectIdentifier(AcknowledgeCall.method): {
      try $0.acknowledge(try AcknowledgeCall.read($2.params), $2)
    },
    ObjectIdentifier(ListFollowersCall.method): {
      _ = try ListFollowersCall.read($2.params)
      $0.listFollowers($2)
    },
    ObjectIdentifier(RemoveFollowerCall.method): {
      $0.removeFollower(try RemoveFollowerCall.read($2.params), $2)
    },
    ObjectIdentifier(ModelCall.method): {
      _ = try ModelCall.read($2.params)
      $0.finish($2, result: $0.store.model.document)
    },
    ObjectIdentifier(StatusCall.method): { service, _, request in
      _ = try StatusCall.read(request.params)
      service.status(request)
    },
    ObjectIdentifier(BackupCall.method): { try $0.backup(try BackupCall.read($2.params), $2) },
    ObjectIdentifier(VerifyCall.method): {
      _ = try VerifyCall.read($2.params)
      try $0.verify($2)
    },
    ObjectIdentifier(CompactCall.method): {
      _ = try CompactCall.read($2.params)
      try $0.compact($2)
    },
    ObjectIdentifier(DiscoverCall.method): {
      _ = try DiscoverCall.read($2.params)
      $0.finish($2, result: OpenRPC.document)
    },
  ]

  /// Returns the params of a fetch with the names of stored requests and selections replaced.
  nonisolated func expanded(_ params: JSONValue) throws(RPCError) -> JSONValue {
    let model = store.model
    return try FetchCall.expand(params) { name in
      model.templates.first { $0.name == name }?.params
    } selection: { name, entity in
      model.values.first { $0.name == name && $0.entity == entity }?.select
    }
  }

  /// Returns the params of an `observe` with the names in its fetch replaced.
  nonisolated func expanded(observed params: JSONValue) throws(RPCError) -> JSONValue {
    guard let fetch = params["fetch"], let members = params.members else { return params }
    let whole = try expanded(fetch)
    return .object(
      members.map { $0.name == "fetch" ? JSONMember("fetch", whole) : $0 }
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
  ///   - request: The request for which the body reads, which can be stopped.
  ///   - readers: The readers that the body may use.
  ///   - body: Reads. It runs on another thread, possibly more than once.
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

  /// Reads in a turn of its own, as `snapshot(for:of:_:completion:)`.
  nonisolated func snapshot<Answer: Sendable>(
    for turn: ReadTurn,
    _ body: @escaping @Sendable (StoreSnapshot) throws -> Answer,
    completion: @escaping @Sendable (Result<Answer, RPCError>) -> Void
  ) {
    snapshot(of: .present, turn, attempt: 0, body, completion: completion)
  }

  /// Reads for the service itself, as `snapshot(for:of:_:completion:)`.
  nonisolated func snapshot<Answer: Sendable>(
    _ body: @escaping @Sendable (StoreSnapshot) throws -> Answer,
    completion: @escaping @Sendable (Result<Answer, RPCError>) -> Void
  ) {
    snapshot(of: .present, .ofService, attempt: 0, body, completion: completion)
  }

  /// The readers of the store that a body may use.
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
        // An external client that writes without pause would make every attempt hit new changes.
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

  /// The number of times that a reader has changes sealed before it reads the newest sealed commit.
  private static let sealingAttemptsMax = 3

  /// Seals the changes of external SQLite clients, and reports the commit to the followers.
  ///
  /// - Parameter completion: Called on any thread with whether the changes were sealed.
  nonisolated func seal(_ completion: @escaping @Sendable (Bool) -> Void) {
    store.seal { outcome in
      guard case .success(let number) = outcome else { return completion(false) }
      self.onLoop { service in service.committed(number) }
      completion(true)
    }
  }
}
