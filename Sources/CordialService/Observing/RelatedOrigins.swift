import CordialProtocol
import CordialValues
import ObjectModel
import PersistentHistory
import PersistentStore
import Subscriptions

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
    guard case .rows(let plan) = observation.plan else { return .undecided }
    var members: [ObjectKey: Verdict.Match] = [:]
    var values: Set<ObjectKey> = []
    switch own {
    case .values(let touched): values = touched
    case .members(let found, let touched): (members, values) = (found, touched)
    case .unaffected: break
    case .count, .reaching, .undecided: return .undecided
    }
    let membersMax = observation.verdictLimits.membersMax
    for (path, keys) in reached {
      // Members of a result of IDs have no values of their own.
      if path.role == .values, observation.request.mode == .ids { continue }
      let search = Search(
        path: path.steps,
        objects: Set(keys.map(\.object)),
        start: position.lastChange
      )
      let found = try known[search] ?? find(search, changes, position, snapshot)
      guard let found, found.count <= membersMax else { return .undecided }
      for object in found {
        let key = plan.key(object)
        if path.role == .values {
          values.insert(key)
        } else if members[key] == nil {
          members[key] = Verdict.Match(before: nil, after: nil)
        }
      }
    }
    guard members.count <= membersMax else { return .undecided }
    return members.isEmpty ? .values(values) : .members(members, values: values)
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
