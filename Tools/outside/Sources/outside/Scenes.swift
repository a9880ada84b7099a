import CordialEmbedded
import TodoStore
import TodoValues

// What the readers of articles on Core Data and SwiftUI know, with this library's types.

@MainActor func playScenes(model: String, folder: String) async throws {
  try cellsShowMocks()
  try await equalValuesNotifyNobody()
  try identitiesAreOfFourForms()
  try await identitiesAndObjectsAreSendable()
  try await listsShowMocks()

  try await inMemory(model) { store in
    _ = try await store.insert("Home", tasks: ["Milk", "Bread", "Soap"])
    _ = try await store.insert("Work", tasks: [])
    let tasks = try await store.tasks()
    try await destinationsBecomeEmpty(store)
    try await sheetsOutliveTheirObjects(store, tasks[0])
    try await valuesAreCheckedBeforeTheWrite(store, tasks[0])
    try await datesAreNotInvented(store)
    try await listsGetTheirRequestLater(store)
  }
  try await inMemory(model) { store in
    guard let home = try await store.insert("Home", tasks: ["Milk", "Bread"]) else {
      throw Unexpected(message: "The save returned no ID")
    }
    for task in try await store.tasks() where task.title == "Milk" {
      var urgent = task
      urgent.priority = 1
      try await store.update(task, to: urgent)
    }
    try await sectionsAreRangesOfOneList(store)
    try await store.delete(home)
    try await contextsFollowOneAnother(store)
    try await identitiesFindObjects(store)
    try await conflictsAreDecidedByPolicies(store)
  }
  try await stacksHaveProfiles(model)
  try await stacksOnDiskKeepTheirData(model, in: folder)
}

@MainActor private func inMemory(
  _ model: String,
  _ scenes: (TodoStore) async throws -> Void
) async throws {
  let (store, container) = try await TodoStore.inMemory(model: model)
  try await scenes(store)
  store.client.close()
  try await container.close()
}
