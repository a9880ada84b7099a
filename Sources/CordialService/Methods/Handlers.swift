package import CordialProtocol
import JSON
import JSONRPC
import ObjectModel
import PersistentHistory
import PersistentStore

extension Service {
  typealias Handler = @Sendable (isolated Service, Session, Request) throws -> Void

  /// Whether the service has a handler for a method.
  package static func handles(_ method: Method) -> Bool {
    handlers[ObjectIdentifier(method)] != nil
  }

  /// One handler for each request of the method table, under its row.
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
    ObjectIdentifier(FlushCall.method): {
      _ = try FlushCall.read($2.params)
      $0.flush($1, $2)
    },
    ObjectIdentifier(SearchCall.method): { try $0.search(try SearchCall.read($2.params), $2) },
    ObjectIdentifier(IndexStatusCall.method): { service, _, request in
      _ = try IndexStatusCall.read(request.params)
      service.indexStatus(request)
    },
    ObjectIdentifier(IndexVerifyCall.method): { service, _, request in
      _ = try IndexVerifyCall.read(request.params)
      service.indexVerify(request)
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
    ObjectIdentifier(BackupCall.method): { $0.backup(try BackupCall.read($2.params), $2) },
    ObjectIdentifier(VerifyCall.method): {
      _ = try VerifyCall.read($2.params)
      $0.verify($2)
    },
    ObjectIdentifier(CompactCall.method): {
      _ = try CompactCall.read($2.params)
      $0.compact($2)
    },
    ObjectIdentifier(DiscoverCall.method): {
      _ = try DiscoverCall.read($2.params)
      $0.finish($2, result: OpenRPC.document)
    },
  ]

  /// How long a piece of a long answer is: enough for few system calls, little enough that memory
  /// which was used before can be used again.
  static let pieceBytes = 1 << 18

  /// The params of a fetch with the model's requests and selections in the place of their names.
  nonisolated func expanded(_ params: JSONValue) throws(RPCError) -> JSONValue {
    let model = store.model
    return try FetchCall.expand(params) { name in
      model.templates.first { $0.name == name }?.params
    } selection: { name, entity in
      model.values.first { $0.name == name && $0.entity == entity }?.select
    }
  }

  /// The same for the fetch that is observed.
  nonisolated func expanded(observed params: JSONValue) throws(RPCError) -> JSONValue {
    guard let fetch = params["fetch"], let members = params.members else { return params }
    let whole = try expanded(fetch)
    return .object(
      members.map { $0.name == "fetch" ? JSONMember("fetch", whole) : $0 }
    )
  }

  /// Reads on one of the store's threads and answers with what the body writes.
  ///
  /// - Parameters:
  ///   - request: The request that is answered.
  ///   - body: Writes the result; it runs on another thread, possibly more than once.
  nonisolated func read(
    _ request: Request,
    _ body: @escaping @Sendable (StoreSnapshot, inout JSONWriter) throws -> Void
  ) {
    snapshot { snapshot in
      var writer = JSONWriter(reserving: 4096, pieceBytes: Self.pieceBytes)
      MessageWriter.beginResult(request.id, &writer)
      try body(snapshot, &writer)
      writer.raw("}")
      return MessageBytes(writer)
    } completion: { outcome in
      self.onLoop { service in
        service.finish(request, outcome)
      }
    }
  }

  /// Reads on one of the store's threads, sealing first what foreign clients wrote.
  nonisolated func snapshot<Answer: Sendable>(
    attempt: Int = 0,
    _ body: @escaping @Sendable (StoreSnapshot) throws -> Answer,
    completion: @escaping @Sendable (Result<Answer, RPCError>) -> Void
  ) {
    store.read { reader in
      do {
        // An external client that writes without pause would have every attempt meet new changes.
        let hides = self.store.isReadOnly || attempt >= Self.sealingAttemptsMax
        completion(.success(try reader.get().snapshot(hidingUnsealed: hides, body)))
      } catch is UnsealedChanges {
        self.seal { succeeded in
          let next = succeeded ? attempt + 1 : Self.sealingAttemptsMax
          self.snapshot(attempt: next, body, completion: completion)
        }
      } catch {
        completion(.failure(RPCError(any: error)))
      }
    }
  }

  /// How often a reader has changes sealed before it reads the newest sealed commit.
  private static let sealingAttemptsMax = 3

  /// Has the changes of external clients sealed, and reports the commit to the followers.
  ///
  /// - Parameter completion: Called on any thread with whether it succeeded.
  nonisolated func seal(_ completion: @escaping @Sendable (Bool) -> Void) {
    store.seal { outcome in
      guard case .success(let number) = outcome else { return completion(false) }
      self.onLoop { service in service.committed(number) }
      completion(true)
    }
  }
}
