import Dispatch
import Glibc
import PersistentHistory
import Synchronization

/// A watcher that notices commits of other processes, from writes to the store's write-ahead log.
///
/// The kernel reports a write before its commit is visible, so the watcher calls its handler a few
/// milliseconds later. A slow timer covers writes that the kernel does not report.
package final class CommitWatcher: Sendable {
  /// The pause between a reported write and the call of the handler, in milliseconds.
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
  ///   - isPrompt: Whether the kernel reports writes. If false, only the slow timer looks for
  ///     commits. A short-lived process passes false, because removing the kernel's watch delays
  ///     the end of the process by 12 ms.
  ///   - handler: Called on the watcher's thread when there may be a new commit.
  package init(path: String, isPrompt: Bool = true, handler: @escaping @Sendable () -> Void) {
    self.handler = handler
    descriptor = isPrompt ? inotify_init1(Int32(IN_CLOEXEC) | Int32(IN_NONBLOCK)) : -1
    if descriptor >= 0 {
      // If the watch cannot be added, the timer still finds the commits.
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

  /// Schedules one call of the handler, which covers all writes before that call.
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

  /// Reads and discards the kernel's event, which is the same for every write, and calls the
  /// handler.
  private func handleEvent() {
    var buffer = [UInt8](repeating: 0, count: 4096)
    let looks = state.withLock { state in
      guard state.isScheduled, !state.isStopped else { return false }
      // Reads only once: while a process writes, each further read could return a new event.
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
