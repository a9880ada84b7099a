public import Cordial
import CordialValues
import Engine
import PersistentStore
import Spotlight

/// An advance of a store's search index.
public struct SpotlightUpdate: Sendable, Equatable {
  /// The identity of the store.
  public let storeID: String
  /// The commit that the index has reached.
  public let token: String
}

/// The search index of a store in a program.
public struct SpotlightIndex: Sendable {
  private let index: SearchIndex
  private let storeID: String

  init(_ index: SearchIndex, storeID: String) {
    self.index = index
    self.storeID = storeID
  }

  /// Whether the index follows the commits of the store, and is not stopped.
  public var isIndexing: Bool { index.status.state != .paused }

  /// Follows the commits again, from where the index stopped.
  ///
  /// - Throws: `ClientError` where the index's file cannot be written.
  public func startIndexing() async throws(ClientError) { try await execute(.resume) }

  /// Follows no commit until `startIndexing`, also after a restart and in other processes with the
  /// same index; searches answer from the last commit.
  ///
  /// - Throws: `ClientError` where the index's file cannot be written.
  public func stopIndexing() async throws(ClientError) { try await execute(.pause) }

  /// Builds a new index from the store, while the old one answers.
  ///
  /// - Throws: `ClientError` where the store cannot be read or the index's file cannot be written.
  public func rebuild() async throws(ClientError) { try await execute(.rebuild) }

  /// Removes the objects of some domains from the index, and leaves later ones out.
  ///
  /// The past of the index ends, so that no search of a former commit finds them. It lasts until
  /// `restore(domains:)`, also after a restart; an index that was damaged, and that of a restored
  /// backup, have all domains. Observed searches of other processes follow with the next commit.
  ///
  /// - Parameter domains: The domains, whole: `work` is not `work.private`.
  /// - Throws: `ClientError` where the index's file cannot be written.
  /// - Complexity: Linear in the objects that are indexed.
  public func delete(domains: [String]) async throws(ClientError) {
    try await execute(.deleteDomains(domains))
  }

  /// Has the objects of some domains indexed again, by a rebuild of the index.
  ///
  /// - Parameter domains: The domains.
  /// - Throws: `ClientError` where the store cannot be read or the index's file cannot be written.
  public func restore(domains: [String]) async throws(ClientError) {
    try await execute(.restoreDomains(domains))
  }

  /// The advances of the index, from now on.
  ///
  /// Where the index is faster than the reader, the reader gets the newest advance only. The
  /// sequence does not end before its task is cancelled.
  public var updates: AsyncStream<SpotlightUpdate> {
    let (stream, updates) = AsyncStream.makeStream(
      of: SpotlightUpdate.self,
      bufferingPolicy: .bufferingNewest(1)
    )
    let (index, storeID) = (index, storeID)
    let number = index.whenAdvanced {
      guard let token = index.status.token else { return }
      updates.yield(SpotlightUpdate(storeID: storeID, token: token.description))
    }
    updates.onTermination = { _ in index.endAdvances(number) }
    return stream
  }

  private func execute(_ order: IndexOrder.Kind) async throws(ClientError) {
    let outcome = await withCheckedContinuation { continuation in
      index.execute(order) { continuation.resume(returning: $0) }
    }
    guard case .failure(let error) = outcome else { return }
    throw ClientError(code: .internalError, message: "The index cannot be changed: \(error)")
  }
}

extension Container {
  /// Returns the search index of a store.
  ///
  /// - Parameter store: The name of the store; nil for the first one.
  /// - Returns: The index.
  /// - Throws: `ClientError` for a name that the container does not have.
  public func searchIndex(_ store: String? = nil) throws(ClientError) -> SpotlightIndex {
    let engine = try engine(store)
    return SpotlightIndex(engine.index, storeID: engine.store.identifier)
  }
}
