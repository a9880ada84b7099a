/// The model of the random graphs: every attribute type, and references in cycles.
enum GraphSchema {
  enum Kind {
    case integer, double, decimal, text, flag, date, token, json
  }

  /// An attribute with its kind.
  struct Attribute {
    let name: String
    let type: String
    let kind: Kind
  }

  static let attributes: [String: [Attribute]] = [
    "Thing": [
      Attribute(name: "title", type: "string", kind: .text),
      Attribute(name: "text", type: "string", kind: .text),
      Attribute(name: "small", type: "int16", kind: .integer),
      Attribute(name: "middle", type: "int32", kind: .integer),
      Attribute(name: "large", type: "int64", kind: .integer),
      Attribute(name: "real", type: "double", kind: .double),
      Attribute(name: "single", type: "float", kind: .double),
      Attribute(name: "price", type: "decimal", kind: .decimal),
      Attribute(name: "flag", type: "boolean", kind: .flag),
      Attribute(name: "moment", type: "date", kind: .date),
      Attribute(name: "code", type: "uuid", kind: .token),
      Attribute(name: "link", type: "uri", kind: .token),
      Attribute(name: "bytes", type: "binary", kind: .token),
      Attribute(name: "facts", type: "json", kind: .json),
    ],
    "Tag": [
      Attribute(name: "name", type: "string", kind: .text),
      Attribute(name: "weight", type: "int16", kind: .integer),
      Attribute(name: "share", type: "double", kind: .double),
      Attribute(name: "rate", type: "decimal", kind: .decimal),
      Attribute(name: "due", type: "date", kind: .date),
    ],
  ]

  /// The to-ones of each entity, with their destinations.
  static let toOnes = ["Thing": [("leader", "Thing")], "Tag": [("owner", "Thing")]]

  /// The to-manys of each entity, with their destinations.
  ///
  /// The order of `ranked` is its own.
  static let toManys = [
    "Thing": [
      ("followers", "Thing"), ("friends", "Thing"), ("befriended", "Thing"), ("tags", "Tag"),
      ("ranked", "Tag"), ("owned", "Tag"),
    ],
    "Tag": [("things", "Thing"), ("ranking", "Thing")],
  ]

  /// Returns the names of an entity's attributes of some kinds.
  static func names(_ entity: String, _ kinds: [Kind]) -> [String] {
    (attributes[entity] ?? []).filter { kinds.contains($0.kind) }.map(\.name)
  }

  static var model: String {
    func list(_ entity: String) -> String {
      (attributes[entity] ?? []).map {
        #"{"name":"\#($0.name)","type":"\#($0.type)","optional":true}"#
      }.joined(separator: ",")
    }
    return """
      {"name":"Graph","entities":[
        {"name":"Thing","attributes":[\(list("Thing"))],"relationships":[
          {"name":"leader","destination":"Thing","inverse":"followers","optional":true},
          {"name":"followers","destination":"Thing","toMany":true,"inverse":"leader"},
          {"name":"friends","destination":"Thing","toMany":true,"inverse":"befriended"},
          {"name":"befriended","destination":"Thing","toMany":true,"inverse":"friends"},
          {"name":"tags","destination":"Tag","toMany":true,"inverse":"things"},
          {"name":"ranked","destination":"Tag","toMany":true,"ordered":true,"inverse":"ranking"},
          {"name":"owned","destination":"Tag","toMany":true,"inverse":"owner"}]},
        {"name":"Special","parent":"Thing"},
        {"name":"Tag","attributes":[\(list("Tag"))],"relationships":[
          {"name":"things","destination":"Thing","toMany":true,"inverse":"tags"},
          {"name":"ranking","destination":"Thing","toMany":true,"inverse":"ranked"},
          {"name":"owner","destination":"Thing","inverse":"owned","optional":true}]}]}
      """
  }
}
