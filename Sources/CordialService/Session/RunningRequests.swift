import CordialProtocol
import Interruptions
import JSONRPC
import ProtocolSchemas

/// The running requests of a connection that can be stopped.
struct RunningRequests {
  private struct Running {
    let serial: Int
    let id: RequestID
    let method: Method
    /// The key of the subscription for which the request searches; nil for none.
    let key: String?
    let interruption: Interruption
  }

  private var requests: [Running] = []

  /// Returns the interruption of a request.
  ///
  /// The first call adds the request, which stays until `remove`.
  ///
  /// - Parameters:
  ///   - request: The request.
  ///   - key: The key of the subscription for which the request searches; nil for none.
  ///   - secondsMax: The time limit of the request, in seconds; nil for none.
  /// - Returns: The interruption.
  mutating func interruption(
    of request: Request,
    key: String?,
    secondsMax: Double?
  ) -> Interruption {
    if let known = requests.first(where: { $0.serial == request.serial }) {
      return known.interruption
    }
    let interruption = Interruption(secondsMax: secondsMax)
    requests.append(
      Running(
        serial: request.serial,
        id: request.id,
        method: request.method,
        key: key,
        interruption: interruption
      )
    )
    return interruption
  }

  /// Returns the interruption of the running request of a method; nil if no such request runs.
  func interruption(of method: Method) -> Interruption? {
    requests.first { $0.method === method }?.interruption
  }

  /// Removes a request, if it was added.
  mutating func remove(_ serial: Int) {
    requests.removeAll { $0.serial == serial }
  }

  /// Stops a request that its client cancels.
  func cancel(_ id: RequestID) {
    for request in requests where request.id == id { request.interruption.stop(.cancelled) }
  }

  /// Stops the searches for a subscription key, because a later `observe` with that key replaces
  /// them.
  func cancel(key: String) {
    for request in requests where request.key == key { request.interruption.stop(.cancelled) }
  }

  /// Stops the requests that must not delay the end of the service.
  func stopWithService() {
    for request in requests where request.method.traits.contains(.endsWithService) {
      request.interruption.stop(.closing)
    }
  }

  /// Stops all requests.
  func stopAll(_ reason: Interruption.Reason) {
    for request in requests { request.interruption.stop(reason) }
  }
}
