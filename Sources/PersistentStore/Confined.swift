package import Dispatch

/// A wrapper for a value that is not `Sendable`, which several threads use one after the other.
///
/// If only one serial queue uses the value, the wrapper checks that each use is on this queue. For
/// any other value, the owner prevents simultaneous uses: the pool lends a reader to one worker at
/// a time.
package struct Confined<Value>: @unchecked Sendable {
  private let stored: Value
  private let queue: DispatchQueue?

  /// Wraps a value.
  ///
  /// - Parameters:
  ///   - value: The value.
  ///   - queue: The only queue that uses the value; nil if the owner prevents simultaneous uses.
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
