import Cordial
import TodoModel
import TodoStore
import TodoValues
import TodoViews

// The first screen, on mocks.
let sample = GroupRow(id: .string("Group1"), title: "Home", taskCount: 2)
let rows = GroupList(.mockObjects(MockObjects([sample])))
try await expect(["Home (2)"]) { rows.lines }

// The screens on mocks.
let mocks = GroupScreen()
try await expect(["Home (2)", "Work (0)"]) { mocks.lines }
let mock = Mock(TodoGroup.samples[0])
let mockDetail = GroupDetail(mock.eraseToAny())
mock.title = "House"
try await expect(["House"]) { [mockDetail.line] }
mock.delete()
try await expect(["House was deleted"]) { [mockDetail.line] }

// The same screens on a store.
guard CommandLine.arguments.count == 3 else {
  throw Unexpected(message: "usage: outside MODEL FOLDER")
}
let (store, container) = try await TodoStore.inMemory(model: CommandLine.arguments[1])
TodoSources.registry.replace(with: store.sources)
let screen = GroupScreen()
guard let home = try await store.insert("Home", tasks: ["Milk", "Bread"]) else {
  throw Unexpected(message: "The save returned no ID")
}
try await expect(["Home (2)"]) { screen.lines }
let detail = GroupDetail(screen.groups[0])
let titles = try await store.open(in: home)
try await expect(["Bread", "Milk"]) { titles }

// The types that were generated from the model open against it.
let milk = FetchRequest<StoredTask>(where: \.title == "Milk", sort: [StoredTask.Path.createDate])
let stored = try await store.client.fetch(milk)
try await expect(["Milk 0"]) { stored.map { "\($0.title ?? "-") \($0.priority)" } }
let counted = try await store.client.fetch(FetchRequest<StoredTodoGroup>())
try await expect(["Home 2"]) { counted.map { "\($0.title ?? "-") \($0.taskCount)" } }
let memos = try await store.client.count(FetchRequest<StoredMemo>())
let groups = try await store.client.fetch(FetchRequest<StoredGroup>())
try await expect(["1 group, 0 memos"]) { ["\(groups.count) group, \(memos) memos"] }

// A scratch pad, undone before it is saved.
let context = Context(store.client)
let group = try await context.existingObject(TodoGroup.self, with: home)
try group.update { $0.title = "Flat" }
context.undo()
try group.update { $0.title = "House" }
try await context.save()
try await expect(["House (2)"]) { screen.lines }

// Deleted while shown.
context.delete(group)
try await context.save()
try await expect([]) { screen.lines }
try await expect(["House was deleted"]) { [detail.line] }
let dated = try await store.datedCount()
try await expect(["0"]) { ["\(dated)"] }
store.client.close()
try await container.close()

try await playScenes(model: CommandLine.arguments[1], folder: CommandLine.arguments[2])
