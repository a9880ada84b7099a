import CSpotlight

/// The means to stop a search, or a comparison of the whole index, from any thread.
@safe package final class SearchStop: @unchecked Sendable {
  // The ranking reads the flag by atomic operations, and `stop()` sets it by one.
  private let flag: UnsafeMutablePointer<Int32>

  package init() {
    unsafe flag = UnsafeMutablePointer.allocate(capacity: 1)
    unsafe flag.initialize(to: 0)
  }

  deinit {
    unsafe flag.deallocate()
  }

  /// Has the search end with `SpotlightError.Code.stopped`, unless it has ended.
  package func stop() { unsafe spotlight_stop(flag) }

  /// What the ranking reads.
  var pointer: UnsafePointer<Int32> { unsafe UnsafePointer(flag) }

  /// Whether the search is to end.
  package var isStopped: Bool { unsafe spotlight_is_stopped(flag) }

  /// Throws where the search is to end.
  package func check() throws(SpotlightError) {
    if isStopped { throw .stopped }
  }
}

extension SpotlightError {
  /// The error of a search that its client does not want any more.
  static let stopped = SpotlightError(.stopped, "The request was cancelled")
}
