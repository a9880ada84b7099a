import CordialProtocol
import CordialValues
import Interruptions
import JSON
import JSONRPC
import PersistentHistory
import PersistentStore
import ProtocolSchemas

extension Service {
  /// The maximum number of objects that are looked up by key on the loop.
  private static let loopObjectsMax = 16

  /// The maximum total length of the IDs that are looked up on the loop, in bytes.
  private static let loopIDBytesMax = 4096

  /// Returns whether the params of a fetch name few enough objects to look up on the loop.
  static func namesFewObjects(_ params: JSONValue) -> Bool {
    guard let ids = params[.ids]?.array else { return false }
    let others: [MemberName] = [.select, .at, .asOf, .include]
    return areFew(ids.lazy.map { $0.string ?? "" }) && others.allSatisfy { params[$0] == nil }
  }

  private static func areFew(_ ids: some Collection<String>) -> Bool {
    ids.count <= loopObjectsMax && ids.reduce(0) { $0 + $1.utf8.count } <= loopIDBytesMax
  }

  func fetch(_ call: FetchCall, _ request: Request) throws {
    if let ids = call.ids, Self.areFew(ids), call.select == nil, call.at == nil,
      call.asOf == nil, call.include.isEmpty,
      let message = try fetchOnLoop(call, request)
    {
      return finish(request, .success(message))
    }
    if let asOf = call.asOf { return try fetch(call, asOf: asOf, request) }
    let bytesMax = limits.answerBytesMax
    guard let at = call.at else {
      return read(request) { snapshot, writer in
        try FetchAnswer.write(call, snapshot, bytesMax: bytesMax, to: &writer)
      }
    }
    try whenVisible(at, request) { service in
      service.read(request) { snapshot, writer in
        try FetchAnswer.write(call, snapshot, bytesMax: bytesMax, to: &writer)
      }
    }
  }

  /// Fetches a result as of a past commit.
  private func fetch(_ call: FetchCall, asOf text: String, _ request: Request) throws {
    let token = try token(text, request)
    let bytesMax = limits.answerBytesMax
    let interruption = interruption(of: request)
    store.readPast(ReadTurn(source: request.session, interruption: interruption)) { reader in
      let outcome = Result { () throws(RPCError) in
        do {
          return try reader.get().snapshot(asOf: token, interruption: interruption) { snapshot in
            try call.checkDeterminism(in: snapshot, of: "fetch: asOf")
            var writer = JSONWriter(
              reserving: 4096,
              pieceBytes: Limits.pieceBytes,
              meter: request.share
            )
            MessageWriter.beginResult(request.id, &writer)
            try FetchAnswer.write(call, snapshot, bytesMax: bytesMax, to: &writer)
            writer.raw("}")
            return MessageBytes(writer)
          }
        } catch {
          throw RPCError(any: error)
        }
      }
      self.onLoop { service in service.finish(request, outcome) }
    }
  }

  /// Returns the token that a client sent.
  ///
  /// - Throws: `RPCError` with the code `invalidParams` for a text that is not a token.
  private func token(_ text: String, _ request: Request) throws(RPCError) -> StoreToken {
    guard let token = StoreToken(text) else {
      throw RPCError(.invalidParams, "\(request.method.name): \"\(text.excerpt)\" is not a token")
    }
    return token
  }

  /// The maximum length of a response that the loop writes, in bytes.
  private static let loopBytesMax = 1 << 20

  /// Fetches objects by ID on the loop, without a change of threads.
  ///
  /// - Returns: The response; nil if another thread has to fetch, because changes have to be
  ///   sealed, a value is long, or the whole response is long.
  private func fetchOnLoop(_ call: FetchCall, _ request: Request) throws -> MessageBytes? {
    do {
      if let id = call.ids?.first, call.ids?.count == 1 {
        var writer = JSONWriter(reserving: 1024)
        MessageWriter.beginResult(request.id, &writer)
        if try FetchAnswer.write(id, loopReader, to: &writer) {
          writer.raw("}")
          return writer.count <= Self.loopBytesMax ? MessageBytes(writer) : nil
        }
      }
      return try loopReader.snapshot { snapshot in
        var writer = JSONWriter(reserving: 1024)
        MessageWriter.beginResult(request.id, &writer)
        let bytesMax = min(Self.loopBytesMax, limits.answerBytesMax)
        try FetchAnswer.write(call, snapshot, bytesMax: bytesMax, to: &writer)
        writer.raw("}")
        return writer.count <= Self.loopBytesMax ? MessageBytes(writer) : nil
      }
    } catch is UnsealedChanges {
      return nil
    } catch is LongValue {
      return nil
    } catch let error as StoreError where error.code == .limitExceeded {
      return nil
    }
  }

  /// Runs `next` as soon as a commit is visible.
  ///
  /// Another process may still be committing when the request arrives.
  func whenVisible(
    _ text: String,
    _ request: Request,
    waited: Int = 0,
    _ next: @escaping @Sendable (isolated Service) -> Void
  ) throws {
    let token = try token(text, request)
    // The time limit of the request does not run while the request waits for the commit.
    try interruption(of: request).check()
    snapshot { snapshot in
      guard token.generation != snapshot.token.generation || token.number <= snapshot.head.number
      else { return false }
      _ = try snapshot.position(of: token)
      return true
    } completion: { outcome in
      self.onLoop { service in
        switch outcome {
        case .success(true): next(service)
        case .success(false):
          service.waitForCommit(text, request, waited: waited, next)
        case .failure(let error): service.finish(request, .failure(error))
        }
      }
    }
  }

  private func waitForCommit(
    _ text: String,
    _ request: Request,
    waited: Int,
    _ next: @escaping @Sendable (isolated Service) -> Void
  ) {
    guard waited < limits.waitMax else {
      let error = StoreError(
        .storeBusy,
        "The commit \(text) did not become visible within \(limits.waitMax) ms",
        hint: "Try again"
      )
      return finish(request, .failure(RPCError(error)))
    }
    let pause = 10
    onLoop(afterMilliseconds: pause) { service in
      do {
        try service.whenVisible(text, request, waited: waited + pause, next)
      } catch {
        service.finish(request, .failure(RPCError(any: error)))
      }
    }
  }
}
