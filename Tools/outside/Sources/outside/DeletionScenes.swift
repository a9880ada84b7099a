import Cordial
import CordialFoundation
import CordialValues
import Foundation
import TodoStore
import TodoValues

// A safe response to deletion, and to changes of what was passed as a value.

/// The model behind a row of a list, and behind the screen that the row opens.
@MainActor struct TaskCell {
  let task: AnyConvertibleValueObject<TodoTask>

  /// Nothing for a deleted task, and no invented text.
  var text: String? { task.wrappedValue.map(\.title) }

  /// Deletes the task that the cell shows.
  func delete(_ store: TodoStore) async throws { try await store.delete(task.id) }
}

/// A list, and the destination of a row, while their object is deleted by the destination itself.
@MainActor func destinationsBecomeEmpty(_ store: TodoStore) async throws {
  let tasks = FetchedResults(
    store.sources.tasks,
    request: FetchRequest(where: \.title == "Soap")
  )
  try await expect(["Soap"]) { tasks.compactMap { TaskCell(task: $0).text } }
  let destination = TaskCell(task: tasks[0])
  try await destination.delete(store)
  try await expect(["0 nil"]) { ["\(tasks.count) \(destination.text ?? "nil")"] }
  // A reader on any thread sees the same.
  let object = destination.task
  let value = await Task.detached { object.convertToValueType() }.value
  try check(value == nil && object.lastValidValue?.title == "Soap")
}

/// The model behind a sheet: it has its text when it opens, and follows the object from then on.
@MainActor final class TaskSheet {
  private(set) var title = ""
  private var following: Task<Void, Never>?

  /// Shows a live object.
  init(_ object: AnyConvertibleValueObject<TodoTask>) {
    title = object.lastValidValue?.title ?? ""
    follow(object)
  }

  /// Shows a value; the live object is found by the value's ID.
  init(_ task: TodoTask, in source: FetchDataSource<TodoTask>) {
    title = task.title
    if let object = source.object(with: task.id) { follow(object) }
  }

  private func follow(_ object: AnyConvertibleValueObject<TodoTask>) {
    following = Task { [weak self] in
      // A deleted object has no value; the sheet keeps the last one.
      for await value in object.values { if let value { self?.title = value.title } }
    }
  }

  deinit { following?.cancel() }
}

/// A detail outside of the list keeps its text when its object changes, and when it is deleted.
@MainActor func sheetsOutliveTheirObjects(_ store: TodoStore, _ task: TodoTask) async throws {
  let source = store.sources.tasks
  let sheet = TaskSheet(task, in: source)
  guard let object = source.object(with: task.id) else { throw Unexpected(message: "No object") }
  let other = TaskSheet(object)
  var renamed = task
  renamed.title = "Renamed"
  try await store.update(task, to: renamed)
  try await expect(["Renamed", "Renamed"]) { [sheet.title, other.title] }
  try await store.delete(task.id)
  try await expect(["nil"]) { [object.wrappedValue?.title ?? "nil"] }
  try check(sheet.title == "Renamed" && other.title == "Renamed")
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

/// A value with a date that it does not invent: an object without one is an error.
struct Item: ObjectValue {
  static let entity = "Task"
  static let properties = ["timestamp": "createDate"]

  var id: WrappedID
  var timestamp: Date
}

func datesAreNotInvented(_ store: TodoStore) async throws {
  var changes = SaveRequest()
  let date = Date(timeIntervalSinceReferenceDate: 700_000_000)
  let made = try changes.insert { Item(id: $0, timestamp: date) }
  guard let id = try await store.client.save(changes).ids[made.id] else {
    throw Unexpected(message: "The save returned no ID")
  }
  let items = FetchRequest<Item>(where: \.timestamp == date)
  try check(try await store.client.fetch(items) == [Item(id: id, timestamp: date)])
  try await store.delete(id)
  do {
    _ = try await store.client.fetch(FetchRequest<Item>())
    throw Unexpected(message: "A task without a date was read as an Item")
  } catch let error as ClientError {
    try check(error.code == .valueMismatch && error.message.contains("timestamp"))
  }
}
