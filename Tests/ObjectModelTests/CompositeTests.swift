import CordialValues
import JSON
import ObjectModel
import Testing

@Suite struct `Composites of a model file` {
  private func model(_ attributes: String, _ more: String = "") throws -> Model {
    let text = #"{"name":"M","entities":[{"name":"A","attributes":[\#(attributes)]\#(more)}]}"#
    return try ModelDocument.parse(Array(text.utf8).span)
  }

  private func problems(_ attributes: String, _ more: String = "") throws -> [String] {
    let error = try #require(throws: ModelError.self) { try model(attributes, more) }
    return error.problems.map { "\($0.path): \($0.message)" }
  }

  private func composite(_ name: String, _ members: String, _ more: String = "") -> String {
    #"{"name":"\#(name)","type":"composite","members":[\#(members)]\#(more)}"#
  }

  private let city = #"{"name":"city","type":"string","default":"Bonn"}"#
  private let zip = #"{"name":"zip","type":"int32","optional":true,"minimum":1}"#

  // Evidence: P-110f
  @Test func `each member is an attribute that its path names`() throws {
    let inner = composite("place", #"{"name":"lat","type":"double"}"#)
    let text = composite("address", "\(city),\(inner),\(zip)")
    let entity = try #require(model(text).entities.first)
    #expect(entity.attributes.map(\.name) == ["address.city", "address.place.lat", "address.zip"])
    #expect(entity.attributes.map(\.defaultValue) == [.string("Bonn"), .null, .null])
    #expect(entity.attributes.map(\.optional) == [false, false, true])
    #expect(
      entity.composites == [
        CompositeDescription(name: "address", members: ["city", "place", "zip"]),
        CompositeDescription(name: "address.place", members: ["lat"]),
      ]
    )
  }

  // Evidence: P-110f
  @Test func `faults have their paths`() throws {
    #expect(
      try problems(composite("a", "")) == [
        "entities[0].attributes[0].members: A composite has at least one member"
      ]
    )
    #expect(
      try problems(composite("a", city, #","default":{"city":"x"}"#)) == [
        "entities[0].attributes[0].default: A composite has no default: give it to each of its members"
      ]
    )
    #expect(
      try problems(composite("a", "\(city),\(composite("City", zip))")) == [
        "entities[0].attributes[0].members[1].name: Two properties are named City, ignoring case"
      ]
    )
    let derived = #"{"name":"d","type":"date","derived":"now()"}"#
    #expect(
      try problems(composite("a", derived)).first?.hasPrefix(
        "entities[0].attributes[0].members[0].derived: Unknown member"
      ) == true
    )
    #expect(try problems(composite("a", #"{"name":"x.y","type":"date"}"#)).count == 1)
    #expect(
      try problems("\(composite("a", city)),\(composite("A", zip))") == [
        "entities[0].attributes[1].name: Two properties are named A, ignoring case"
      ]
    )
    #expect(
      try problems(composite("a", city), #","identity":"a.city""#) == [
        "entities[0].identity: The identity must be the name of an attribute of the entity"
      ]
    )
    #expect(
      try problems(composite("a", city), #","unique":[["a"]]"#) == [
        "entities[0].unique[0]: Expected a list of names of attributes and to-ones"
      ]
    )
    #expect(try problems(#"{"name":"a","type":"nothing"}"#).first?.contains("composite") == true)
  }

  // Evidence: P-110f
  @Test func `composites are at most eight deep, and members count as attributes`() throws {
    func nested(_ depth: Int) -> String {
      depth == 0 ? city : composite("c\(depth)", nested(depth - 1))
    }
    #expect(try model(nested(8)).entities.first?.attributes.count == 1)
    #expect(try problems(nested(9)).contains { $0.contains("At most 8 composites") })
    let many = (0...400).map { #"{"name":"m\#($0)","type":"int32"}"# }.joined(separator: ",")
    #expect(
      try problems(composite("a", many)) == [
        "entities[0]: An entity has at most 400 attributes and to-ones, not 401"
      ]
    )
  }

  @Test func `a child does not repeat the composite of its parent`() throws {
    let text = """
      {"name":"M","entities":[{"name":"A","attributes":[\(composite("a", city))]},
        {"name":"B","parent":"A","attributes":[\(composite("A", zip))]}]}
      """
    let error = try #require(throws: ModelError.self) {
      try ModelDocument.parse(Array(text.utf8).span)
    }
    #expect(error.problems.map(\.message) == ["The entity already inherits A from A"])
  }

  // Evidence: P-110g
  @Test func `a composite passes on its former name and what history preserves`() throws {
    let named = #"{"name":"town","type":"string","renamedFrom":"city"}"#
    let more = #","renamedFrom":"home","preserveAfterDeletion":true"#
    let attributes = try #require(
      model(composite("address", "\(named),\(zip),\(composite("p", city))", more)).entities.first
    ).attributes
    #expect(attributes.map(\.renamedFrom) == ["home.city", "home.zip", "home.p.city"])
    #expect(attributes.map(\.isPreserved) == [true, true, true])
    let plain = try #require(model(composite("a", "\(named),\(zip)")).entities.first).attributes
    #expect(plain.map(\.renamedFrom) == ["a.city", nil])
    #expect(plain.map(\.isPreserved) == [false, false])
  }

  @Test func `the hash depends on the members, and not on their order`() throws {
    let one = try model(composite("a", "\(city),\(zip)"))
    #expect(try model(composite("a", "\(zip),\(city)")).hash == one.hash)
    #expect(try model(composite("a", city)).hash != one.hash)
    #expect(try model(composite("a", "\(zip),\(city)", #","userInfo":{"x":"y"}"#)).hash == one.hash)
  }

  // Evidence: P-043b
  @Test func `objects become values of their members, and nulls nulls`() throws {
    let text = composite("a", "\(city),\(composite("p", zip))")
    let entity = try #require(model(text).entities.first)
    func expanded(_ json: String) throws -> String {
      let value = try JSONParser.parse(Array(json.utf8).span)
      return JSONValue.object(entity.expanded(value.members ?? [])).text
    }
    #expect(try expanded(#"{"a":{"city":"x","p":{"zip":2}}}"#) == #"{"a.city":"x","a.p.zip":2}"#)
    #expect(try expanded(#"{"a":null}"#) == #"{"a.city":null,"a.p.zip":null}"#)
    #expect(try expanded(#"{"a":{"p":null}}"#) == #"{"a.p.zip":null}"#)
    #expect(try expanded(#"{"a":{"p":7,"q":{"r":1}}}"#) == #"{"a.p":7,"a.q":{"r":1}}"#)
    #expect(try expanded(#"{"a":{},"b":1}"#) == #"{"b":1}"#)
    #expect(try expanded(#"{"a":{"city":"x"},"a.city":"y"}"#) == #"{"a.city":"y"}"#)
    #expect(
      try expanded(#"{"a.city":"y","b":1,"a":null}"#) == #"{"b":1,"a.city":null,"a.p.zip":null}"#
    )
  }
}
