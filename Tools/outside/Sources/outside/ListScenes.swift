import Cordial
import CordialValues
import TodoStore
import TodoValues
import TodoViews

// Lists: their source is named by a key path, and their request may come later.

/// The model behind a list that gets its request when it appears.
@MainActor final class GroupListModel {
  let groups = GroupListModel.results()
  private(set) var reports = 0
  private var following: Task<Void, Never>?

  private static func results() -> FetchedResults<TodoGroup> {
    FetchedResults(\TodoSources.groups)
  }

  /// Gets the request from the program, which knows whether there is a store.
  func appear(_ request: @Sendable () async -> FetchRequest<TodoGroup>?) async {
    guard let request = await request() else { return }
    groups.request = request
  }

  /// Counts the changes of the list.
  func count() {
    let changes = groups.changes
    following = Task { [weak self] in
      for await _ in changes { self?.reports += 1 }
    }
  }

  /// Whether the latest change is to be animated; the first rows are not.
  var isAnimated: Bool { groups.change == .updated }

  var lines: [String] { groups.compactMap { GroupCellRoot(group: $0).text } }

  deinit { following?.cancel() }
}

/// The list on mocks, which one line of a preview or test chooses.
@MainActor func listsShowMocks() async throws {
  let mocks = MockObjects(TodoGroup.samples)
  try await TodoSources.registry.withSources(TodoSources(groups: .mockObjects(mocks))) {
    let list = GroupListModel()
    list.count()
    // Nothing is delivered inside the call that requested it.
    try check(list.groups.isEmpty && list.groups.change == nil)
    // Mocks need no request, and a program without a store returns none.
    await list.appear { nil }
    try await expect(["Home: 2", "Work: 0"]) { list.lines }
    try check(list.reports == 1 && !list.isAnimated)
    // The same list again is no change.
    mocks.update { $0 = Array($0) }
    mocks.insert(MockGroup(TodoGroup(id: .integer(3), title: "Attic")).eraseToAny(), at: 0)
    try await expect(["Attic: 0", "Home: 2", "Work: 0"]) { list.lines }
    try check(list.reports == 2 && list.isAnimated)
  }
}

/// The same list on a store.
@MainActor func listsGetTheirRequestLater(_ store: TodoStore) async throws {
  try await TodoSources.registry.withSources(store.sources) {
    let list = GroupListModel()
    try check(list.groups.isEmpty && list.groups.change == nil)
    await list.appear { FetchRequest(sort: ["-title"]) }
    try await expect(["2"]) { ["\(list.groups.count)"] }
    // A change of a value notifies the cell, and not the list.
    let changes = list.groups.changes
    let cell = GroupCellRoot(group: list.groups[0])
    try await expect(["true"]) { ["\(cell.text != nil)"] }
    guard let first = list.groups[0].wrappedValue else { throw Unexpected(message: "No value") }
    var renamed = first
    renamed.title = "Zoo"
    try await store.update(first, to: renamed)
    try await expect(["Zoo: \(first.taskCount)"]) { [cell.text ?? "-"] }
    try await store.addGroup("Attic")
    for await _ in changes {
      // The first change of the list is the new row.
      try check(list.groups.count == 3)
      break
    }
    // Another request replaces the rows in one step.
    list.groups.request = FetchRequest(where: \.title == "Zoo")
    try await expect(["Zoo: \(first.taskCount)"]) { list.lines }
    try check(list.groups.change == .replaced)
  }
}

/// The model behind a list with a header for each section.
@MainActor struct SectionList {
  let tasks: SectionedFetchedResults<TodoTask>

  var lines: [String] {
    tasks.flatMap { section in
      [section.section.title] + section.objects.map { "  " + ($0.wrappedValue?.title ?? "...") }
    }
  }
}

/// Sections of a store, and the same sections of mocks.
@MainActor func sectionsAreRangesOfOneList(_ store: TodoStore) async throws {
  let request = FetchRequest<TodoTask>(
    sort: ["title"],
    sectionBy: "-priority"
  )
  let stored = SectionList(
    tasks: SectionedFetchedResults(store.sources.tasks, request: request)
  )
  let samples = TodoTask.samples.map { Mock($0).eraseToAny() }
  let mocks = MockObjects(sections: [
    MockSection(name: .integer(1), objects: [samples[0]]),
    MockSection(name: .integer(0), objects: [samples[1]]),
  ])
  let mocked = SectionList(tasks: SectionedFetchedResults(.mockObjects(mocks)))
  for list in [stored, mocked] {
    try await expect(["1", "  Milk", "0", "  Bread"]) { list.lines }
    try check(list.tasks.rows.count == 2 && list.tasks.elements.count == 6)
  }
}
