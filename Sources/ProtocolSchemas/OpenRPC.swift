import CordialProtocol
package import JSON

/// The protocol as an OpenRPC document, generated from the method table.
package enum OpenRPC {
  /// The version of the protocol, incremented with each addition.
  package static let protocolVersion = 1

  /// The OpenRPC document.
  package static let document: JSONValue = [
    "openrpc": "1.4.0",
    "info": [
      "title": "Cordial",
      "version": .string("\(protocolVersion).0.0"),
      "description":
        "A managed object graph in SQLite, with live results and search, over JSON-RPC 2.0.",
    ],
    "methods": .array(MethodTable.all.map(method)),
    "components": [
      "schemas": schemas,
      "errors": .object(
        ErrorName.allCases.map { name in
          JSONMember(
            name.rawValue,
            [
              "code": .integer(Int64(name.code)), "message": .string(name.rawValue),
              "x-data": name.data.json,
            ]
          )
        }
      ),
    ],
  ]

  /// The named schemas, by name.
  private static var schemas: JSONValue {
    var known: [String: JSONValue] = [:]
    let used =
      MethodTable.all.flatMap { method in
        method.params.map(\.schema) + (method.result.map { [$0] } ?? [])
      } + ErrorName.allCases.map(\.data)
    for (name, schema) in used.flatMap(\.named) {
      let json = schema.json
      precondition(known[name] == nil || known[name] == json, "Two schemas have the name \(name)")
      known[name] = json
    }
    return .object(known.sorted { $0.key < $1.key }.map { JSONMember($0.key, $0.value) })
  }

  private static func method(_ method: Method) -> JSONValue {
    var members: [JSONMember] = [
      JSONMember("name", .string(method.name)),
      JSONMember("summary", .string(method.summary)),
      JSONMember("paramStructure", "by-name"),
      JSONMember("params", .array(method.params.map(descriptor))),
    ]
    if let result = method.result {
      members.append(JSONMember("result", ["name": "result", "schema": result.json]))
    }
    if !method.errors.isEmpty {
      members.append(
        JSONMember(
          "errors",
          .array(
            method.errors.map { ["$ref": .string("#/components/errors/\($0.rawValue)")] }
          )
        )
      )
    }
    if let subscription = method.subscription {
      members.append(
        JSONMember(
          "x-subscription",
          [
            "notification": .string(subscription.notification),
            "end": .string(subscription.end),
          ]
        )
      )
    }
    members.append(JSONMember("x-direction", .string(method.direction.rawValue)))
    if let example = example(of: method) { members.append(JSONMember("examples", [example])) }
    return .object(members)
  }

  /// Returns the example of a method with its result; nil for a method that returns a document.
  private static func example(of method: Method) -> JSONValue? {
    let params = (method.example.members ?? []).map { member -> JSONValue in
      ["name": .string(member.name), "value": member.value]
    }
    var members = [JSONMember("name", .string(method.name)), JSONMember("params", .array(params))]
    if let result = method.exampleResult {
      members.append(JSONMember("result", ["name": "result", "value": result]))
    } else if method.isRequest {
      return nil
    }
    return .object(members)
  }

  private static func descriptor(_ field: Field) -> JSONValue {
    [
      "name": .string(field.name), "summary": .string(field.summary),
      "required": .bool(field.isRequired), "schema": field.schema.json,
    ]
  }
}
