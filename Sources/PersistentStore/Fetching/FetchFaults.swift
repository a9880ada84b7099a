package import ObjectModel

/// A part of a fetch request that cannot be compiled.
package struct FetchFault: Sendable {
  /// The part, as a path in the request: `sort[1]`, empty for the whole request.
  package let part: String
  package let error: StoreError
}

extension FetchRequest {
  /// Returns every fault of the request, by compiling each of its parts alone.
  ///
  /// Each comparison of the predicate is a part. A fault in a combination of parts, such as a sort
  /// key that `groupBy` lacks, is reported only if no part alone has a fault.
  ///
  /// - Parameters:
  ///   - model: The model of the request.
  ///   - isValues: Whether the request is for rows of values.
  /// - Returns: The faults, in the order of the request's parts.
  package func faults(in model: Model, isValues: Bool) -> [FetchFault] {
    guard model.entity(named: entity) != nil else {
      return [FetchFault(part: "entity", error: .unknownEntity(entity, in: model))]
    }
    var faults = predicateFaults(in: model)
    func check(_ part: String, _ change: (inout FetchRequest) -> Void) {
      var request = FetchRequest(entity: entity, arguments: arguments, subentities: subentities)
      change(&request)
      do throws(StoreError) {
        _ = try ConditionStage(request, in: .withoutStore(model)).ordered()
          .selected(isGrouped: isGrouped && request.select != nil)
      } catch {
        faults.append(FetchFault(part: part, error: error))
      }
    }
    if let sectionBy { check("sectionBy") { $0.sort = [sectionBy] } }
    for (index, key) in sort.enumerated() { check("sort[\(index)]") { $0.sort = [key] } }
    for selected in select ?? [] {
      check("select.\(selected.name)") { request in
        request.select = [selected]
        request.groupBy = groupBy
      }
    }
    guard faults.isEmpty else { return faults }
    do {
      try StoreSnapshot.check(self, isValues: isValues, of: model)
      return []
    } catch {
      return [FetchFault(part: "", error: error)]
    }
  }

  /// Returns the faults of the predicate's comparisons.
  private func predicateFaults(in model: Model) -> [FetchFault] {
    guard let predicate else { return [] }
    let parsed: Predicate
    do {
      parsed = try PredicateParser.parse(predicate, arguments: arguments)
    } catch {
      return [FetchFault(part: "predicate", error: StoreError(error))]
    }
    var faults: [FetchFault] = []
    for comparison in parsed.comparisons {
      do throws(StoreError) {
        var compiler = try FetchCompiler(self, in: .withoutStore(model))
        _ = try compiler.compile(comparison)
      } catch  where !faults.contains(where: { $0.error.message == error.message }) {
        faults.append(FetchFault(part: "predicate", error: error))
      } catch {
        // The list already has an equal fault of an earlier comparison.
      }
    }
    return faults
  }
}

extension Predicate {
  /// The comparisons that `AND`, `OR` and `NOT` combine.
  fileprivate var comparisons: [Predicate] {
    switch self {
    case .constant: []
    case .not(let part): part.comparisons
    case .and(let parts), .or(let parts): parts.flatMap(\.comparisons)
    case .comparison: [self]
    }
  }
}
