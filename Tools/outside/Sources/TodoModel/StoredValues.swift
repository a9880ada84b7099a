// The values of the model Todo, version 1.
//
// Written by `cordial model generate --swift`, which writes the same text again for the same
// model.

public import Cordial
import CordialFoundation
public import CordialValues
public import Foundation

/// An object of the entity Group.
///
/// Its to-manys are fetched by requests of their own: `tasks`.
public struct StoredGroup: ObjectValue {
  /// The name of the entity in the model.
  public static let entity = "Group"

  /// The identity of the object.
  public var id: WrappedID
  /// The attribute `title`.
  public var title: String?

  /// Creates a value.
  public init(
    id: WrappedID,
    title: String? = nil
  ) {
    self.id = id
    self.title = title
  }

  /// The properties and key paths, for orders and conditions in text.
  public enum Path {
    /// The path of `title`.
    public static let title = "title"
    /// The path of `tasks`.
    public static let tasks = "tasks"
    /// The path of `tasks.@count`.
    public static let tasksCount = "tasks.@count"
  }
}

/// An object of the entity Task.
public struct StoredTask: ObjectValue {
  /// The name of the entity in the model.
  public static let entity = "Task"

  /// The identity of the object.
  public var id: WrappedID
  /// The attribute `title`.
  public var title: String?
  /// The attribute `createDate`.
  public var createDate: Date?
  /// The attribute `completed`.
  public var completed: Bool
  /// The attribute `myDay`.
  public var myDay: Bool
  /// The attribute `priority`: an integer from -32768 to 32767.
  public var priority: Int
  /// The ID of the Group of `group`.
  public var group: WrappedID?
  /// The ID of the Memo of `memo`.
  public var memo: WrappedID?

  /// Creates a value.
  public init(
    id: WrappedID,
    title: String? = nil,
    createDate: Date? = nil,
    completed: Bool = false,
    myDay: Bool = false,
    priority: Int = 0,
    group: WrappedID? = nil,
    memo: WrappedID? = nil
  ) {
    self.id = id
    self.title = title
    self.createDate = createDate
    self.completed = completed
    self.myDay = myDay
    self.priority = priority
    self.group = group
    self.memo = memo
  }

  /// The properties and key paths, for orders and conditions in text.
  public enum Path {
    /// The path of `title`.
    public static let title = "title"
    /// The path of `createDate`.
    public static let createDate = "createDate"
    /// The path of `completed`.
    public static let completed = "completed"
    /// The path of `myDay`.
    public static let myDay = "myDay"
    /// The path of `priority`.
    public static let priority = "priority"
    /// The path of `group`.
    public static let group = "group"
    /// The path of `memo`.
    public static let memo = "memo"
  }
}

/// An object of the entity Memo.
public struct StoredMemo: ObjectValue {
  /// The name of the entity in the model.
  public static let entity = "Memo"

  /// The identity of the object.
  public var id: WrappedID
  /// The attribute `content`.
  public var content: String?
  /// The ID of the Task of `task`.
  public var task: WrappedID?

  /// Creates a value.
  public init(
    id: WrappedID,
    content: String? = nil,
    task: WrappedID? = nil
  ) {
    self.id = id
    self.content = content
    self.task = task
  }

  /// The properties and key paths, for orders and conditions in text.
  public enum Path {
    /// The path of `content`.
    public static let content = "content"
    /// The path of `task`.
    public static let task = "task"
  }
}

/// The values `TodoGroup` of an object of the entity Group.
public struct StoredTodoGroup: ObjectValue {
  /// The name of the entity in the model.
  public static let entity = "Group"
  /// The name of the model's values that a fetch selects.
  public static let projection: String? = "TodoGroup"

  /// The identity of the object.
  public var id: WrappedID
  /// The value of `title`.
  public var title: String?
  /// The value of `tasks.@count`.
  public var taskCount: Int

  /// Creates a value.
  public init(
    id: WrappedID,
    title: String? = nil,
    taskCount: Int
  ) {
    self.id = id
    self.title = title
    self.taskCount = taskCount
  }
}
