import CordialValues
import Synchronization

/// The reports that a source has sent and that the result has not taken yet.
struct ResultNews<Value: BaseValue>: Sendable {
  /// The newest rows; nil if the source has set none.
  var rows: ResultRows<Value>?
  /// Whether the rows are the first rows of a new request.
  var isReplacement = false
  /// The error that the source has reported after the newest rows; nil for none.
  var error: ClientError?
}

/// A mailbox of one result, which receives rows from the result's sources on any thread.
///
/// The result takes the newest rows in a task on its own actor, so that rows never change while
/// synchronous code of the actor runs. The mailbox keeps only the newest rows, so that no queue
/// grows.
final class ResultFeed<Value: BaseValue>: Sendable {
  private struct State {
    var news = ResultNews<Value>()
    /// The number of the current port; reports of earlier ports are ignored.
    var generation = 0
    var hasRows = false
    var isClosed = false
    var close: (@Sendable () -> Void)?
  }

  private let state = Mutex(State())
  private let continuation: AsyncStream<Void>.Continuation
  /// A sequence with an element after each report; a slow reader gets one element for several
  /// reports.
  let signals: AsyncStream<Void>

  /// The actor of the result.
  let isolation: any Actor

  init(_ isolation: any Actor) {
    self.isolation = isolation
    (signals, continuation) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
  }

  /// Ends the work of the current source, and returns the port of the next source.
  func nextPort() -> ResultPort<Value> {
    // Unread reports of the former source are discarded, because they do not belong to the next
    // request. The discarded rows are released outside the lock.
    let (close, _, generation) = state.withLock { state in
      defer { (state.close, state.news) = (nil, ResultNews()) }
      state.generation += 1
      state.hasRows = false
      return (state.close, state.news, state.generation)
    }
    close?()
    return ResultPort(feed: self, generation: generation)
  }

  /// Returns the reports of the source since the last call; nil if there are none.
  func take() -> ResultNews<Value>? {
    state.withLock { state in
      defer { state.news = ResultNews() }
      return state.news.rows == nil && state.news.error == nil ? nil : state.news
    }
  }

  /// Ends the work of the source and the signals.
  func close() {
    let close = state.withLock { state in
      defer { state.close = nil }
      state.isClosed = true
      return state.close
    }
    close?()
    continuation.finish()
  }

  fileprivate func report(from generation: Int, _ body: (inout ResultNews<Value>) -> Void) {
    let isCurrent = state.withLock { state in
      guard generation == state.generation, !state.isClosed else { return false }
      body(&state.news)
      if state.news.rows != nil, !state.hasRows {
        state.hasRows = true
        state.news.isReplacement = true
      }
      return true
    }
    if isCurrent { continuation.yield() }
  }

  fileprivate func whenClosed(_ generation: Int, _ close: @escaping @Sendable () -> Void) {
    let isCurrent = state.withLock { state in
      guard generation == state.generation, !state.isClosed else { return false }
      state.close = close
      return true
    }
    if !isCurrent { close() }
  }
}

/// The interface by which one source reports to the mailbox of a result.
///
/// A port has no effect after the mailbox has made the next port.
struct ResultPort<Value: BaseValue>: Sendable {
  fileprivate let feed: ResultFeed<Value>
  fileprivate let generation: Int

  /// The actor of the result.
  var isolation: any Actor { feed.isolation }

  /// Sets the rows, and replaces rows that the result has not taken yet.
  func set(_ rows: ResultRows<Value>) {
    feed.report(from: generation) { news in
      news.rows = rows
      news.error = nil
    }
  }

  /// Reports an error; the result keeps its rows.
  func fail(_ error: ClientError) {
    feed.report(from: generation) { $0.error = error }
  }

  /// Sets the closure that ends the work of the source; calls it at once if the port is obsolete.
  func whenClosed(_ close: @escaping @Sendable () -> Void) {
    feed.whenClosed(generation, close)
  }
}
