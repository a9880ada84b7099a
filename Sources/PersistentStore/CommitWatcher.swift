import Dispatch
import Glibc
import PersistentHistory
import Synchronization

/// A watcher that notices commits of other processes, by writes to the store's write-ahead log.
///
/// The kernel reports a write before its commit is visible, so the watcher looks a few milliseconds
/// later. A slow timer covers the writes that the kernel does not report.
package final class CommitWatcher: Sendable {
  /// The time between a write and the look, in milliseconds.
  private static let pauseMilliseconds = 5
  /// The interval of the slow timer, in milliseconds.
  private static let slowMilliseconds = 1000

  private let queue = DispatchQueue(label: "cordial.watcher", qos: .utility)
  private let descriptor: CInt
  private let handler: @Sendable () -> Void
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
  ///   - handler: Called on the watcher's thread when there may be a new commit.
  package init(path: String, handler: @escaping @Sendable () -> Void) {
    self.handler = handler
    descriptor = inotify_init1(Int32(IN_CLOEXEC) | Int32(IN_NONBLOCK))
    if descriptor >= 0 {
      // Without the watch, the timer finds the commits.
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
    timer.setEventHandler { [handler] in handler() }
    state.withLock { $0.timer = Confined(timer) }
    timer.resume()
  }

  /// Schedules one look for all writes until then.
  private func changed() {
    let starts = state.withLock { state in
      guard !state.isScheduled, !state.isStopped else { return false }
      state.isScheduled = true
      state.source?.value.suspend()
      return true
    }
    guard starts else { return }
    queue.asyncAfter(deadline: .now() + .milliseconds(Self.pauseMilliseconds)) { [weak self] in
      self?.handleEvent()
    }
  }

  /// Reads the kernel's event, which is the same for every write, and looks.
  private func handleEvent() {
    var buffer = [UInt8](repeating: 0, count: 4096)
    let looks = state.withLock { state in
      guard state.isScheduled, !state.isStopped else { return false }
      // One read only: while a process writes, each further read could get another event.
      _ = unsafe read(descriptor, &buffer, buffer.count)
      state.isScheduled = false
      state.source?.value.resume()
      return true
    }
    if looks { handler() }
  }

  /// Stops watching; `handler` is not called after this method returns.
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
