import Cordial
import CordialValues
import Testing

/// A task with properties that are named as keywords of Swift.
private struct Keywords: ObjectValue {
  static let entity = "Odd"
  var id: WrappedID
  var `default`: String
  var `class`: Int?
  var `in`: Bool
}

/// The title of a group, for a view that shows no more.
private struct GroupTitle: ObjectValue {
  static let entity = "Group"
  var id: WrappedID
  var title: String
}

@Suite struct `Types of values` {
  private static let model = """
    {"name": "Odd", "version": "1", "entities": [{"name": "Odd", "attributes": [
      {"name": "default", "type": "string", "optional": true},
      {"name": "class", "type": "int32", "optional": true},
      {"name": "in", "type": "boolean", "default": false}]}]}
    """

  @Test func `may have properties that are named as keywords`() async throws {
    try await withService(model: Self.model) { _, client in
      var changes = SaveRequest()
      try changes.insert { Keywords(id: $0, default: "a", class: 1, in: true) }
      try changes.insert { Keywords(id: $0, default: "b", in: false) }
      try await client.save(changes)
      let request = FetchRequest<Keywords>(where: \.default == "a", sort: ["default"])
      let found = try await client.fetch(request)
      #expect(found.map(\.default) == ["a"] && found.map(\.class) == [1])
      #expect(try await client.count(FetchRequest<Keywords>(where: \.in == false)) == 1)
    }
  }

  @Test @MainActor func `may be several for one entity`() async throws {
    try await withService(groups: ["a"]) { _, client in
      let groups = FetchedResults(
        .fetchRequest(client.objects(TodoGroup.self)),
        request: FetchRequest()
      )
      let titles = FetchedResults(
        .fetchRequest(client.objects(GroupTitle.self)),
        request: FetchRequest()
      )
      func shown() -> [String?] {
        groups.map { $0.wrappedValue?.title } + titles.map { $0.wrappedValue?.title }
      }
      try await wait { shown() == ["a", "a"] }
      let former = try #require(titles[0].wrappedValue)
      var changes = SaveRequest()
      try changes.update(former, to: GroupTitle(id: former.id, title: "b"))
      try await client.save(changes)
      try await wait { shown() == ["b", "b"] }
      // A context has one object for each ID, and so one type.
      let context = Context(client)
      _ = try await context.existingObject(TodoGroup.self, with: former.id)
      let error = await #expect(throws: ClientError.self) {
        _ = try await context.existingObject(GroupTitle.self, with: former.id)
      }
      #expect(error?.code == .valueMismatch)
    }
  }
}
