import JSON
import ObjectModel

/// Whole composites in a request, which the compiler replaces with their members.
extension FetchCompiler {
  /// Returns the composite at the end of a path over to-ones, and the entity that has the
  /// composite; nil for any other path.
  func composite(
    at names: [String],
    from start: EntityDescription
  ) -> (CompositeDescription, EntityDescription)? {
    let steps = model.steps(of: names, from: start)
    guard let toOnes = steps.relationships, toOnes.allSatisfy({ !$0.toMany }) else { return nil }
    let owner = toOnes.last.map { model.entity($0.destination) } ?? start
    let rest = names[(steps.last?.end ?? 0)...].joined(separator: ".")
    return owner.composite(named: rest).map { ($0, owner) }
  }

  /// Returns the condition on a composite's members if a comparison compares the composite with
  /// null; nil for any other comparison.
  func nullMembers(_ comparison: PredicateComparison) -> Predicate? {
    let isSwapped = comparison.left.form == .constant(.null)
    let (left, right) =
      isSwapped ? (comparison.right, comparison.left) : (comparison.left, comparison.right)
    guard case .keyPath(let names, let variable) = left.form, right.form == .constant(.null),
      comparison.modifier == .direct, [.equal, .notEqual].contains(comparison.comparison),
      let (composite, owner) = composite(
        at: names,
        from: scope(at: scope(of: variable)).entity
      )
    else { return nil }
    let terms = owner.attributes(of: composite).map { attribute in
      let member = attribute.name.dropFirst(composite.name.count + 1)
      let path = PredicateExpression(
        form: .keyPath(names + member.split(separator: ".").map(String.init), variable: variable),
        offset: left.offset
      )
      // Text options such as `[c]` have no meaning for null, so this comparison omits them.
      return Predicate.comparison(
        PredicateComparison(
          left: path,
          comparison: comparison.comparison,
          right: right,
          offset: comparison.offset
        )
      )
    }
    return comparison.comparison == .equal ? .and(terms) : .or(terms)
  }
}
