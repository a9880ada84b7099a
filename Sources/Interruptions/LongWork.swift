/// Work that may take minutes: what stops it, and who wants to know how far it is.
package struct LongWork: Sendable {
  package let interruption: Interruption
  private let progress: (@Sendable (_ done: Int, _ count: Int) -> Void)?

  /// Creates work that has not begun.
  ///
  /// - Parameters:
  ///   - interruption: What stops the work.
  ///   - progress: Called on the thread of the work, with the number of steps that are done and of
  ///     all; nil where nobody wants to know.
  package init(
    _ interruption: Interruption = Interruption(),
    progress: (@Sendable (_ done: Int, _ count: Int) -> Void)? = nil
  ) {
    self.interruption = interruption
    self.progress = progress
  }

  /// Reports how far the work is.
  ///
  /// - Parameters:
  ///   - done: The number of steps that are done.
  ///   - count: The number of all steps, as far as it is known.
  /// - Throws: `Interrupted` where the work has to end.
  package func report(_ done: Int, of count: Int) throws(Interrupted) {
    try interruption.check()
    progress?(done, count)
  }
}
