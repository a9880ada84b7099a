import Interruptions

/// The read of observations that steps have left out, one after the other.
struct AloneRead {
  /// What is read together.
  enum Subject: Hashable {
    /// One observation: it takes too long for a step, or several connections have it.
    case observation(Int)
    /// The observations of a connection that take too long together.
    case connection(Int)
  }

  /// The connection for which the read is.
  let connection: Int
  /// The observations that the read which runs does not bring to its snapshot.
  private(set) var waiting: [Int] = []
  private(set) var isRunning = false
  /// What stops the read of several observations, apart from what stops each of them.
  let interruption = Interruption()

  init(for connection: Int) {
    self.connection = connection
  }

  /// Adds an observation to those that wait for a read.
  mutating func add(_ number: Int) { waiting.append(number) }

  /// Begins to read those that wait; returns nil where none does.
  mutating func begin() -> [Int]? {
    guard !waiting.isEmpty else { return nil }
    defer { waiting = [] }
    isRunning = true
    return waiting
  }

  /// Ends a read that has left observations to the next one.
  mutating func end(leaving rest: some Sequence<Int>) {
    isRunning = false
    waiting = rest + waiting
  }
}
