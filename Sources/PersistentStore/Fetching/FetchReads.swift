import ObjectModel

/// The properties that a fetch reads.
///
/// With these properties, a live query decides whether a change can alter the fetch's result.
package struct FetchReads: Sendable {
  /// The part of a fetch that reads a property.
  enum Part {
    /// The predicate, `groupBy` and `having`.
    case condition
    /// The order and the sections.
    case order
    /// A selected value, by its name.
    case value(String)
  }

  /// The part that is being compiled.
  private var part = Part.condition

  /// The entity's own properties that decide which objects match.
  private(set) var condition: Set<String> = []
  /// The entity's own properties that determine the order.
  package private(set) var order: Set<String> = []
  /// The entity's own properties that selected values read, each with the names of these values.
  package private(set) var valueNames: [String: Set<String>] = [:]
  /// The properties of other objects, with the paths to these objects.
  private(set) var related = RelatedReads()
  /// The names of the selected values that read a property of another object.
  package private(set) var relatedNames: Set<String> = []
  /// Whether the result depends on the time or on random numbers, which change without a commit.
  package private(set) var isVolatile = false
  /// The properties of other objects, by role and entity number.
  ///
  /// The properties of an entity also apply to the entity's descendants.
  private var relatedByRole: [RelatedReads.Role: [Int: Set<String>]] = [:]

  /// The entity's own properties that determine which objects match, and their order.
  package var membership: Set<String> { condition.union(order) }
  /// The entity's own properties on which the result depends, in any way.
  package var own: Set<String> { membership.union(valueNames.keys) }

  /// Begins a part; all reads that are noted after this call belong to the part.
  mutating func begin(_ part: Part) { self.part = part }

  /// Notes a property of the object itself.
  mutating func note(own property: String) {
    switch part {
    case .condition: condition.insert(property)
    case .order: order.insert(property)
    case .value(let name): valueNames[property, default: []].insert(name)
    }
  }

  /// Notes properties of other objects.
  ///
  /// - Parameters:
  ///   - entity: The entity number of the objects.
  ///   - properties: The names; empty if only the existence of the objects matters.
  ///   - origin: The relationships from the fetched object to the objects; nil if no relationships
  ///     reach the objects.
  mutating func note(
    related entity: Int,
    _ properties: Set<String>,
    at origin: [RelatedReads.Step]?
  ) {
    let role: RelatedReads.Role
    switch part {
    case .condition: role = .condition
    case .order: role = .order
    case .value(let name):
      role = .values
      relatedNames.insert(name)
    }
    relatedByRole[role, default: [:]][entity, default: []].formUnion(properties)
    related.insert(properties, of: entity, at: origin.map { .init(steps: $0, role: role) })
  }

  /// Notes that the result depends on the time or on random numbers.
  mutating func noteVolatility() { isVolatile = true }

  /// Returns the properties of other objects that the given roles read, by the numbers of concrete
  /// entities.
  ///
  /// - Parameters:
  ///   - roles: The roles of the properties.
  ///   - model: The model of the request.
  /// - Returns: The names of the properties, by entity number.
  func related(
    for roles: [RelatedReads.Role] = [.condition, .order, .values],
    in model: Model
  ) -> [Int: Set<String>] {
    var kinds: [Int: Set<String>] = [:]
    for role in roles {
      for (number, properties) in relatedByRole[role] ?? [:] {
        for kind in model.entity(number).familyPosition.concreteEntities {
          kinds[kind, default: []].formUnion(properties)
        }
      }
    }
    return kinds
  }
}
