import CordialValues
import FoundationEssentials
import JSON
package import ObjectModel
import PersistentHistory
import SQLite
import StoreLayout

/// The chain of versions from a store's model to another.
extension Migrator {
  /// Returns the stages from one version of a model to another.
  ///
  /// If the chain has the store's version, each later version is a stage, and what a later version
  /// lacks is removed. Otherwise there is one stage, to the last version. It removes only what that
  /// version names in `removed`.
  ///
  /// - Parameters:
  ///   - model: The model that the store has.
  ///   - former: The hashes of the store's former models.
  ///   - chain: The versions, oldest first; the last one is the target.
  /// - Returns: A plan for each stage.
  /// - Throws: `modelMismatch` when the store is newer than the last version, `modelInvalid` when
  ///   two versions of the chain have the same content.
  package static func stages(
    of model: Model,
    _ former: Set<String> = [],
    over chain: [Model]
  ) throws(StoreError) -> [Stage] {
    try checkDistinct(chain)
    try checkMaps(chain)
    if let last = chain.last, former.contains(where: last.isIdentified) {
      throw StoreError(
        .modelMismatch,
        "The store is newer: it had model \(last.name) \(last.version) (\(last.shortHash)) and "
          + "migrated to \(model.version) (\(model.shortHash))",
        hint: .openWithItsModel,
        data: [
          JSONMember("problems", [["path": "", "message": "an older version of the model"]])
        ]
      )
    }
    let currentIndex = chain.firstIndex { $0.hash == model.hash }
    let nearest = currentIndex == nil ? NearestVersion.versions(to: model, in: chain) : []
    let newerVersions = currentIndex.map { chain[($0 + 1)...] } ?? chain.suffix(1)
    var stages: [Stage] = []
    var current = model
    for next in newerVersions {
      let stage = try stage(
        from: current,
        to: next,
        nearest,
        givesUpEverything: currentIndex != nil
      )
      stages.append(stage)
      current = stage.target
    }
    return stages
  }

  static func stage(
    from current: Model,
    to next: Model,
    _ nearest: [NearestVersion],
    givesUpEverything: Bool,
    hasProgram: Bool = false
  ) throws(StoreError) -> Stage {
    let (slots, emptied) = ModelMapping.slots(from: current, to: next)
    let target: Model
    do throws(ModelError) {
      target = try ModelDocument.model(
        from: next.document,
        slots: slots,
        retired: ModelMapping(from: current, to: next, hasProgram: hasProgram).retired,
        excludedEntities: next.excludedEntities
      )
    } catch {
      throw mismatch(current, next, error.problems.map { MigrationProblem($0) }, nearest)
    }
    let plan = MigrationPlan(
      from: current,
      to: target,
      emptied: emptied,
      givesUpEverything: givesUpEverything,
      hasProgram: hasProgram
    )
    return Stage(plan: plan, target: target, nearest: nearest)
  }

  /// Checks that the content of a version tells it from the others.
  private static func checkDistinct(_ chain: [Model]) throws(StoreError) {
    for (index, version) in chain.enumerated() {
      guard let other = chain[..<index].first(where: { $0.hash == version.hash }) else { continue }
      throw StoreError(
        .modelInvalid,
        "The versions \(other.version) and \(version.version) of the model \(version.name) have "
          + "the same content, so that a store of one cannot be told from a store of the other",
        hint: "Remove one of them, or give an entity of one a versionHashModifier"
      )
    }
  }

  /// Checks that the map of a version is from the version before it, because it would have no
  /// effect otherwise.
  private static func checkMaps(_ chain: [Model]) throws(StoreError) {
    for (former, model) in zip(chain, chain.dropFirst()) {
      guard let map = model.map, map.from != former.version, !former.isIdentified(by: map.from)
      else { continue }
      throw StoreError(
        .modelInvalid,
        "The map of version \(model.version) of the model \(model.name) is from \(map.from), and "
          + "the version before it is \(former.version)",
        hint: "Name the version before it in @from, by its version or its hash"
      )
    }
  }
}
