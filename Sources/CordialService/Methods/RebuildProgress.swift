import JSON
import JSONRPC
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

/// The progress of one rebuild of the index, as `$/progress` messages, ten a second at most.
final class RebuildProgress: Sendable {
  private let token: JSONValue
  /// The number of objects of the old index.
  private let expected: Int
  private let clock: @Sendable () -> Int64
  private let send: @Sendable ([UInt8]) -> Void
  /// The time of the last report, in microseconds.
  private let reported = Mutex<Int64?>(nil)

  private static let pauseMicroseconds: Int64 = 100_000

  /// Creates the progress of a request.
  ///
  /// - Parameters:
  ///   - token: The client's `workDoneToken`.
  ///   - expected: The number of objects of the old index, from which the percentage is estimated.
  ///   - clock: A clock in microseconds.
  ///   - send: Sends a message on any thread, in the order of its calls.
  init(
    token: JSONValue,
    expected: Int,
    clock: @escaping @Sendable () -> Int64,
    send: @escaping @Sendable ([UInt8]) -> Void
  ) {
    self.token = token
    self.expected = expected
    self.clock = clock
    self.send = send
  }

  func begin() {
    send(["kind": "begin", "title": "Building a new index", "percentage": 0, "cancellable": false])
  }

  func report(_ objects: Int) {
    let now = clock()
    let isDue = reported.withLock { reported in
      if let last = reported, now - last < Self.pauseMicroseconds { return false }
      reported = now
      return true
    }
    guard isDue else { return }
    let percentage = min(99, objects * 100 / max(expected, objects, 1))
    send([
      "kind": "report", "message": .string("\(objects) objects"),
      "percentage": .integer(Int64(percentage)),
    ])
  }

  func end() { send(["kind": "end"]) }

  private func send(_ value: JSONValue) {
    let params: JSONValue = ["token": token, "value": value]
    send(MessageWriter.notification("$/progress", Array(params.text.utf8)))
  }
}
