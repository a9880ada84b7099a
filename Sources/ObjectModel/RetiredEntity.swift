import CordialValues
package import JSON

/// An entity that only earlier versions of a store's model had, and whose changes are in the log.
///
/// A retired entity has no table. Its description lists the attributes and to-ones whose values the
/// log contains, and does not distinguish inherited properties. Its entity number is greater than
/// all entity numbers of the model.
package struct RetiredEntity: Sendable {
  package let description: EntityDescription
  /// The greatest number that an object of the entity had.
  ///
  /// A later entity of the same name does not reuse object numbers up to `lastObject`.
  package let lastObject: Int64

  /// The least entity number of a retired entity, above the entity numbers of all models.
  package static let numberMin = 1_000_001

  package init(description: EntityDescription, lastObject: Int64) {
    self.description = description
    self.lastObject = lastObject
  }

  /// Describes an entity that a new version of the model does not have.
  ///
  /// - Parameters:
  ///   - entity: The entity of the earlier version.
  ///   - number: The entity number by which the log will identify the entity.
  ///   - destination: Returns the new entity number for an entity number of the earlier version.
  package init(_ entity: EntityDescription, number: Int, destination: (Int) -> Int) {
    self.init(
      name: entity.name,
      number: number,
      identity: entity.identity?.name,
      attributes: entity.attributes.map { ($0.name, $0.type, $0.isPreserved) },
      toOnes: entity.relationships.filter { !$0.toMany }.map {
        ($0.name, destination($0.destination))
      },
      slot: entity.familyPosition.slot,
      lastObject: 0
    )
  }

  private init(
    name: String,
    number: Int,
    identity: String?,
    attributes: [(name: String, type: AttributeType, isPreserved: Bool)],
    toOnes: [(name: String, destination: Int)],
    slot: Int,
    lastObject: Int64
  ) {
    self.lastObject = lastObject
    description = EntityDescription(
      number: number,
      name: name,
      renamedFrom: nil,
      identity: identity,
      attributes: attributes.map { Self.attribute($0.name, $0.type, $0.isPreserved) },
      composites: [],
      transients: [],
      relationships: toOnes.map { Self.toOne($0.name, of: number, to: $0.destination) },
      unique: [],
      indexes: [],
      spotlight: nil,
      familyPosition: EntityDescription.FamilyPosition(
        ancestors: [number],
        isAbstract: false,
        concreteEntities: [number],
        slot: slot
      )
    )
  }

  /// Returns the same entity with new entity numbers for the destinations of its to-ones.
  package func renumbered(_ destination: (Int) -> Int) -> RetiredEntity {
    RetiredEntity(description, number: description.number, destination: destination)
      .ending(at: lastObject)
  }

  /// Returns the same entity with another value of `lastObject`.
  package func ending(at lastObject: Int64) -> RetiredEntity {
    RetiredEntity(description: description, lastObject: lastObject)
  }

  private static func attribute(
    _ name: String,
    _ type: AttributeType,
    _ isPreserved: Bool
  ) -> AttributeDescription {
    AttributeDescription(
      name: name,
      renamedFrom: nil,
      type: type,
      optional: true,
      defaultValue: .null,
      minimum: nil,
      maximum: nil,
      minimumLength: nil,
      maximumLength: nil,
      pattern: nil,
      allowed: nil,
      derived: nil,
      isPreserved: isPreserved
    )
  }

  private static func toOne(
    _ name: String,
    of owner: Int,
    to destination: Int
  ) -> RelationshipDescription {
    RelationshipDescription(
      name: name,
      renamedFrom: nil,
      owner: owner,
      destination: destination,
      toMany: false,
      ordered: false,
      inverse: nil,
      deleteRule: .noAction,
      optional: true,
      minimumCount: 0,
      maximumCount: nil,
      storage: .column
    )
  }

  // MARK: The form in a store

  /// The JSON value that a store keeps.
  package var json: JSONValue {
    [
      "name": .string(description.name), "number": .integer(Int64(description.number)),
      "identity": description.identity.map { .string($0.name) } ?? .null,
      "attributes": .object(
        description.attributes.map { JSONMember($0.name, .string($0.type.rawValue)) }
      ),
      "preserved": .array(
        description.attributes.filter(\.isPreserved).map { .string($0.name) }
      ),
      "toOnes": .object(
        description.relationships.map { JSONMember($0.name, .integer(Int64($0.destination))) }
      ),
      "slot": .integer(Int64(description.familyPosition.slot)),
      "lastObject": .integer(lastObject),
    ]
  }

  /// Reads the JSON value that a store keeps; nil for any other value.
  package init?(_ json: JSONValue) {
    guard let name = json["name"]?.string, let number = json["number"]?.integer,
      let slot = json["slot"]?.integer, EntityDescription.slots.contains(Int(slot)),
      let lastObject = json["lastObject"]?.integer, let attributes = json["attributes"]?.members,
      let toOnes = json["toOnes"]?.members, number >= Int64(Self.numberMin)
    else { return nil }
    let preserved = Set((json["preserved"]?.array ?? []).compactMap(\.string))
    let types = attributes.compactMap { member in
      member.value.string.flatMap(AttributeType.init(rawValue:)).map {
        (member.name, $0, preserved.contains(member.name))
      }
    }
    let destinations = toOnes.compactMap { member in
      member.value.integer.map { (member.name, Int($0)) }
    }
    guard types.count == attributes.count, destinations.count == toOnes.count else { return nil }
    self.init(
      name: name,
      number: Int(number),
      identity: json["identity"]?.string,
      attributes: types,
      toOnes: destinations,
      slot: Int(slot),
      lastObject: lastObject
    )
  }
}
