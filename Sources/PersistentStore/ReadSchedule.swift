import DequeModule

/// Which of the running reads may continue, and which pause for others.
///
/// A read begins quick. It becomes slow when it has used its first slice of time, and pauses where
/// more slow reads run than may: two, and one beside quick reads, so that a quick read finds a
/// processor free. Paused reads continue in turn.
///
/// - quick to slow: `check`, with its slice used.
/// - slow to paused: `check`, where too many slow reads run, or where another one is paused and the
///   slice is used.
/// - paused to slow: `resume`, in the order of the pauses; `leave`, for a read that was stopped.
/// - any to ended: `end`.
///
/// Times are in nanoseconds, of one monotonic clock.
package struct ReadSchedule {
  private var quick: Set<Int> = []
  private var slow: Set<Int> = []
  private var paused: Deque<Int> = []
  /// The time at which a quick read ended last.
  private var lastQuick: UInt64 = 0

  /// The number of slow reads that run while no quick read does.
  private static let slowMax = 2
  /// The time without quick reads after which all slow reads may run.
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

  /// Returns whether a read has to pause.
  ///
  /// - Parameters:
  ///   - read: A running read.
  ///   - hasUsedSlice: Whether it has run for a slice of time since it began or continued.
  ///   - now: The time.
  /// - Returns: Whether the read pauses, until `resume` returns it.
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

  /// Returns the paused read that continues; nil where none may.
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
