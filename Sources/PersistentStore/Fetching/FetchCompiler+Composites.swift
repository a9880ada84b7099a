import JSON
import ObjectModel

/// Composites as a whole, which stand for their members.
extension FetchCompiler {
  /// Returns the composite at the end of a path over to-ones, with the entity that has it; nil for
  /// any other path.
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

  /// Returns the condition on the members of a composite that is compared with null; nil for any
  /// other comparison.
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
      // Without the options, which are for texts.
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
