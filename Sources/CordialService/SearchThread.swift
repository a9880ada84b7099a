import Dispatch
import JSONRPC
import PersistentHistory
import PersistentStore
import Spotlight
import Synchronization

/// The thread on which searches run, with a connection to the index and one to the store.
final class SearchThread: Sendable {
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

  func search(
    _ body: @escaping @Sendable (IndexSearcher, StoreReader) throws -> MessageBytes,
    completion: @escaping @Sendable (Result<MessageBytes, RPCError>) -> Void
  ) {
    queue.async {
      do {
        let connections = try self.open()
        completion(.success(try body(connections.searcher, connections.reader)))
      } catch let error as SpotlightError where error.code == .damaged {
        self.connections.withLock { $0 = nil }
        self.index.startRebuild()
        completion(.failure(RPCError(error)))
      } catch {
        completion(.failure(RPCError(any: error)))
      }
    }
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
