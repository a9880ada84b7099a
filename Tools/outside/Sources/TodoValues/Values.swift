public import CordialValues

/// A list of tasks.
public struct TodoGroup: BaseValue, Codable {
  /// The identity of the group.
  public var id: WrappedID
  /// The name of the group.
  public var title: String
  /// The number of its tasks.
  public var taskCount: Int

  /// Creates a group.
  public init(id: WrappedID, title: String, taskCount: Int = 0) {
    (self.id, self.title, self.taskCount) = (id, title, taskCount)
  }

  /// Groups for previews.
  public static let samples = [
    TodoGroup(id: .string("Group1"), title: "Home", taskCount: 2),
    TodoGroup(id: .integer(2), title: "Work"),
  ]
}

/// A task of a group.
public struct TodoTask: BaseValue, Codable {
  /// The identity of the task.
  public var id: WrappedID
  /// What has to be done.
  public var title: String
  /// Whether it is done.
  public var completed: Bool
  /// The priority; a greater one is more urgent.
  public var priority: Int
  /// Whether it is to be done today.
  public var myDay: Bool
  /// The ID of its group; nil for none.
  public var group: WrappedID?
  /// The name of its group; nil for none.
  public var groupTitle: String?
  /// The text of its memo; nil for none.
  public var memoText: String?

  /// Creates a task.
  public init(
    id: WrappedID,
    title: String,
    completed: Bool = false,
    priority: Int = 0,
    myDay: Bool = false,
    group: WrappedID? = nil
  ) {
    (self.id, self.title, self.completed) = (id, title, completed)
    (self.priority, self.myDay, self.group) = (priority, myDay, group)
  }

  /// Tasks for previews.
  public static let samples = [
    TodoTask(id: .string("Task1"), title: "Milk", priority: 1, group: .string("Group1")),
    TodoTask(id: .string("Task2"), title: "Bread", completed: true, group: .string("Group1")),
  ]
}

/// A note about a task.
public struct TodoMemo: BaseValue, Codable {
  /// The identity of the memo.
  public var id: WrappedID
  /// The text.
  public var content: String
  /// The ID of its task; nil for none.
  public var task: WrappedID?

  /// Creates a memo.
  public init(id: WrappedID, content: String, task: WrappedID? = nil) {
    (self.id, self.content, self.task) = (id, content, task)
  }
}
