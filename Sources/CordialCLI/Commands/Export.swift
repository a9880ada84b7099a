import ArgumentParser
import Cordial
import JSON

/// `cordial export`: every object as a JSON line that import reads back.
struct Export: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Export objects as JSON lines, with what leads from one to the other."
  )

  @OptionGroup var place: StoreArgument

  @Argument(help: "Only objects of these entities; all when none is named.")
  var entities: [String] = []

  /// How many objects are asked for at a time.
  private static let portion = 1000

  func run() async throws {
    try await place.with { client in
      let model = try await client.call("model", [:])
      for entity in model["entities"]?.array ?? [] {
        let name = entity["name"]?.string ?? ""
        if entities.isEmpty || entities.contains(name) {
          try await export(name, entity, model, client)
        }
      }
      for name in entities
      where !(model["entities"]?.array ?? []).contains(where: { $0["name"]?.string == name }) {
        throw InputError(message: "The model has no entity \(name)")
      }
    }
  }

  private func export(
    _ name: String,
    _ entity: JSONValue,
    _ model: JSONValue,
    _ client: Client
  )
    async throws
  {
    let properties =
      (entity["attributes"]?.array ?? []).compactMap { $0["name"]?.string }
      + (entity["relationships"]?.array ?? []).filter { isKept($0, model) }.compactMap {
        $0["name"]?.string
      }
    var last: String?
    while true {
      var params: [JSONMember] = [
        JSONMember("entity", .string(name)), JSONMember("limit", .integer(Int64(Self.portion))),
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

  /// A to-many whose other end is a to-one is kept there, and comes back with it.
  private func isKept(_ relationship: JSONValue, _ model: JSONValue) -> Bool {
    guard relationship["toMany"]?.bool == true, let inverse = relationship["inverse"]?.string else {
      return true
    }
    let destination = model["entities"]?.array?.first {
      $0["name"]?.string == relationship["destination"]?.string
    }
    return destination?["relationships"]?.array?.first { $0["name"]?.string == inverse }?["toMany"]?
      .bool == true
  }
}
