import JSONRPC

/// The result that the client of a subscription has.
///
/// A subscription that has ended has no view: its last update is in `ObservedState.ended` until it
/// is sent.
enum ClientView: Sendable {
  /// The result of the observation.
  case current
  /// A former result of the observation.
  case behind(KeptResult)

  /// The former result that the client has; nil if the client has the current result.
  var former: KeptResult? {
    if case .behind(let result) = self { result } else { nil }
  }
}

/// A former result of an observation, shared by the clients that still have it.
///
/// The result counts in the memory of the process until its last client has a later result.
final class KeptResult: Sendable {
  let result: any LiveResult
  /// The approximate memory of the result, in bytes.
  let bytes: Int

  private let memory: ByteBudget.Kept

  init(_ result: any LiveResult, _ budget: ByteBudget) {
    self.result = result
    bytes = result.bytes
    memory = budget.keep()
    memory.set(bytes)
  }
}
