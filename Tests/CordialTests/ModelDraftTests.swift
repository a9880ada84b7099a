import Cordial
import CordialValues
import JSON
import ObjectModel
import Testing

@Suite struct `A model that is drafted from values` {
  private struct Memo: Codable, Equatable, Sendable {
    var text: String
  }

  private struct DetailedTask: ObjectValue {
    static let entity = "Task"
    static let properties = ["memo": "memo.content", "groupTitle": "group.title"]

    var id: WrappedID
    var title: String
    var memo: String?
    var groupTitle: String?
    var parts: [WrappedID]
    var place: Memo?
  }

  private struct NumberedTask: ObjectValue {
    static let entity = "Task"

    var id: WrappedID
    var title: Int
  }

  private static let tasks = [
    TodoTask(id: .integer(1), title: "Milk", priority: .high, group: .string("Group1"))
  ]

  @Test @MainActor func `serves those values`() async throws {
    var draft = ModelDraft("Todo")
    try draft.add(TodoTask.self, samples: Self.tasks)
    try draft.add(TodoGroup.self, samples: [.sample])
    try draft.add(DetailedTask.self)
    let expected = """
      {"name":"Todo","version":"1","entities":[{"name":"Task","attributes":[\
      {"name":"title","type":"string"},{"name":"priority","type":"int64"},\
      {"name":"place","type":"string","optional":true}],"relationships":[\
      {"name":"group","destination":"Group","inverse":"tasks","optional":true},\
      {"name":"parts","destination":"Part","toMany":true},\
      {"name":"memo","destination":"Memo","optional":true}]},\
      {"name":"Group","attributes":[{"name":"title","type":"string"}],"relationships":[\
      {"name":"tasks","destination":"Task","toMany":true,"inverse":"group"}]},\
      {"name":"Part","attributes":[]},\
      {"name":"Memo","attributes":[{"name":"content","type":"string","optional":true}]}]}
      """
    #expect(try JSONParser.parse(draft.text) == JSONParser.parse(expected))
    #expect(
      draft.decisions.prefix(4) == [
        "Task.place: no sample has a value, so string is a guess",
        "Task.group: what becomes of the Group when its Task is deleted "
          + "(deleteRule: nullify keeps it; cascade, deny)",
        "Task.parts: the entity Part is a guess from the name",
        "Task.parts: whether Part has an inverse of it",
      ]
    )
    try await withService(model: draft.text) { _, client in
      let context = Context(client)
      let group = context.insert { TodoGroup(id: $0, title: "Home", taskCount: 0) }
      context.insert { TodoTask(id: $0, title: "Milk", priority: .low, group: group.id) }
      try await context.save()
      let groups = try await client.fetch(FetchRequest<TodoGroup>())
      #expect(groups.map(\.taskCount) == [1])
      let tasks = try await client.fetch(FetchRequest<DetailedTask>())
      #expect(tasks.map(\.groupTitle) == ["Home"])
    }
  }

  @Test func `takes the types of enumerations and structures from samples`() throws {
    var draft = ModelDraft("Todo")
    var sample = DetailedTask(id: .integer(1), title: "", parts: [.integer(2)])
    sample.place = Memo(text: "")
    try draft.add(DetailedTask.self, samples: [sample])
    try draft.add(
      NumberedTask.self,
      samples: [],
      failing: { error in
        #expect(error.code == .valueMismatch)
        #expect(error.message.contains("NumberedTask.title is of type int64"), "\(error.message)")
      }
    )
    let model = try ModelDocument.model(from: try JSONParser.parse(draft.text))
    let task = try #require(model.entity(named: "Task"))
    #expect(task.attributes.first { $0.name == "place" }?.type == .json)
    #expect(task.attributes.first { $0.name == "title" }?.type == .string)
  }
}

extension ModelDraft {
  /// Adds a type that does not fit the others.
  fileprivate mutating func add<Value: ObjectValue>(
    _ type: Value.Type,
    samples: [Value],
    failing check: (ClientError) -> Void
  ) throws {
    let text = self.text
    do throws(ClientError) {
      try add(type, samples: samples)
      Issue.record("\(type) fits")
    } catch {
      check(error)
    }
    // A failure leaves the draft as it was.
    #expect(self.text == text)
  }
}
