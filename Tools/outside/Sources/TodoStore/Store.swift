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
}

/// A task with the date of its creation, which only this module shows.
struct DatedTask: ObjectValue {
  static let entity = "Task"
  var id: WrappedID
  var title: String
  var createDate: Date?
}

/// The store of the program.
public struct TodoStore: Sendable {
  /// The store.
  public let container: Container
  /// The client of the store.
  public let client: Client

  /// Opens the store in memory.
  public init(model: String) async throws {
    container = try await Container(
      model: .path(model),
      stores: [StoreDescription(at: .memory)],
      profile: .test
    )
    client = try await container.client()
  }

  /// The objects of the store, for the screens.
  public var sources: TodoSources {
    TodoSources(
      groups: .fetchRequest(client.objects()),
      tasks: .fetchRequest(client.objects())
    )
  }

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

  /// The number of tasks that have a date.
  public func datedCount() async throws -> Int {
    try await client.fetch(FetchRequest<DatedTask>(where: \.createDate != nil)).count
  }
}
