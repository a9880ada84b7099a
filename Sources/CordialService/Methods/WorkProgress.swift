import CordialProtocol
import Interruptions
import JSON
import JSONRPC
import ProtocolSchemas
import Spotlight
import Synchronization

extension IndexActivity.Step {
  /// The step in words.
  var text: String {
    switch self {
    case .reading(let commit): "reading the commits after \(commit)"
    case .building(let objects): "building it anew, \(objects) objects read"
    }
  }
}

/// The progress of one request, sent in at most ten `$/progress` reports a second.
final class WorkProgress: Sendable {
  private let token: JSONValue
  private let title: String
  private let clock: @Sendable () -> Int64
  private let send: @Sendable ([UInt8]) -> Void
  /// The time of the last report, in microseconds.
  private let reported = Mutex<Int64?>(nil)

  private static let pauseMicroseconds: Int64 = 100_000

  /// Creates the progress of a request.
  ///
  /// - Parameters:
  ///   - token: The client's `workDoneToken`.
  ///   - title: The name of the work.
  ///   - clock: A clock in microseconds.
  ///   - send: Sends a message. May be called on any thread; the messages keep the order of the
  ///     calls.
  init(
    token: JSONValue,
    title: String,
    clock: @escaping @Sendable () -> Int64,
    send: @escaping @Sendable ([UInt8]) -> Void
  ) {
    self.token = token
    self.title = title
    self.clock = clock
    self.send = send
  }

  func begin() {
    send(.object([.kind: "begin", .title: .string(title), .percentage: 0, .cancellable: true]))
  }

  /// Reports the progress, unless the last report was sent within the minimum pause.
  ///
  /// - Parameters:
  ///   - done: The number of steps that are done.
  ///   - count: The number of all steps, as far as it is known.
  ///   - what: The name of the steps for a message; nil for no message.
  func report(_ done: Int, of count: Int, _ what: String? = nil) {
    let now = clock()
    let isDue = reported.withLock { reported in
      if let last = reported, now - last < Self.pauseMicroseconds { return false }
      reported = now
      return true
    }
    guard isDue else { return }
    let percentage = min(99, done * 100 / max(count, done, 1))
    let message = what.map { [JSONMember(.message, .string("\(done) \($0)"))] } ?? []
    send(
      .object(
        [JSONMember(.kind, "report")] + message
          + [JSONMember(.percentage, .integer(Int64(percentage)))]
      )
    )
  }

  func end() { send(.object([.kind: "end"])) }

  private func send(_ value: JSONValue) {
    let params: JSONValue = .object([.token: token, .value: value])
    send(MessageWriter.notification("$/progress", Array(params.text.utf8)))
  }
}

extension Service {
  /// Begins to report the progress of a request, if its client sent a `workDoneToken`.
  ///
  /// - Parameters:
  ///   - request: The request.
  ///   - title: The name of the work.
  /// - Returns: The progress, which ends before the response; nil without a `workDoneToken`.
  /// - Throws: `RPCError` for a token that is neither a string nor an integer.
  func beginProgress(of request: Request, _ title: String) throws(RPCError) -> WorkProgress? {
    guard let token = request.params[.workDoneToken], !token.isNull else { return nil }
    guard token.string != nil || token.integer != nil else {
      throw RPCError(
        .invalidParams,
        "\(request.method.name): workDoneToken wants a string or an integer"
      )
    }
    let progress = WorkProgress(token: token, title: title, clock: facts.clock) { message in
      self.onLoop { service in
        guard let session = service.sessions[request.session] else { return }
        service.notify(MessageBytes(message), session)
      }
    }
    progress.begin()
    return progress
  }

  /// Returns the work of a request, with its interruption and its progress.
  func work(of request: Request, _ progress: WorkProgress?) -> LongWork {
    let interruption = interruption(of: request)
    guard let progress else { return LongWork(interruption) }
    return LongWork(interruption) { done, count in progress.report(done, of: count) }
  }
}
