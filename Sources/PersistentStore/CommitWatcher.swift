import Dispatch
import Glibc
import PersistentHistory
import Synchronization

/// Notices what other processes commit, from the store's write-ahead log changing.
///
/// The kernel tells of a write before the commit in it is visible, so a look follows a little
/// later; a slow look stands behind it all for what the kernel does not tell.
package final class CommitWatcher: Sendable {
  /// How long to wait after the log changed before looking, in milliseconds.
  private static let pauseMilliseconds = 5
  /// How often to look when nothing tells, in milliseconds.
  private static let slowMilliseconds = 1000

  private let queue = DispatchQueue(label: "cordial.watcher", qos: .utility)
  private let descriptor: CInt
  private let look: @Sendable () -> Void
  private let state = Mutex(State())

  private struct State {
    var isScheduled = false
    var isStopped = false
    var source: Confined<any DispatchSourceRead>?
    var timer: Confined<any DispatchSourceTimer>?
  }

  /// Watches a store.
  ///
  /// - Parameters:
  ///   - path: The path of `store.sqlite`.
  ///   - look: Called on the watcher's thread when there may be a new commit.
  package init(path: String, look: @escaping @Sendable () -> Void) {
    self.look = look
    descriptor = inotify_init1(Int32(IN_CLOEXEC) | Int32(IN_NONBLOCK))
    if descriptor >= 0 {
      _ = unsafe inotify_add_watch(descriptor, path + "-wal", UInt32(IN_MODIFY))
      startSource()
    }
    startTimer()
  }

  private func startSource() {
    let source = DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: queue)
    let descriptor = descriptor
    source.setEventHandler { [weak self] in self?.changed() }
    source.setCancelHandler { _ = close(descriptor) }
    state.withLock { $0.source = Confined(source) }
    source.resume()
  }

  private func startTimer() {
    let timer = DispatchSource.makeTimerSource(queue: queue)
    timer.schedule(
      deadline: .now() + .milliseconds(Self.slowMilliseconds),
      repeating: .milliseconds(Self.slowMilliseconds),
      leeway: .milliseconds(100)
    )
    timer.setEventHandler { [look] in look() }
    state.withLock { $0.timer = Confined(timer) }
    timer.resume()
  }

  /// Looks a little later, once for all that changes until then.
  private func changed() {
    let starts = state.withLock { state in
      guard !state.isScheduled, !state.isStopped else { return false }
      state.isScheduled = true
      state.source?.value.suspend()
      return true
    }
    guard starts else { return }
    queue.asyncAfter(deadline: .now() + .milliseconds(Self.pauseMilliseconds)) { [weak self] in
      self?.lookAgain()
    }
  }

  /// Takes what the kernel told, which is the same for every write, and looks.
  private func lookAgain() {
    var buffer = [UInt8](repeating: 0, count: 4096)
    let looks = state.withLock { state in
      guard state.isScheduled, !state.isStopped else { return false }
      // Once: who reads on while somebody writes gets one event after the other.
      _ = unsafe read(descriptor, &buffer, buffer.count)
      state.isScheduled = false
      state.source?.value.resume()
      return true
    }
    if looks { look() }
  }

  /// Ends watching; `look` is not called after this returns.
  package func stop() {
    queue.sync {
      state.withLock { state in
        state.isStopped = true
        if state.isScheduled { state.source?.value.resume() }
        state.isScheduled = false
        state.source?.value.cancel()
        state.timer?.value.cancel()
        state.source = nil
        state.timer = nil
      }
    }
  }
}
