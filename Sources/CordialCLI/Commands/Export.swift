import ArgumentParser
import Cordial
import JSON
import ObjectModel

/// `cordial export`: prints every object as a JSON line that import reads.
struct Export: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Export objects and their relationships as JSON lines."
  )

  @OptionGroup var place: StoreArgument

  @Argument(help: "Only objects of these entities; all entities when none is named.")
  var entities: [String] = []

  /// The number of objects in one fetch.
  private static let portion = 1000

  func run() async throws {
    try await place.with { client in
      let model = try ModelDocument.model(from: try await client.call("model", [:]))
      for name in entities where model.entity(named: name) == nil {
        throw InputError(message: "The model has no entity \(name)")
      }
      for entity in model.entities
      where !entity.isAbstract && (entities.isEmpty || entities.contains(entity.name)) {
        try await export(entity, client)
      }
    }
  }

  private func export(
    _ entity: EntityDescription,
    _ client: Client
  )
    async throws
  {
    let properties =
      entity.attributes.filter { $0.derived == nil }.map(\.name)
      + entity.relationships.filter { isKept($0) }.map(\.name)
    var last: String?
    while true {
      var params: [JSONMember] = [
        JSONMember("entity", .string(entity.name)), JSONMember("subentities", false),
        JSONMember("limit", .integer(Int64(Self.portion))),
        JSONMember("select", .array(properties.map { .string($0) })),
      ]
      if let last {
        params.append(JSONMember("predicate", "SELF > $last"))
        params.append(JSONMember("arguments", ["last": .string(last)]))
      }
      let answer = try await client.call("fetch", .object(params))
      let objects = answer["objects"]?.array ?? []
      for object in objects {
        Terminal.line(
          JSONValue.object([
            JSONMember("id", object["id"] ?? .null), JSONMember("values", object["values"] ?? [:]),
          ]).text
        )
      }
      guard objects.count == Self.portion, let id = objects.last?["id"]?.string else { return }
      last = id
    }
  }

  /// Returns whether the export contains a relationship.
  ///
  /// A to-many whose inverse is a to-one is restored by the to-one, except for its order.
  private func isKept(_ relationship: RelationshipDescription) -> Bool {
    relationship.storage != .inverseColumn || relationship.ordered
  }
}
