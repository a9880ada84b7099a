public import Cordial
public import CordialEmbedded
import CordialFoundation
public import CordialValues
import Foundation
public import TodoValues
public import TodoViews

extension TodoGroup: ObjectValue {
  /// The entity of the groups.
  public static var entity: String { "Group" }
  /// The property that the store computes.
  public static var properties: [String: String] { ["taskCount": "tasks.@count"] }
}

extension TodoTask: ObjectValue {
  /// The entity of the tasks.
  public static var entity: String { "Task" }
  /// The properties of related objects.
  public static var properties: [String: String] {
    ["groupTitle": "group.title", "memoText": "memo.content"]
  }
}

extension TodoMemo: ObjectValue {
  /// The entity of the memos.
  public static var entity: String { "Memo" }
}

/// A task with the date of its creation, which only this module shows.
struct DatedTask: ObjectValue {
  static let entity = "Task"
  var id: WrappedID
  var title: String
  var createDate: Date?
}

/// The tasks of a service.
public struct TodoStore: TodoActions {
  /// The client of the service.
  public let client: Client

  /// The author whose changes `undo` reverts.
  private static let author = "todo"

  /// Uses a service.
  public init(_ client: Client) {
    self.client = client
  }

  /// Opens a store in memory, in this process.
  public static func inMemory(model: String) async throws -> (TodoStore, Container) {
    let container = try await Container(
      model: .path(model),
      stores: [StoreDescription(at: .memory)],
      profile: .test
    )
    return (TodoStore(try await container.client()), container)
  }

  /// The objects of the store, for the screens.
  public var sources: TodoSources {
    TodoSources(
      groups: .fetchRequest(client.objects()),
      tasks: .fetchRequest(client.objects())
    )
  }

  private func save(_ change: (inout SaveRequest) throws -> Void) async throws {
    var changes = SaveRequest()
    try change(&changes)
    try await client.save(changes, author: Self.author)
  }

  // MARK: Actions

  /// Inserts a group.
  public func addGroup(_ title: String) async throws {
    try await save { changes in try changes.insert { TodoGroup(id: $0, title: title) } }
  }

  /// Changes what differs between two values of a group.
  public func update(_ group: TodoGroup, to changed: TodoGroup) async throws {
    try await save { try $0.update(group, to: changed) }
  }

  /// Inserts a task.
  public func addTask(_ title: String, in group: WrappedID) async throws {
    try await save { changes in
      try changes.insert { TodoTask(id: $0, title: title, group: group) }
    }
  }

  /// Changes what differs between two values of a task.
  public func update(_ task: TodoTask, to changed: TodoTask) async throws {
    try await save { try $0.update(task, to: changed) }
  }

  /// Sets the text of a task's memo.
  public func setMemo(_ text: String, of task: WrappedID) async throws {
    let memos = try await client.fetch(FetchRequest<TodoMemo>(where: \.task == task))
    try await save { changes in
      if let memo = memos.first {
        var changed = memo
        changed.content = text
        try changes.update(memo, to: changed)
      } else {
        try changes.insert { TodoMemo(id: $0, content: text, task: task) }
      }
    }
  }

  /// Deletes an object.
  public func delete(_ id: WrappedID) async throws {
    try await save { $0.delete(id) }
  }

  /// Returns all groups, in the order of their titles.
  public func groups() async throws -> [TodoGroup] {
    try await client.fetch(FetchRequest(sort: ["title"]))
  }

  /// Reverts the last change of this program.
  public func undo() async throws -> Bool { try await client.undo(author: Self.author) > 0 }

  /// Makes the change again that was reverted last.
  public func redo() async throws -> Bool { try await client.redo(author: Self.author) > 0 }

  // MARK: Requests

  /// Inserts a group with tasks, each created now.
  public func insert(_ title: String, tasks: [String]) async throws -> WrappedID? {
    var changes = SaveRequest()
    let group = try changes.insert { TodoGroup(id: $0, title: title) }
    for task in tasks {
      try changes.insert { TodoTask(id: $0, title: task, group: group.id) }
    }
    return try await client.save(changes).ids[group.id]
  }

  /// The titles of the tasks of a group that are not completed.
  public func open(in group: WrappedID) async throws -> [String] {
    let request = FetchRequest<TodoTask>(
      where: \.group == group && \.completed == false,
      sort: ["title"]
    )
    return try await client.fetch(request).map(\.title)
  }

  /// All tasks, in the order of their titles.
  public func tasks() async throws -> [TodoTask] {
    try await client.fetch(FetchRequest(sort: ["title"]))
  }

  /// The number of tasks that have a date.
  public func datedCount() async throws -> Int {
    try await client.fetch(FetchRequest<DatedTask>(where: \.createDate != nil)).count
  }
}
