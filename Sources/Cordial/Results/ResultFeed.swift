import CordialValues
import Synchronization

/// What a source has reported to a result since the result looked last.
struct ResultNews<Value: BaseValue>: Sendable {
  /// The newest rows; nil where they were not set.
  var rows: ResultRows<Value>?
  /// Whether the rows are those of another request than the rows before.
  var isReplacement = false
  /// The error after the newest rows.
  var error: ClientError?
}

/// The mailbox of one result, in which its sources set rows on any thread.
///
/// The result takes the newest rows on its own actor, so that rows never change between two reads
/// of one turn, and no queue grows.
final class ResultFeed<Value: BaseValue>: Sendable {
  private struct State {
    var news = ResultNews<Value>()
    /// The number of the current source; those before it have no effect any more.
    var generation = 0
    var hasRows = false
    var isClosed = false
    var close: (@Sendable () -> Void)?
  }

  private let state = Mutex(State())
  private let continuation: AsyncStream<Void>.Continuation
  /// An element after the source has reported, one for several reports to a slow reader.
  let signals: AsyncStream<Void>

  /// The actor of the result.
  let isolation: any Actor

  init(_ isolation: any Actor) {
    self.isolation = isolation
    (signals, continuation) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
  }

  /// Ends the work of the current source, and returns the port of the next one.
  func nextPort() -> ResultPort<Value> {
    // What the former source has reported is not the answer to the next request. Rows are released
    // outside of the lock.
    let (close, _, generation) = state.withLock { state in
      defer { (state.close, state.news) = (nil, ResultNews()) }
      state.generation += 1
      state.hasRows = false
      return (state.close, state.news, state.generation)
    }
    close?()
    return ResultPort(feed: self, generation: generation)
  }

  /// Returns what the source has reported since the last call; nil for nothing.
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

/// One source's access to the mailbox of a result; without effect after the next port was made.
struct ResultPort<Value: BaseValue>: Sendable {
  fileprivate let feed: ResultFeed<Value>
  fileprivate let generation: Int

  /// The actor of the result.
  var isolation: any Actor { feed.isolation }

  /// Sets the rows, which replace those that the result has not taken.
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

  /// Sets what ends the work of the source; called at once where it has ended.
  func whenClosed(_ close: @escaping @Sendable () -> Void) {
    feed.whenClosed(generation, close)
  }
}
