public import CordialValues
public import TodoValues

/// What a person does with the tasks; the module of the store does it.
public protocol TodoActions: Sendable {
  /// Inserts a group.
  func addGroup(_ title: String) async throws
  /// Changes what differs between two values of a group.
  func update(_ group: TodoGroup, to changed: TodoGroup) async throws
  /// Inserts a task.
  func addTask(_ title: String, in group: WrappedID) async throws
  /// Changes what differs between two values of a task.
  func update(_ task: TodoTask, to changed: TodoTask) async throws
  /// Sets the text of a task's memo.
  func setMemo(_ text: String, of task: WrappedID) async throws
  /// Deletes an object.
  func delete(_ id: WrappedID) async throws
  /// Returns all groups, for a choice.
  func groups() async throws -> [TodoGroup]
  /// Reverts the last change; the result is whether there was one.
  func undo() async throws -> Bool
  /// Makes the change again that was reverted last; the result is whether there was one.
  func redo() async throws -> Bool
}

/// A key that a person presses.
public enum Key: Equatable, Sendable {
  /// The keys without a character; `interrupt` ends the program.
  case up, down, enter, escape, backspace, interrupt
  /// A character.
  case character(Character)
}
