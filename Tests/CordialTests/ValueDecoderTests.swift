import Cordial
import CordialValues
import JSON
import Testing

@Suite struct `Decoding a value` {
  private func decode<Value: Decodable>(
    _ type: Value.Type,
    _ text: String
  ) throws -> Value {
    try ValueDecoder.decode(type, from: try JSONParser.parse(text))
  }

  private struct Everything: ObjectValue {
    struct Address: Codable, Equatable {
      var street: String
      var city: String?
    }

    static let entity = "Everything"

    var id: WrappedID
    var text: String
    var number: Double
    var small: Int16?
    var flag: Bool
    var ids: [WrappedID]
    var address: Address?
    var uuid: UUIDValue?
  }

  @Test func `reads every kind of property`() throws {
    let value = try decode(
      Everything.self,
      """
      {"id":"Everything/p1","version":1,"values":{"text":"a","number":2,"small":-3,"flag":true,
       "ids":["Task/p1","Task/p2"],"address":{"street":"Main","city":null},"uuid":null}}
      """
    )
    #expect(
      value
        == Everything(
          id: .objectID(ObjectID(entity: "Everything", key: .object(1))),
          text: "a",
          number: 2,
          small: -3,
          flag: true,
          ids: (1...2).map { .objectID(ObjectID(entity: "Task", key: .object($0))) },
          address: .init(street: "Main", city: nil),
          uuid: nil
        )
    )
  }

  @Test(arguments: [
    (#"{"title":null,"taskCount":1}"#, "title", "it is null, and String is not optional"),
    (#"{"title":"a"}"#, "taskCount", "the service did not send it"),
    (#"{"title":"a","taskCount":"1"}"#, "taskCount", "it is a string, not Int"),
    (#"{"title":"a","taskCount":1.5}"#, "taskCount", "it is a number, not Int"),
    (#"{"title":"a","taskCount":null}"#, "taskCount", "it is null, and Int is not optional"),
  ])
  func `invents no value`(values: String, property: String, reason: String) {
    let error = #expect(throws: ValueMismatch.self) {
      try decode(TodoGroup.self, #"{"id":"Group/p7","version":1,"values":\#(values)}"#)
    }
    #expect(error?.object == "Group/p7")
    #expect(error?.property == property)
    #expect(error?.reason == reason)
  }

  @Test func `names an unknown raw value, unless the type has a fallback`() throws {
    struct Strict: ObjectValue {
      enum Color: String, Codable, CaseIterable { case red, blue }
      static let entity = "Strict"
      var id: WrappedID
      var color: Color
    }
    let error = #expect(throws: ValueMismatch.self) {
      try decode(Strict.self, #"{"id":"Strict/p1","values":{"color":"pink"}}"#)
    }
    #expect(error?.property == "color")
    #expect(error?.reason.contains("pink") == true)
    let task = try decode(
      TodoTask.self,
      #"{"id":"Task/p1","values":{"title":"a","priority":9,"group":null}}"#
    )
    #expect(task.priority == .standard)
  }

  @Test func `an integer keeps its range`() {
    struct Small: Codable { var number: Int8 }
    let error = #expect(throws: ValueMismatch.self) {
      try decode(Small.self, #"{"id":"Small/p1","values":{"number":300}}"#)
    }
    #expect(error?.reason == "300 is out of the range of Int8")
  }
}

@Suite struct `The request of a type` {
  @Test func `selects what the type decodes`() {
    #expect(
      FetchRequest<TodoGroup>(predicate: "title == \("a")", sort: ["-title"], limit: 3).params
        == """
        {"entity":"Group","predicate":"title == %@","arguments":["a"],"sort":["-title"],\
        "limit":3,"select":{"taskCount":"tasks.@count","title":"title"}}
        """
    )
    #expect(
      FetchRequest<TodoTask>().params
        == """
        {"entity":"Task","select":{"group":"group","priority":"priority","title":"title"}}
        """
    )
  }

  @Test func `binds interpolated values`() {
    let predicate: FetchPredicate =
      "\(property: "title") CONTAINS[cd] \("' OR 1") AND priority IN \([1, 2]) AND group == \(nil as WrappedID?)"
    #expect(predicate.format == "%K CONTAINS[cd] %@ AND priority IN %@ AND group == %@")
    #expect(
      predicate.arguments
        == [.string("title"), .string("' OR 1"), .list([.integer(1), .integer(2)]), .null]
    )
  }

  @Test func `refuses a type that placeholders cannot decode`() async {
    struct Odd: ObjectValue {
      enum Kind: String, Codable { case one }
      static let entity = "Odd"
      var id: WrappedID
      var kind: Kind
    }
    struct Misspelt: ObjectValue {
      static let entity = "Odd"
      static let properties = ["tilte": "title"]
      var id: WrappedID
      var title: String
    }
    final class Link: Codable, Equatable, Sendable {
      let next: Link
      static func == (_: Link, _: Link) -> Bool { true }
    }
    struct Endless: ObjectValue {
      static let entity = "Odd"
      var id: WrappedID
      var link: Link
    }
    enum Progress: Codable, Equatable { case open, done(percent: Int) }
    struct Payload: ObjectValue {
      static let entity = "Odd"
      var id: WrappedID
      var progress: Progress
    }
    #expect(FetchRequest<Endless>().typeMismatch?.contains("contains itself") == true)
    #expect(FetchRequest<Payload>().typeMismatch?.contains("progress") == true)
    #expect(FetchRequest<Odd>().typeMismatch?.contains("kind") == true)
    #expect(FetchRequest<Odd>().typeMismatch?.contains("CaseIterable") == true)
    #expect(FetchRequest<Misspelt>().typeMismatch?.contains("tilte") == true)
  }
}
