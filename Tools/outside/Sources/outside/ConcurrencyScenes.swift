import Cordial
import CordialValues
import TodoStore
import TodoValues

// Concurrency: a context stays on its actor, and identities travel. What the compiler refuses is in
// the folder `refused`.

/// The model behind a view, with the context of the main actor.
@MainActor final class Editor {
  let context: Context

  init(_ store: TodoStore, mergesChanges: Bool = true) {
    context = Context(store.client, automaticallyMergesChanges: mergesChanges)
  }

  /// Deletes an object through its own context.
  static func delete(_ object: ContextObject<TodoGroup>) async throws {
    guard let context = object.context else { return }
    context.delete(object)
    try await context.save()
  }

  func group(_ title: String) async throws -> ContextObject<TodoGroup> {
    let groups = try await context.fetch(FetchRequest<TodoGroup>(where: \.title == title))
    guard let group = groups.first else { throw Unexpected(message: "No group \(title)") }
    return group
  }

  func reset() { context.reset() }
}

/// Deletes in the background by the ID, which may leave an actor as an object may not.
func deleteInTheBackground(_ id: WrappedID, _ store: TodoStore) async throws {
  let background = BackgroundContext(store.client, author: "background")
  try await background.perform { _, context in
    context.delete(try await context.existingObject(TodoGroup.self, with: id))
    try await context.save()
  }
}

@MainActor func contextsFollowOneAnother(_ store: TodoStore) async throws {
  for title in ["One", "Two", "Three"] { try await store.addGroup(title) }
  let editor = Editor(store)
  let late = Editor(store, mergesChanges: false)
  let object = try await editor.group("One")
  let lateObject = try await late.group("One")
  try await deleteInTheBackground(object.id, store)
  // The context of the main actor follows by itself, the other one when it fetches.
  try await expect(["true"]) { ["\(object.isDeleted)"] }
  try check(!lateObject.isDeleted)

  try await Editor.delete(try await editor.group("Two"))
  // A detached task hops to the actor of the context.
  let task = Task.detached { await editor.reset() }
  await task.value
  try check(!editor.context.hasChanges)

  // An object is made and changed where its context is.
  let background = BackgroundContext(store.client)
  let title = try await background.perform(schedule: .enqueued) { _, context in
    let group = context.insert { TodoGroup(id: $0, title: "") }
    try group.update { $0.title = "Four" }
    try await context.save()
    return group.title
  }
  try check(title == "Four")
}

/// An ID finds an object in three ways, and can be archived as a text.
@MainActor func identitiesFindObjects(_ store: TodoStore) async throws {
  let editor = Editor(store)
  let id = try await editor.group("Three").id
  let other = Editor(store).context
  try check(try other.registeredObject(TodoGroup.self, for: id) == nil)
  try check(try other.object(TodoGroup.self, with: id).value == nil)
  try check(try await other.existingObject(TodoGroup.self, with: id).title == "Three")
  try check(try other.registeredObject(TodoGroup.self, for: id)?.title == "Three")
  try check(WrappedID(id.description) == id)
  // The temporary ID of a new object stays valid in its context.
  let group = other.insert { TodoGroup(id: $0, title: "Five") }
  let temporary = group.id
  try await other.save()
  try check(group.id != temporary)
  try check(try other.registeredObject(TodoGroup.self, for: temporary) === group)
}

/// A save that another one has overtaken is decided by the merge policy.
@MainActor func conflictsAreDecidedByPolicies(_ store: TodoStore) async throws {
  for (policy, expected) in [(MergePolicy.storeTrump, "store"), (.objectTrump, "object")] {
    try await store.addGroup("A")
    let editor = Editor(store, mergesChanges: false)
    let group = try await editor.group("A")
    guard let former = group.value else { throw Unexpected(message: "No value") }
    var changed = former
    changed.title = "store"
    try await store.update(former, to: changed)
    try group.update { $0.title = "object" }
    do {
      try await editor.context.save()
      throw Unexpected(message: "A conflict was saved")
    } catch let error as ClientError {
      try check(error.code == .saveConflict)
    }
    editor.context.mergePolicy = policy
    try await editor.context.save()
    try check(group.title == expected)
    try await store.delete(group.id)
  }
}
