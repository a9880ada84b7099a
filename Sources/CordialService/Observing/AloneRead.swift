import Interruptions

/// A read that updates observations which steps have left out, one observation after the other.
struct AloneRead {
  /// The observations that are read together.
  enum Subject: Hashable {
    /// One observation: it takes too long for a step, or several connections have it.
    case observation(Int)
    /// The observations of a connection that take too long together.
    case connection(Int)
  }

  /// The connection on whose behalf the read runs.
  let connection: Int
  /// The observations that wait for the next read.
  private(set) var waiting: [Int] = []
  private(set) var isRunning = false
  /// The interruption of a read of several observations; each observation also has its own.
  let interruption = Interruption()

  init(for connection: Int) {
    self.connection = connection
  }

  /// Adds an observation to the next read.
  mutating func add(_ number: Int) { waiting.append(number) }

  /// Begins a read of the waiting observations and returns them; nil if there are none.
  mutating func begin() -> [Int]? {
    guard !waiting.isEmpty else { return nil }
    defer { waiting = [] }
    isRunning = true
    return waiting
  }

  /// Ends a read, and adds its remaining observations to the next read.
  mutating func end(leaving rest: some Sequence<Int>) {
    isRunning = false
    waiting = rest + waiting
  }
}
