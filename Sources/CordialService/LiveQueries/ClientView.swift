import JSONRPC

/// What the client of a subscription has.
///
/// A subscription that has ended has no view: its last update is in `ObservedState.ended` until it
/// is sent.
enum ClientView: Sendable {
  /// The result of the observation.
  case current
  /// A former result of the observation.
  case behind(KeptResult)

  /// The result that the client has, where it is not that of the observation.
  var former: KeptResult? {
    if case .behind(let result) = self { result } else { nil }
  }
}

/// A former result of an observation that clients still have; they share it.
///
/// It counts in the memory of the process until the last of them has a later one.
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
