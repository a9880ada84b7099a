package import Cordial
import CordialProtocol
package import JSON
import ObjectModel

/// An export of objects with their references, in the form that import reads.
package enum Exporter {
  /// The maximum number of objects in one fetch.
  private static let portion = 1000

  /// Exports the objects of entities.
  ///
  /// - Parameters:
  ///   - entities: The names of the entities; an empty list for all entities.
  ///   - client: A client of the service.
  ///   - ofOneCommit: Whether the export fails if the store changes between its first and last
  ///     read.
  ///   - write: Called with each object.
  /// - Returns: The position of the last read, nil if there was none.
  /// - Throws: `PortingError` for an unknown entity, and if another client writes while all objects
  ///   must be of one commit; `ClientError`.
  @discardableResult
  package static func run(
    _ entities: [String],
    from client: ClientConnection,
    ofOneCommit: Bool = false,
    _ write: (JSONValue) -> Void
  ) async throws -> String? {
    let model = try ModelDocument.model(from: try await client.call(ModelCall()).json)
    for name in entities where model.entity(named: name) == nil {
      throw PortingError("The model has no entity \(name)")
    }
    var token: String?
    for entity in model.entities
    where !entity.isAbstract && (entities.isEmpty || entities.contains(entity.name)) {
      let properties =
        entity.attributes.filter { $0.derived == nil }.map(\.name)
        + entity.relationships.filter { isKept($0) }.map(\.name)
      let tokens = try await export(entity, properties, client) { object in
        write(entity.composites.isEmpty ? object : nested(object))
      }
      guard !ofOneCommit || tokens.allSatisfy({ $0 == token ?? tokens[0] }) else {
        throw PortingError(
          "Another client wrote to the store during the export; export it again, or from a backup"
        )
      }
      token = tokens.last
    }
    return token
  }

  /// Returns an object whose composites are nested objects; a fetch returns each member of a
  /// composite under its path.
  private static func nested(_ object: JSONValue) -> JSONValue {
    .object(
      (object.members ?? []).map { member in
        guard member.isOne(of: .values), let values = member.value.members else { return member }
        return JSONMember(member.name, .object(values.nested))
      }
    )
  }

  /// Returns the entity of a line, from its member `entity` or from its ID.
  static func entity(_ line: JSONValue) -> String? {
    line[.entity]?.string ?? line[.id]?.string.flatMap { entity(ofID: $0) }
  }

  /// Returns the entity of an ID, the text before the first slash; nil if this text is empty.
  ///
  /// The search compares bytes, because the slash may form one `Character` with a mark after it.
  static func entity(ofID id: String) -> String? {
    let end = id.utf8.firstIndex(of: UInt8(ascii: "/")) ?? id.endIndex
    return end == id.startIndex ? nil : String(id[..<end])
  }

  /// Exports some properties of the objects of one entity, and returns the positions of the reads.
  @discardableResult
  static func export(
    _ entity: EntityDescription,
    _ properties: [String],
    _ client: ClientConnection,
    _ write: (JSONValue) -> Void
  ) async throws -> [String] {
    var last: String?
    var tokens: [String] = []
    while true {
      var call = FetchCall(entity: entity.name)
      call.subentities = false
      call.limit = portion
      call.select = properties.map { FetchCall.Selection(path: $0) }
      if let last {
        call.predicate = "SELF > $last"
        call.arguments = .object([.last: .string(last)])
      }
      let result = try await client.call(call)
      let objects = result.objects ?? []
      guard let token = result.token else {
        throw PortingError("The service names no position of the objects of \(entity.name)")
      }
      if tokens.last != token { tokens.append(token) }
      for object in objects {
        write(
          .object([
            JSONMember(.id, object[.id] ?? .null), JSONMember(.values, object[.values] ?? [:]),
          ])
        )
      }
      guard objects.count == portion, let id = objects.last?[.id]?.string else { return tokens }
      last = id
    }
  }

  /// Returns whether the export contains a relationship.
  ///
  /// The export omits a to-many that an import restores from its inverse to-one. It contains an
  /// ordered to-many, because the inverse does not have the order. It contains a to-many that must
  /// not be empty, so that an import saves the members together with the owner.
  private static func isKept(_ relationship: RelationshipDescription) -> Bool {
    relationship.storage != .inverseColumn || relationship.ordered || relationship.minimumCount > 0
  }
}
