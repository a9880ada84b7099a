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

  /// Whether the index follows the commits of the store; false while it is paused.
  public var isIndexing: Bool { index.status.state != .paused }

  /// Follows the commits again, from the commit at which the index stopped.
  ///
  /// - Throws: `ClientError` if the index's file cannot be written.
  public func startIndexing() async throws(ClientError) { try await execute(.resume) }

  /// Stops following commits until `startIndexing`.
  ///
  /// The index also stays stopped after a restart and in other processes that use it. Searches
  /// return results as of the last commit in the index.
  ///
  /// - Throws: `ClientError` if the index's file cannot be written.
  public func stopIndexing() async throws(ClientError) { try await execute(.pause) }

  /// Builds a new index from the store, while the old index answers searches.
  ///
  /// - Throws: `ClientError` if the store cannot be read or the index's file cannot be written.
  public func rebuild() async throws(ClientError) { try await execute(.rebuild) }

  /// Removes the objects of some domains from the index, and excludes later objects of these
  /// domains.
  ///
  /// The index also drops its past commits, so that no search of a past commit finds the objects.
  /// The exclusion lasts until `restore(domains:)`, even after a restart. It does not last if the
  /// index is rebuilt after damage, or if a backup is restored. The observed searches of other
  /// processes drop the objects with the next commit.
  ///
  /// - Parameter domains: The exact names of the domains: `work` does not include `work.private`.
  /// - Throws: `ClientError` if the index's file cannot be written.
  /// - Complexity: Linear in the objects that are indexed.
  public func delete(domains: [String]) async throws(ClientError) {
    try await execute(.deleteDomains(domains))
  }

  /// Rebuilds the index, so that it includes the objects of some domains again.
  ///
  /// - Parameter domains: The domains.
  /// - Throws: `ClientError` if the store cannot be read or the index's file cannot be written.
  public func restore(domains: [String]) async throws(ClientError) {
    try await execute(.restoreDomains(domains))
  }

  /// The advances of the index after the property is read; each read returns a new sequence.
  ///
  /// If the index is faster than the reader, the reader receives only the newest advance. The
  /// sequence ends only when its task is cancelled.
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
  /// - Parameter store: The name of the store; nil for the first store.
  /// - Returns: The index.
  /// - Throws: `ClientError` for a name that the container does not have.
  public func searchIndex(_ store: String? = nil) throws(ClientError) -> SpotlightIndex {
    let engine = try engine(store)
    return SpotlightIndex(engine.index, storeID: engine.store.identifier)
  }
}
