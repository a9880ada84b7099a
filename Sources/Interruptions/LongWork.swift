/// Work that may take minutes, with its interruption and the receiver of its progress.
package struct LongWork: Sendable {
  package let interruption: Interruption
  private let progress: (@Sendable (_ done: Int, _ count: Int) -> Void)?

  /// Creates work that has not begun.
  ///
  /// - Parameters:
  ///   - interruption: The signal that stops the work.
  ///   - progress: Called on the thread of the work, with the count of finished steps and the count
  ///     of all steps; nil without a receiver.
  package init(
    _ interruption: Interruption = Interruption(),
    progress: (@Sendable (_ done: Int, _ count: Int) -> Void)? = nil
  ) {
    self.interruption = interruption
    self.progress = progress
  }

  /// Reports the progress of the work.
  ///
  /// - Parameters:
  ///   - done: The count of finished steps.
  ///   - count: The count of all steps, as far as it is known.
  /// - Throws: `Interrupted` if the work has to end.
  package func report(_ done: Int, of count: Int) throws(Interrupted) {
    try interruption.check()
    progress?(done, count)
  }
}
