import Cordial
import CordialValues
import JSON
import Testing

/// A task as a context edits it.
struct EditedTask: ObjectValue {
  static let entity = "Task"
  static let properties = ["groupTitle": "group.title"]

  var id: WrappedID
  var title: String?
  var priority: Int?
  var done = false
  var group: WrappedID?
  var groupTitle: String?
  var labels: [WrappedID] = []
}

private struct GroupName: ObjectValue {
  static let entity = "Group"
  var id: WrappedID
  var title: String?
}

@Suite struct `A context` {
  @Test @MainActor func `saves its changes together, and follows to the permanent IDs`()
    async throws
  {
    try await withService { _, client in
      let context = Context(client)
      let group = context.insert { TodoGroup(id: $0, title: "Home", taskCount: 0) }
      let temporary = group.id
      let task = context.insert { EditedTask(id: $0, title: "a", group: temporary) }
      #expect(context.changes.inserted == [temporary, task.id] && context.hasChanges)
      try await context.save()
      #expect(!context.hasChanges)
      #expect(!group.id.isTemporary && group.value?.id == group.id)
      #expect(task.group == group.id)
      // What the store computes is there after the save.
      #expect(group.taskCount == 1 && task.groupTitle == "Home")
      #expect(try context.registeredObject(TodoGroup.self, for: temporary) === group)
      #expect(try context.registeredObject(TodoGroup.self, for: group.id) === group)

      // The temporary ID stays valid in later changes.
      let other = context.insert { EditedTask(id: $0, title: "b", group: temporary) }
      try await context.save()
      #expect(other.group == group.id)
      #expect(
        try await client.count(FetchRequest<EditedTask>(predicate: "group == \(group.id)")) == 2
      )
    }
  }

  @Test @MainActor func `has one object for each ID`() async throws {
    try await withService(groups: ["a"]) { _, client in
      let context = Context(client)
      let id = try #require(WrappedID("Group/p1"))
      #expect(try context.registeredObject(TodoGroup.self, for: id) == nil)
      let fault = try context.object(TodoGroup.self, with: id)
      #expect(fault.value == nil && !fault.isDeleted)
      let object = try await context.existingObject(TodoGroup.self, with: id)
      #expect(object === fault && object.title == "a")
      #expect(try await context.fetch(FetchRequest<TodoGroup>()).first === object)
      let other = #expect(throws: ClientError.self) { try context.object(GroupName.self, with: id) }
      #expect(other?.message == "This context has Group/p1 as a TodoGroup, not as a GroupName")

      let missing = try #require(WrappedID("Group/p9"))
      let error = await #expect(throws: ClientError.self) {
        _ = try await context.existingObject(TodoGroup.self, with: missing)
      }
      #expect(error?.code == .objectNotFound)
      let mock = #expect(throws: ClientError.self) {
        try context.object(TodoGroup.self, with: .string("Group1"))
      }
      #expect(mock?.code == .mockIdentifier)
    }
  }

  @Test @MainActor func `discards its changes`() async throws {
    try await withService(groups: ["a", "b"]) { _, client in
      let context = Context(client)
      let groups = try await context.fetch(FetchRequest<GroupName>(sort: ["title"]))
      try groups[0].update { $0.title = "x" }
      context.delete(groups[1])
      let inserted = context.insert { GroupName(id: $0, title: "c") }
      #expect(context.changes.updated == [groups[0].id])
      #expect(context.changes.deleted == [groups[1].id])
      context.rollback()
      #expect(!context.hasChanges && !context.canUndo)
      #expect(groups.map(\.title) == ["a", "b"])
      #expect(inserted.value == nil)
      #expect(try await context.save() == nil)
      let error = #expect(throws: ClientError.self) { try inserted.update { $0.title = "y" } }
      #expect(error?.code == .objectNotFound)
    }
  }

  @Test @MainActor func `reverts steps and groups of steps`() async throws {
    try await withService(groups: ["a", "b"]) { _, client in
      let context = Context(client)
      let groups = try await context.fetch(FetchRequest<GroupName>(sort: ["title"]))
      try groups[0].update { $0.title = "a2" }
      try context.undoGroup {
        try groups[0].update { $0.title = "a3" }
        context.delete(groups[1])
        context.insert { GroupName(id: $0, title: "c") }
      }
      #expect(context.changes.inserted.count == 1)
      context.undo()
      #expect(groups.map(\.title) == ["a2", "b"] && context.changes.inserted.isEmpty)
      context.undo()
      #expect(!context.hasChanges && !context.canUndo)
      context.redo()
      context.redo()
      #expect(groups[0].title == "a3" && groups[1].value == nil)
      #expect(context.changes.inserted.count == 1 && !context.canRedo)
      try await context.save()
      #expect(
        try await client.fetch(FetchRequest<GroupName>(sort: ["title"])).map(\.title) == [
          "a3", "c",
        ]
      )
    }
  }

  @Test @MainActor func `follows the store, and keeps what it has changed`() async throws {
    try await withService { _, client in
      let context = Context(client)
      let task = context.insert { EditedTask(id: $0, title: "a", priority: 1) }
      try await context.save()
      try task.update { $0.priority = 5 }
      try await client.rename(task.id.description, "theirs")
      try await wait { task.title == "theirs" }
      #expect(task.priority == 5)
      #expect(context.changes.updated == [task.id])
      // The context has seen their change, so that it is no conflict.
      try await context.save()
      let stored = try await client.value(EditedTask.self, with: task.id)
      #expect(stored?.title == "theirs" && stored?.priority == 5)

      try await client.delete(task.id.description)
      try await wait { task.value == nil }
      #expect(task.isDeleted && !context.hasChanges)
    }
  }

  @Test @MainActor func `follows each object that it gets`() async throws {
    try await withService(groups: (1...30).map { "\($0)" }) { host, client in
      let context = Context(client)
      var groups: [ContextObject<GroupName>] = []
      // The requests for the later ones wait for the answer to the first.
      for number in 1...31 {
        groups.append(try context.object(with: try #require(WrappedID("Group/p\(number)"))))
      }
      try await wait { groups[..<30].allSatisfy { $0.value != nil } && groups[30].isDeleted }
      try await client.rename("Group/p30", "x")
      try await wait { groups[29].title == "x" }
      #expect(try await host.subscriptionCount(client) == 1)
      context.reset()
      try await wait { try await host.subscriptionCount(client) == 0 }
    }
  }

  @Test @MainActor func `does not follow the store where that is switched off`() async throws {
    try await withService { host, client in
      let context = Context(client, automaticallyMergesChanges: false)
      let task = context.insert { EditedTask(id: $0, title: "a", priority: 1) }
      try await context.save()
      try await client.rename(task.id.description, "theirs")
      #expect(try await host.subscriptionCount(client) == 0)
      try task.update { $0.priority = 5 }
      let error = await #expect(throws: ClientError.self) { try await context.save() }
      #expect(error?.code == .saveConflict)
      #expect(task.priority == 5 && task.title == "a" && context.hasChanges)
      try await context.save(mergePolicy: .objectTrump)
      #expect(task.title == "theirs" && task.priority == 5 && !context.hasChanges)

      try task.update { $0.priority = 6 }
      try await client.delete(task.id.description)
      let missing = await #expect(throws: ClientError.self) { try await context.save() }
      #expect(missing?.code == .objectNotFound)
      context.rollback()
      #expect(!context.hasChanges)
    }
  }

  @Test @MainActor func `adds to lists on both sides`() async throws {
    try await withService { _, client in
      let context = Context(client)
      let labels = ["x", "y"].map { _ in context.insert { LabelName(id: $0, name: "l") } }
      let task = context.insert { EditedTask(id: $0, labels: [labels[0].id]) }
      try await context.save()
      let other = Context(client, automaticallyMergesChanges: false)
      let theirs = try await other.existingObject(EditedTask.self, with: task.id)
      try theirs.update { $0.labels = [] }
      try task.update { $0.labels.append(labels[1].id) }
      try await other.save()
      try await wait { task.labels == [labels[1].id] }
      try await context.save()
      #expect(try await client.value(EditedTask.self, with: task.id)?.labels == [labels[1].id])
    }
  }

  @Test @MainActor func `ends its subscriptions when it is released`() async throws {
    try await withService(groups: ["a"]) { host, client in
      do {
        let context = Context(client)
        _ = try await context.fetch(FetchRequest<GroupName>())
        try await wait { try await host.subscriptionCount(client) == 1 }
      }
      try await wait { try await host.subscriptionCount(client) == 0 }
    }
  }

  @Test func `works off the main actor`() async throws {
    try await withService { _, client in
      let background = BackgroundContext(client)
      let ids = try await background.perform { _, context in
        let groups = (0..<100).map { number in
          context.insert { GroupName(id: $0, title: "\(number)") }
        }
        try await context.save()
        return groups.map(\.id)
      }
      #expect(ids.count == 100 && ids.allSatisfy { !$0.isTemporary })
      let count = await background.perform(schedule: .enqueued) { _, context in
        context.changes.inserted.count
      }
      #expect(count == 0)
      #expect(try await client.count(FetchRequest<GroupName>()) == 100)
    }
  }
}

private struct LabelName: ObjectValue {
  static let entity = "Label"
  var id: WrappedID
  var name: String?
}
