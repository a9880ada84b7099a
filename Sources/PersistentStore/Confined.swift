package import Dispatch

/// A wrapper for a value that is not `Sendable`, which several threads use one after the other.
///
/// A value that only one serial queue uses is bound to that queue, and each use is checked. For any
/// other value, the owner ensures the order: the pool lends a reader to one worker at a time.
package struct Confined<Value>: @unchecked Sendable {
  private let stored: Value
  private let queue: DispatchQueue?

  /// Wraps a value.
  ///
  /// - Parameters:
  ///   - value: The value.
  ///   - queue: The only queue that uses the value; nil when the owner ensures the order.
  package init(_ value: Value, to queue: DispatchQueue? = nil) {
    stored = value
    self.queue = queue
  }

  /// The value; its use on another queue ends the process.
  package var value: Value {
    if let queue { dispatchPrecondition(condition: .onQueue(queue)) }
    return stored
  }
}
