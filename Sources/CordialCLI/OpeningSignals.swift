import Synchronization
import UnixSignals

/// The signals that end the program while a store is opened and migrated, before the service traps
/// them itself.
///
/// Transitions:
/// - `opening` to `ended` at a signal. The program ends at once; SQLite rolls a migration back when
///   the store is opened next.
/// - `opening` to `open` when the store is open.
/// - `open` to `stopping` at a signal: the program ends and serves no client.
/// - `open` to `serving` when the service takes over the handling of signals.
final class OpeningSignals: Sendable {
  private enum State {
    case opening, ended, open, stopping, serving
  }

  private let state = Mutex(State.opening)
  private let signals: UnixSignalsSequence

  /// Traps the signals.
  init() async {
    signals = await UnixSignalsSequence(trapping: .sigterm, .sigint, .sighup)
  }

  /// Waits for signals until the task is cancelled.
  ///
  /// - Parameter end: Ends the program; called if a signal arrives before the store is open.
  func watch(_ end: @Sendable () async -> Void) async {
    for await _ in signals {
      let ends = state.withLock { state in
        switch state {
        case .opening:
          state = .ended
          return true
        case .open: state = .stopping
        case .ended, .stopping, .serving: break
        }
        return false
      }
      if ends { await end() }
    }
  }

  /// Records that the store is open, so that a signal no longer ends the program at once.
  func opened() {
    state.withLock { if $0 == .opening { $0 = .open } }
  }

  /// Returns whether the service may serve.
  ///
  /// If so, the service handles signals itself from now on. Otherwise a signal has arrived, and the
  /// service must end.
  func mayServe() -> Bool {
    state.withLock { state in
      guard state == .open else { return false }
      state = .serving
      return true
    }
  }
}
