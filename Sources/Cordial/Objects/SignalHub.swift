import Synchronization

/// The readers of a sequence of signals without content.
final class SignalHub: Sendable {
  private struct State {
    var readers: [Int: AsyncStream<Void>.Continuation] = [:]
    var nextReader = 0
  }

  private let state = Mutex(State())

  deinit {
    for reader in state.withLock({ Array($0.readers.values) }) { reader.finish() }
  }

  /// Returns an element for each later signal, one for several signals to a slow reader.
  func stream() -> AsyncStream<Void> {
    AsyncStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
      let number = state.withLock { state in
        let number = state.nextReader
        state.nextReader += 1
        state.readers[number] = continuation
        return number
      }
      continuation.onTermination = { [weak self] _ in
        self?.state.withLock { state in _ = state.readers.removeValue(forKey: number) }
      }
    }
  }

  func send() {
    state.withLock { state in
      for reader in state.readers.values { reader.yield() }
    }
  }
}
