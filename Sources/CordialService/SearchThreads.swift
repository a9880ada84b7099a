import DequeModule
import Dispatch
package import JSONRPC
import PersistentHistory
package import PersistentStore
package import Spotlight
import Synchronization

/// The threads on which searches run beside each other.
///
/// A search that finds no thread free waits for the first one that becomes free. Comparisons of the
/// whole index have a thread of their own, so that no search waits for one.
package final class SearchThreads: Sendable {
  /// The work of a thread, with its connections.
  package typealias Body<Output> = @Sendable (IndexSearcher, StoreReader) throws -> Output

  /// Work that calls what it is given on the thread, when it has ended.
  private typealias Job = @Sendable (SearchThread, _ ended: @escaping @Sendable () -> Void) -> Void

  private struct State {
    /// The threads without work; the last one has run most recently.
    var idle: [SearchThread] = []
    var count = 0
    var waiting: Deque<Job> = []
  }

  /// The number of searches that run at the same time.
  package static let countMax = 4

  private let store: PersistentStore
  private let index: SearchIndex
  private let state = Mutex(State())
  private let comparing: SearchThread

  package init(store: PersistentStore, index: SearchIndex) {
    self.store = store
    self.index = index
    comparing = SearchThread(store: store, index: index)
  }

  /// Runs a search.
  ///
  /// - Parameters:
  ///   - body: The search.
  ///   - completion: Called on the thread of the search, with its result.
  package func search<Output: Sendable>(
    _ body: @escaping Body<Output>,
    completion: @escaping @Sendable (Result<Output, RPCError>) -> Void
  ) {
    let job: Job = { thread, ended in
      thread.search(body) { result in
        completion(result)
        ended()
      }
    }
    let thread = state.withLock { state -> SearchThread? in
      if let idle = state.idle.popLast() { return idle }
      guard state.count < Self.countMax else {
        state.waiting.append(job)
        return nil
      }
      state.count += 1
      return SearchThread(store: store, index: index)
    }
    if let thread { run(job, on: thread) }
  }

  /// Runs a comparison of the whole index, one at a time.
  package func compare(
    _ body: @escaping Body<MessageBytes>,
    completion: @escaping @Sendable (Result<MessageBytes, RPCError>) -> Void
  ) {
    comparing.search(body, completion: completion)
  }

  private func run(_ job: @escaping Job, on thread: SearchThread) {
    job(thread) {
      let next = self.state.withLock { state -> Job? in
        let next = state.waiting.popFirst()
        if next == nil { state.idle.append(thread) }
        return next
      }
      if let next { self.run(next, on: thread) }
    }
  }
}

/// A thread on which searches run, with a connection to the index and one to the store.
private final class SearchThread: Sendable {
  private struct Connections {
    let searcher: IndexSearcher
    let reader: StoreReader
  }

  private let queue = DispatchQueue(label: "cordial.search")
  private let store: PersistentStore
  private let index: SearchIndex
  /// The connections of the queue, opened and used there only.
  ///
  /// The first search opens them, and so does the first search after a rebuild of the index.
  private let connections: Mutex<Confined<Connections>?> = Mutex(nil)

  init(store: PersistentStore, index: SearchIndex) {
    self.store = store
    self.index = index
  }

  func search<Output: Sendable>(
    _ body: @escaping @Sendable (IndexSearcher, StoreReader) throws -> Output,
    completion: @escaping @Sendable (Result<Output, RPCError>) -> Void
  ) {
    queue.async {
      do {
        let connections = try self.open()
        completion(.success(try body(connections.searcher, connections.reader)))
      } catch let error as SpotlightError where error.code == .damaged {
        // Where an earlier search has found the damage, the file has been replaced already.
        if self.isCurrent { self.index.startRebuild() }
        self.connections.withLock { $0 = nil }
        completion(.failure(RPCError(error)))
      } catch {
        completion(.failure(RPCError(any: error)))
      }
    }
  }

  /// Whether the connections are those of the present file, or there are none.
  private var isCurrent: Bool {
    connections.withLock { $0 }?.value.searcher.isCurrent ?? true
  }

  private func open() throws -> Connections {
    if let known = connections.withLock({ $0 }), known.value.searcher.isCurrent {
      return known.value
    }
    let made = Connections(searcher: try index.makeSearcher(), reader: try store.makeReader())
    let confined = Confined(made, to: queue)
    connections.withLock { $0 = confined }
    return confined.value
  }
}
