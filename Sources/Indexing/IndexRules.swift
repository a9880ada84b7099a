// Indexing: the indexed content of objects, by the model and by a program's delegate. The index,
// its verification and the highlights of a search use this content.
//
// Must not know: requests, sessions, the files of the index.
//
// What always holds:
// 1. The indexed content of an object depends on the object and on related objects alone.
// 2. The index, its verification and a search read the same content of an object.

import CordialValues
package import ObjectModel
import PersistentStore
import Synchronization

/// The rules for the indexed content of a store's objects.
///
/// The `spotlight` of the entities defines the content, and a program's delegate may replace it.
///
/// One instance belongs to one opened store.
package final class IndexRules: Sendable {
  /// The program's delegate; nil if the model alone decides.
  let delegate: IndexDelegate?
  /// The compiled rules, by whether to-ones may be dangling references, then by entity number.
  private let compiled = Mutex<[Bool: [Int: EntityRules]]>([:])

  package init(delegate: IndexDelegate? = nil) { self.delegate = delegate }

  /// Returns the rules of each indexed concrete entity, by entity number.
  ///
  /// - Throws: `StoreError` for a predicate that the store cannot evaluate.
  func entities(_ snapshot: StoreSnapshot) throws(StoreError) -> [Int: EntityRules] {
    if let known = compiled.withLock({ $0[snapshot.mayDangle] }) { return known }
    var rules: [Int: EntityRules] = [:]
    for entity in snapshot.model.entities where !entity.isAbstract {
      guard let spotlight = entity.spotlight else { continue }
      rules[entity.number] = try EntityRules(
        entity,
        spotlight,
        snapshot,
        hasDelegate: delegate != nil
      )
    }
    compiled.withLock { $0[snapshot.mayDangle] = rules }
    return rules
  }

  // MARK: Models

  /// Returns a fetch of the values at key paths, or nil without key paths.
  static func request(
    _ paths: [String],
    of entity: EntityDescription
  ) -> FetchRequest? {
    guard !paths.isEmpty else { return nil }
    return FetchRequest(
      entity: entity.name,
      select: paths.enumerated().map { .init(name: "k\($0.offset)", path: $0.element) },
      subentities: false
    )
  }

  static func request(_ predicate: String, of entity: EntityDescription) -> FetchRequest {
    FetchRequest(entity: entity.name, predicate: predicate, subentities: false)
  }

  /// Returns the faults of the predicates and key paths of a model's `spotlight`.
  ///
  /// - Parameter model: A model without other faults.
  /// - Returns: The faults, each with its path in the file.
  package static func problems(of model: Model) -> [ModelProblem] {
    model.entities.flatMap { entity -> [ModelProblem] in
      guard let spotlight = entity.spotlight else { return [] }
      let fetches = [
        ("keywords", request(spotlight.keywords, of: entity)),
        ("domain", request([spotlight.domain].compactMap(\.self), of: entity)),
        ("exclude", spotlight.exclude.map { request($0, of: entity) }),
      ]
      return fetches.compactMap { member, request in
        guard let message = request.flatMap({ objection(to: $0, model) }) else { return nil }
        return ModelProblem(path: "\(entity.name).spotlight.\(member)", message: message)
      }
    }
  }

  /// Returns the reason why the predicate or key paths of a fetch are invalid in `spotlight`; nil
  /// if valid.
  private static func objection(to request: FetchRequest, _ model: Model) -> String? {
    let plan: FetchPlan
    do throws(StoreError) {
      plan = try FetchPlan.examining(request, in: model)
    } catch {
      return error.message
    }
    guard !plan.reads.isVolatile, plan.relatedReads.elsewhere.isEmpty else {
      return "The predicate has to depend on the object and on related objects alone, "
        + "neither on the time nor on chance"
    }
    // A pattern that takes too long for one object would stop the index at its commit.
    guard !plan.matchesPatterns else {
      return "The predicate must not use MATCHES, which may take too long for one object; "
        + "use LIKE, BEGINSWITH, ENDSWITH or CONTAINS"
    }
    return nil
  }
}

/// The rules for the indexed content of one concrete entity.
struct EntityRules: Sendable {
  let entity: EntityDescription
  /// The names of the indexed attributes; `boosts` has the attributes whose values change scores.
  let attributes: [String]
  let boosts: [String]
  /// A fetch of the values at key paths: the keywords, then the domain; nil without key paths.
  let paths: FetchPlan?
  let hasDomain: Bool
  /// The names of the indexed texts.
  let fields: [String]
  /// The plan that writes a whole object for the program's delegate; nil without a delegate.
  let whole: FetchPlan?
  /// A fetch of the objects that are not indexed; nil if all objects are indexed.
  let exclusion: FetchPlan?
  /// The properties of an object on which its texts depend.
  var reads: Set<String> = []
  /// The properties of related objects on which the object's texts depend, by path.
  var related: [(path: [RelatedReads.Step], properties: [Int: Set<String>])] = []

  init(
    _ entity: EntityDescription,
    _ spotlight: SpotlightDescription,
    _ snapshot: StoreSnapshot,
    hasDelegate: Bool
  ) throws(StoreError) {
    self.entity = entity
    attributes = spotlight.weights.map(\.name)
    boosts = spotlight.boosts.map(\.attribute)
    do {
      hasDomain = spotlight.domain != nil
      fields = spotlight.fields
      whole = hasDelegate ? try snapshot.plan(of: entity) : nil
      paths = try IndexRules.request(spotlight.paths, of: entity).map(snapshot.plan)
      exclusion = try spotlight.exclude.map { predicate in
        try snapshot.plan(IndexRules.request(predicate, of: entity))
      }
    } catch {
      throw StoreError(any: error)
    }
    // A delegate may read every property of the object.
    reads = whole == nil ? Set(attributes + boosts) : [ChangeSet.everyProperty]
    for plan in [paths, exclusion].compactMap(\.self) {
      reads.formUnion(plan.reads.membership)
      reads.formUnion(plan.reads.valueNames.keys)
      for (path, properties) in plan.relatedReads.paths {
        related.append((path.steps, properties))
      }
    }
  }
}
