import DequeModule

/// A schedule that decides which running reads continue and which pause.
///
/// A read begins as quick, and becomes slow after its first slice of time. Two slow reads run at a
/// time; while quick reads run, only one slow read runs, so that a quick read finds a free
/// processor. Further slow reads pause, and continue in turn.
///
/// - quick to slow: `check`, when the read has used its slice.
/// - slow to paused: `check`, when too many slow reads run, or when the read has used its slice and
///   another read is paused.
/// - paused to slow: `resume`, in the order of the pauses; `leave`, for a stopped read.
/// - any to ended: `end`.
///
/// Times are in nanoseconds, of one monotonic clock.
package struct ReadSchedule {
  private var quick: Set<Int> = []
  private var slow: Set<Int> = []
  private var paused: Deque<Int> = []
  /// The time at which the last quick read ended.
  private var lastQuick: UInt64 = 0

  /// The maximum number of slow reads while no quick read runs.
  private static let slowMax = 2
  /// The time without quick reads after which `slowMax` slow reads may run.
  private static let calm: UInt64 = 5_000_000

  /// Creates a schedule without reads.
  package init() {}

  /// The number of reads that have begun and not ended.
  package var count: Int { quick.count + slow.count + paused.count }

  private func slowMax(_ now: UInt64) -> Int {
    quick.isEmpty && now >= lastQuick + Self.calm ? Self.slowMax : 1
  }

  /// Begins a read.
  package mutating func begin(_ read: Int) { quick.insert(read) }

  /// Updates the state of a running read, and returns whether the read has to pause.
  ///
  /// - Parameters:
  ///   - read: A running read.
  ///   - hasUsedSlice: Whether the read has run for a slice of time since it began or continued.
  ///   - now: The time.
  /// - Returns: Whether the read has to pause until `resume` returns it.
  package mutating func check(_ read: Int, hasUsedSlice: Bool, at now: UInt64) -> Bool {
    if quick.contains(read) {
      guard hasUsedSlice else { return false }
      quick.remove(read)
      slow.insert(read)
    }
    guard slow.contains(read) else { return false }
    let isTooMany = slow.count > slowMax(now)
    guard isTooMany || hasUsedSlice && !paused.isEmpty else { return false }
    slow.remove(read)
    paused.append(read)
    return true
  }

  /// Continues the next paused read and returns it; nil if no paused read may continue.
  package mutating func resume(at now: UInt64) -> Int? {
    guard slow.count < slowMax(now), let next = paused.popFirst() else { return nil }
    slow.insert(next)
    return next
  }

  /// Continues a paused read out of turn, because it has to end.
  package mutating func leave(_ read: Int) {
    guard let index = paused.firstIndex(of: read) else { return }
    paused.remove(at: index)
    slow.insert(read)
  }

  /// Ends a read.
  package mutating func end(_ read: Int, at now: UInt64) {
    if quick.remove(read) != nil { lastQuick = now }
    slow.remove(read)
    paused.removeAll { $0 == read }
  }
}
