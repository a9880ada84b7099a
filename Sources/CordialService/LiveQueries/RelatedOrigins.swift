import CordialProtocol
import CordialValues
import ObjectModel
import PersistentHistory
import PersistentStore

/// The objects of results from which paths reach changed objects, found once for all fetches that
/// read the same paths.
struct RelatedOrigins {
  private struct Search: Hashable {
    let path: [RelatedReads.Step]
    let objects: Set<Int64>
    /// The last change before the changes.
    let start: Int64
  }

  private var known: [Search: Set<Int64>?] = [:]

  /// The maximum number of objects of a search; with more, a fetch is read again.
  private static let objectsMax = 4096
  /// The number of searches that are kept.
  private static let searchesMax = 256

  /// Returns an effect on the objects of a result alone.
  ///
  /// - Parameters:
  ///   - verdict: The effect.
  ///   - observation: The observation.
  ///   - changes: The changes.
  ///   - position: The position at which they begin.
  ///   - snapshot: The snapshot after the changes.
  /// - Returns: The effect, which names the objects from which paths reach changed objects;
  ///   undecided where they are too many.
  /// - Throws: `SQLiteError`.
  mutating func resolved(
    _ verdict: Verdict,
    _ observation: Observation,
    _ changes: ChangeSet,
    since position: LogPosition,
    _ snapshot: StoreSnapshot
  ) throws -> Verdict {
    guard case .reaching(let reached, let own) = verdict else { return verdict }
    return try observation.result.resolved(reached, own: own, observation.request) { path, keys in
      let search = Search(
        path: path.steps,
        objects: Set(keys.map(\.object)),
        start: position.lastChange
      )
      return try known[search] ?? find(search, changes, position, snapshot)
    }
  }

  private mutating func find(
    _ search: Search,
    _ changes: ChangeSet,
    _ position: LogPosition,
    _ snapshot: StoreSnapshot
  ) throws -> Set<Int64>? {
    let found = try snapshot.origins(
      of: search.objects,
      on: search.path,
      changes,
      since: position,
      max: Self.objectsMax
    )
    if known.count < Self.searchesMax { known[search] = .some(found) }
    return found
  }
}
