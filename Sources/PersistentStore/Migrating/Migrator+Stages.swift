import JSON
package import ObjectModel

/// The stages of a migration along a chain of versions.
extension Migrator {
  /// Returns the stages from one version of a model to another.
  ///
  /// If the chain contains the store's version, each later version is a stage, and each stage
  /// removes the data that its version cannot store. Otherwise there is one stage, to the last
  /// version. That stage removes only the data that the version lists in `removed`.
  ///
  /// - Parameters:
  ///   - model: The model that the store has.
  ///   - former: The hashes of the store's former models.
  ///   - chain: The versions, oldest first; the last one is the target.
  /// - Returns: A plan for each stage.
  /// - Throws: `modelMismatch` when the store is newer than the last version, `modelInvalid` when
  ///   two versions of the chain have the same content, or when a map does not start from the
  ///   preceding version of the chain.
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

  /// Returns the stage between two versions.
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

  /// Checks that no two versions of a chain have the same content.
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

  /// Checks that each map starts from the preceding version, because a map from a different version
  /// would have no effect.
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
