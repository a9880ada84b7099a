import DequeModule
import Dispatch
package import JSONRPC
import PersistentHistory
package import PersistentStore
package import Spotlight
import Synchronization

/// The threads on which searches run concurrently.
///
/// A search waits if all threads are busy. Comparisons of the whole index run on a separate thread,
/// so that no search waits for a comparison.
package final class SearchThreads: Sendable {
  /// A closure that searches with the connections of a thread.
  package typealias Body<Output> = @Sendable (IndexSearcher, StoreReader) throws -> Output

  /// Work on a thread, which calls `ended` on that thread as its last step.
  private typealias Job = @Sendable (SearchThread, _ ended: @escaping @Sendable () -> Void) -> Void

  private struct State {
    /// The idle threads; the last thread became idle most recently.
    var idle: [SearchThread] = []
    var count = 0
    var waiting: Deque<Job> = []
  }

  /// The maximum number of concurrent searches.
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

  /// Runs a comparison of the whole index, after all comparisons that were requested earlier.
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

/// A thread on which searches run, with connections to the index and to the store.
private final class SearchThread: Sendable {
  private struct Connections {
    let searcher: IndexSearcher
    let reader: StoreReader
  }

  private let queue = DispatchQueue(label: "cordial.search")
  private let store: PersistentStore
  private let index: SearchIndex
  /// The connections, opened and used only by work on `queue`.
  ///
  /// The first search opens connections. The first search after a rebuild of the index opens new
  /// connections.
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
        // Only the first search that finds the damage starts a rebuild. As soon as the index has a
        // new file, `isCurrent` is false for connections to the former file.
        if self.isCurrent { self.index.startRebuild() }
        self.connections.withLock { $0 = nil }
        completion(.failure(RPCError(error)))
      } catch {
        completion(.failure(RPCError(any: error)))
      }
    }
  }

  /// Whether the connections refer to the present index file; true without connections.
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
