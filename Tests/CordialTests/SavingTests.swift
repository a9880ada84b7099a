import Cordial
import CordialValues
import Testing

/// A task with what the store computes, and with its lists.
private struct DetailedTask: ObjectValue {
  static let entity = "Task"
  static let properties = ["name": "title", "groupTitle": "group.title"]

  var id: WrappedID
  var name: String?
  var priority: Int?
  var done: Bool = false
  var group: WrappedID?
  var groupTitle: String?
  var labels: [WrappedID] = []
}

private struct TaskLabel: ObjectValue {
  static let entity = "Label"
  var id: WrappedID
  var name: String?
}

@Suite struct `Saving values` {
  private let all = FetchRequest<DetailedTask>(sort: ["title"])

  @Test func `inserts objects that refer to each other`() async throws {
    try await withService { _, client in
      var changes = SaveRequest()
      let group = try changes.insert { TodoGroup(id: $0, title: "Home", taskCount: 9) }
      let task = try changes.insert {
        DetailedTask(id: $0, name: "Buy milk", priority: 1, group: group.id)
      }
      let result = try await client.save(changes)
      let id = try #require(result.ids[task.id])
      let stored = try #require(try await client.value(DetailedTask.self, with: id))
      #expect(stored.name == "Buy milk" && stored.groupTitle == "Home" && stored.priority == 1)
      #expect(stored.group == result.ids[group.id])
      #expect(result.versions[id] == 1)
      #expect(try await client.fetch(FetchRequest<TodoGroup>()).map(\.taskCount) == [1])
    }
  }

  @Test func `sends what differs, so that an old value overwrites nothing else`() async throws {
    try await withService { host, client in
      let old = try await task(client, "a")
      let other = try await host.client()
      var changed = old
      changed.priority = 7
      var theirs = SaveRequest()
      try theirs.update(old, to: changed, version: 1)
      try await other.save(theirs)
      changed = old
      changed.name = "b"
      changed.done = true
      var ours = SaveRequest()
      try ours.update(old, to: changed, version: 1)
      try await client.save(ours, mergePolicy: .objectTrump)
      let stored = try #require(try await client.value(DetailedTask.self, with: old.id))
      #expect(stored.name == "b" && stored.done && stored.priority == 7)

      var conflict = SaveRequest()
      changed = old
      changed.priority = 3
      try conflict.update(old, to: changed, version: 1)
      let error = await #expect(throws: ClientError.self) { try await client.save(conflict) }
      #expect(error?.code == .saveConflict)
      try await client.save(conflict, mergePolicy: .objectTrump)
      #expect(try await client.value(DetailedTask.self, with: old.id)?.priority == 3)
      other.close()
    }
  }

  @Test func `changes a list by what was added and removed`() async throws {
    try await withService { _, client in
      var inserts = SaveRequest()
      let labels = try ["x", "y", "z"].map { name in
        try inserts.insert { TaskLabel(id: $0, name: name) }
      }
      let first = try inserts.insert {
        DetailedTask(id: $0, name: "a", labels: [labels[0].id, labels[1].id])
      }
      let ids = try await client.save(inserts).ids
      let id = try #require(ids[first.id])
      let old = try #require(try await client.value(DetailedTask.self, with: id))
      let permanent = try labels.map { try #require(ids[$0.id]) }
      // Another client adds z; this one replaces x by nothing.
      var (theirs, ours) = (old, old)
      theirs.labels.append(permanent[2])
      ours.labels.removeAll { $0 == permanent[0] }
      for changed in [theirs, ours] {
        var changes = SaveRequest()
        try changes.update(old, to: changed)
        try await client.save(changes)
      }
      let stored = try #require(try await client.value(DetailedTask.self, with: id))
      #expect(Set(stored.labels) == [permanent[1], permanent[2]])
    }
  }

  @Test func `sends null for nil, and nothing for equal values`() async throws {
    try await withService { _, client in
      let old = try await task(client, "a")
      var same = SaveRequest()
      try same.update(old, to: old)
      #expect(same.isEmpty)
      var changed = old
      changed.name = nil
      var changes = SaveRequest()
      try changes.update(old, to: changed)
      try await client.save(changes)
      let stored = try await client.value(DetailedTask.self, with: old.id)
      #expect(stored == changed)
    }
  }

  @Test func `refuses what a store cannot be given`() async throws {
    try await withService { _, client in
      let old = try await task(client, "a")
      var changed = old
      changed.groupTitle = "x"
      var changes = SaveRequest()
      let computed = #expect(throws: ClientError.self) { try changes.update(old, to: changed) }
      #expect(computed?.code == .valueMismatch)
      #expect(computed?.message.contains("groupTitle is computed") == true)

      changed = old
      changed.group = .string("Group1")
      let mock = #expect(throws: ClientError.self) { try changes.update(old, to: changed) }
      #expect(mock?.code == .mockIdentifier)
      #expect(mock?.message.contains("Group1") == true)

      let other = DetailedTask(id: .objectID(ObjectID(entity: "Task", key: .object(99))))
      let two = #expect(throws: ClientError.self) { try changes.update(old, to: other) }
      #expect(two?.code == .invalidIdentifier)

      let permanent = #expect(throws: ClientError.self) { try changes.insert { _ in old } }
      #expect(permanent?.code == .invalidIdentifier)

      #expect(changes.isEmpty)
      changes.delete(.string("Group1"))
      let deleted = await #expect(throws: ClientError.self) { try await client.save(changes) }
      #expect(deleted?.code == .mockIdentifier)
      #expect(try await client.count(all) == 1)
    }
  }

  @Test func `repeats a save whose response was lost, and stores it once`() async throws {
    try await withService { host, client in
      let unlucky = try await host.client(losing: "save")
      var changes = SaveRequest()
      let task = try changes.insert { DetailedTask(id: $0, name: "once") }
      let result = try await unlucky.save(changes)
      #expect(result.ids[task.id] != nil)
      #expect(try await client.fetch(all).map(\.name) == ["once"])
      unlucky.close()
    }
  }

  @Test func `is undone and applied again`() async throws {
    try await withService { _, client in
      var changes = SaveRequest()
      _ = try changes.insert { DetailedTask(id: $0, name: "a") }
      try await client.save(changes, author: "me")
      #expect(try await client.undo(author: "me") == 1)
      #expect(try await client.count(all) == 0)
      try await client.redo(author: "me")
      #expect(try await client.count(all) == 1)
    }
  }

  private func task(_ client: Client, _ name: String) async throws -> DetailedTask {
    var changes = SaveRequest()
    let task = try changes.insert { DetailedTask(id: $0, name: name) }
    let id = try #require(try await client.save(changes).ids[task.id])
    return try #require(try await client.value(DetailedTask.self, with: id))
  }
}

@Suite struct `A type that the model does not have` {
  private struct Misspelt: ObjectValue {
    static let entity = "Group"
    var id: WrappedID
    var titel: String
  }

  private struct WrongType: ObjectValue {
    static let entity = "Task"
    static let properties = ["due": "title", "count": "labels.@count"]
    var id: WrappedID
    var count: Int
    var due: Int
  }

  private struct WrongNumber: ObjectValue {
    static let entity = "Task"
    static let properties = ["count": "labels.@count"]
    var id: WrappedID
    var count: String
  }

  private struct OneLabel: ObjectValue {
    static let entity = "Task"
    var id: WrappedID
    var labels: WrappedID
  }

  private struct WrongDate: ObjectValue {
    static let entity = "Task"
    static let properties = ["key": "due"]
    var id: WrappedID
    var key: UUIDValue
  }

  private struct WrongPath: ObjectValue {
    static let entity = "Task"
    static let properties = ["name": "group.name"]
    var id: WrappedID
    var name: String
  }

  private struct Unknown: ObjectValue {
    static let entity = "List"
    var id: WrappedID
  }

  private struct Projected: ObjectValue {
    static let entity = "Group"
    static let projection: String? = "Summary"
    var id: WrappedID
  }

  private func error<Value: ObjectValue>(_ type: Value.Type) async throws -> ClientError {
    var found: ClientError?
    try await withService { _, client in
      found = await #expect(throws: ClientError.self, "\(type)") {
        try await client.fetch(FetchRequest<Value>())
      }
    }
    return try #require(found)
  }

  @Test func `is an error that lists what the entity has`() async throws {
    let misspelt = try await error(Misspelt.self)
    #expect(misspelt.code == .unknownProperty)
    #expect(
      misspelt.message
        == #"Misspelt.titel: Group has no property "titel"; it has title, rank, tasks"#
    )
    let path = try await error(WrongPath.self)
    #expect(
      path.message == #"WrongPath.name: Group has no property "name"; it has title, rank, tasks"#
    )
    let unknown = try await error(Unknown.self)
    #expect(unknown.code == .unknownEntity)
    #expect(unknown.message.hasSuffix("it has Group, Label, Memo, Task"))
    let projected = try await error(Projected.self)
    #expect(
      projected.message == #"Projected: the model has no values "Summary" of Group; it has none"#
    )
  }

  @Test func `is an error where a property has another type`() async throws {
    let text = try await error(WrongType.self)
    #expect(text.code == .valueMismatch)
    #expect(
      text.message
        == #"WrongType.due is an integer, but "title" is an attribute of type string of Task"#
    )
    #expect(try await error(WrongNumber.self).message.contains("is a number of objects"))
    #expect(try await error(OneLabel.self).message.contains("a to-many relationship to Label"))
    #expect(try await error(WrongDate.self).message.contains("an attribute of type date"))
  }

  @Test @MainActor func `is reported when the request of a result opens`() async throws {
    try await withService(groups: ["a"]) { _, client in
      let results = FetchedResults(
        .fetchRequest(client.objects(Misspelt.self)),
        request: FetchRequest()
      )
      try await wait { results.error != nil }
      #expect(results.error?.code == .unknownProperty)
      #expect(results.isEmpty)
    }
  }

  @Test func `has no object of another entity`() async throws {
    try await withService(groups: ["a"]) { _, client in
      let task = WrappedID.objectID(ObjectID(entity: "Task", key: .object(1)))
      let error = await #expect(throws: ClientError.self) {
        try await client.value(TodoGroup.self, with: task)
      }
      #expect(error?.code == .invalidIdentifier)
      #expect(
        FetchDataSource.fetchRequest(client.objects(TodoGroup.self)).object(with: task) == nil
      )
    }
  }
}
