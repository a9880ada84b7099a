import CordialProtocol
import Interruptions
import ProtocolSchemas

/// The time limits and the interruptions of requests.
extension Service {
  /// Returns the interruption of a request that has begun.
  ///
  /// The client, the end of its connection, the time limit and the end of the service can stop the
  /// request.
  ///
  /// - Parameters:
  ///   - request: The request.
  ///   - key: The key of the subscription for which the request searches; nil for none.
  /// - Returns: The interruption.
  func interruption(of request: Request, key: String? = nil) -> Interruption {
    guard let session = sessions[request.session] else {
      let interruption = Interruption()
      interruption.stop(.disconnected)
      return interruption
    }
    return session.running.interruption(
      of: request,
      key: key,
      secondsMax: secondsMax(of: request, session)
    )
  }

  /// Returns the time limit of a request, in seconds; nil for none.
  private func secondsMax(of request: Request, _ session: Session) -> Double? {
    let wanted = request.timeoutSeconds ?? session.timeoutSeconds
    guard request.method.hasTimeLimit else { return wanted }
    return min(wanted ?? .infinity, Double(limits.requestSecondsMax))
  }
}
