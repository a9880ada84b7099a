import CordialProtocol
import CordialValues
import ObjectModel
import PersistentHistory
import PersistentStore

/// A cache of searches for the objects of results from which a key path reaches changed objects.
///
/// Fetches that read the same path share one search.
struct RelatedOrigins {
  private struct Search: Hashable {
    let path: [RelatedReads.Step]
    let objects: Set<Int64>
    /// The identifier of the last logged change before the changes of the search.
    let start: Int64
  }

  private var known: [Search: Set<Int64>?] = [:]

  /// The maximum number of objects that a search may find; with more, a fetch is read again.
  private static let objectsMax = 4096
  /// The maximum number of kept searches.
  private static let searchesMax = 256

  /// Returns a verdict that names only the result's own objects, instead of changed objects at the
  /// ends of paths.
  ///
  /// - Parameters:
  ///   - verdict: The effect, which may name changed objects at the ends of paths.
  ///   - observation: The observation.
  ///   - changes: The changes.
  ///   - position: The position at which the changes begin.
  ///   - snapshot: The snapshot after the changes.
  /// - Returns: The effect, with the objects from which paths reach changed objects; undecided if
  ///   there are too many.
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
