import Cordial
import CordialEmbedded
import CordialValues
import TodoStore
import TodoValues
import TodoViews

// What the readers of articles on Core Data and SwiftUI know, with this library's types: each
// function is a scene of its own.

// MARK: Values and live objects

/// A mock type of a program's own, where `Mock` is not enough.
final class MockGroup: TestableConvertibleValueObject {
  let storage: MockStorage<TodoGroup>

  init(_ value: TodoGroup) { storage = MockStorage(value) }

  /// A member that only this mock has.
  var isEmpty: Bool { convertToValueType()?.taskCount == 0 }
}

/// The model behind a cell: it shows a live object whose source it does not know.
@MainActor struct GroupCell {
  let group: AnyConvertibleValueObject<TodoGroup>

  /// The text; nil where the object was deleted, so that the cell is empty.
  var text: String? { group.wrappedValue.map { "\($0.title): \($0.taskCount)" } }
}

@MainActor func cellsShowMocks() throws {
  let mock = MockGroup(.samples[0])
  let cell = GroupCell(group: mock.eraseToAny())
  try check(cell.text == "Home: 2")
  mock.title = "House"
  mock.taskCount = 0
  try check(cell.text == "House: 0" && mock.isEmpty)
  mock.update(.samples[0])
  try check(mock == MockGroup(.samples[0]))
  mock.delete()
  try check(cell.text == nil)
}

/// The forms of an ID, of which only one has an object in a store.
func identitiesAreOfFourForms() throws {
  let forms =
    [.string("Group1"), .integer(2), .uuid(UUIDValue(high: 1, low: 2))]
    + [WrappedID("Group/p1")].compactMap { $0 }
  let stored = forms.filter { id in
    switch id {
    case .objectID: true
    case .string, .integer, .uuid: false
    }
  }
  try check(stored.map(\.description) == ["Group/p1"] && Set(forms).count == 4)
}

// MARK: A safe response to deletion

/// The model behind a sheet: it has its text when it opens, and follows the object from then on.
@MainActor final class TaskSheet {
  private(set) var title = ""
  private var following: Task<Void, Never>?

  /// Shows a value; the live object is found by the value's ID.
  init(_ task: TodoTask, in source: FetchDataSource<TodoTask>) {
    title = task.title
    following = source.object(with: task.id).map { object in
      Task { [weak self] in
        // A deleted object has no value; the sheet keeps the last one.
        for await value in object.values { if let value { self?.title = value.title } }
      }
    }
  }

  deinit { following?.cancel() }
}

/// A detail outside of the list keeps its text when its object changes, and when it is deleted.
@MainActor func sheetsOutliveTheirObjects(_ store: TodoStore, _ task: TodoTask) async throws {
  let sheet = TaskSheet(task, in: store.sources.tasks)
  var renamed = task
  renamed.title = "Renamed"
  try await store.update(task, to: renamed)
  try await expect(["Renamed"]) { [sheet.title] }
  try await store.delete(task.id)
  try await expect(["Renamed"]) { [sheet.title] }
}

/// A value that was passed on is saved only if its object still exists.
func valuesAreCheckedBeforeTheWrite(_ store: TodoStore, _ gone: TodoTask) async throws {
  var changed = gone
  changed.completed.toggle()
  do {
    try await store.update(gone, to: changed)
    throw Unexpected(message: "A task that was deleted was saved")
  } catch let error as ClientError {
    try check(error.code == .objectNotFound)
  }
}

// MARK: Lists

/// The model behind a list that gets its request when it appears.
@MainActor func listsGetTheirRequestLater(_ store: TodoStore) async throws {
  let groups = FetchedResults(store.sources.groups)
  try check(groups.isEmpty && groups.change == nil)
  groups.request = FetchRequest(sort: ["-title"])
  try await expect(["2"]) { ["\(groups.count)"] }
  // A change of a value notifies the cell, and not the list.
  let changes = groups.changes
  let cell = GroupCell(group: groups[0])
  guard let first = groups[0].wrappedValue else { throw Unexpected(message: "No value") }
  var renamed = first
  renamed.title = "Zoo"
  try await store.update(first, to: renamed)
  try await expect(["Zoo: \(first.taskCount)"]) { [cell.text ?? "-"] }
  try await store.addGroup("Attic")
  for await _ in changes {
    // The first change of the list is the new row.
    try check(groups.count == 3)
    break
  }
}

// MARK: The stack

/// The stacks of a program, one for each purpose.
enum TodoStack {
  static func open(
    _ profile: ContainerProfile?,
    model: String,
    _ arguments: [String] = []
  ) async throws -> Container {
    try await Container(
      model: .path(model),
      stores: [StoreDescription(at: .memory), StoreDescription("drafts", at: .memory)],
      profile: profile,
      arguments: arguments
    )
  }
}

func stacksHaveProfiles(_ model: String) async throws {
  let preview = try await TodoStack.open(.previewInMemory, model: model)
  let test = try await TodoStack.open(nil, model: model, ["todo", "-TestMode", "1"])
  try check(preview.profile == .previewInMemory && test.profile == .test)
  let (data, drafts) = (try await preview.client(), try await preview.client("drafts"))
  try await TodoStore(data).addGroup("Home")
  let counts = [
    try await data.count(FetchRequest<TodoGroup>()),
    try await drafts.count(FetchRequest<TodoGroup>()),
  ]
  try check(counts == [1, 0])
  do {
    _ = try await TodoStack.open(nil, model: model, ["todo", "-InMemory"])
    throw Unexpected(message: "-InMemory without a value was accepted")
  } catch let error as ContainerError {
    try check(error.message.contains("-InMemory"))
  }
  for container in [preview, test] { try await container.close() }
}

// MARK: Concurrency

/// Deletes in the background by the ID, which may leave an actor as an object may not.
@MainActor func backgroundContextsTakeIdentities(_ store: TodoStore) async throws {
  let context = Context(store.client)
  let groups = try await context.fetch(FetchRequest<TodoGroup>(sort: ["title"]))
  guard let object = groups.first else { throw Unexpected(message: "No group") }
  let id = object.id
  let background = BackgroundContext(store.client, author: "background")
  try await background.perform { _, context in
    context.delete(try await context.existingObject(TodoGroup.self, with: id))
    try await context.save()
  }
  // The context of the main actor follows by itself.
  try await expect(["true"]) { ["\(object.isDeleted)"] }
}

// MARK: All of them

func check(_ holds: Bool, line: Int = #line) throws {
  guard holds else { throw Unexpected(message: "The condition of line \(line) does not hold") }
}

@MainActor func playScenes(model: String) async throws {
  try cellsShowMocks()
  try identitiesAreOfFourForms()
  let (store, container) = try await TodoStore.inMemory(model: model)
  _ = try await store.insert("Home", tasks: ["Milk", "Bread"])
  _ = try await store.insert("Work", tasks: [])
  let tasks = try await store.client.fetch(FetchRequest<TodoTask>(sort: ["title"]))
  try await sheetsOutliveTheirObjects(store, tasks[0])
  try await valuesAreCheckedBeforeTheWrite(store, tasks[0])
  try await listsGetTheirRequestLater(store)
  try await backgroundContextsTakeIdentities(store)
  store.client.close()
  try await container.close()
  try await stacksHaveProfiles(model)
}
