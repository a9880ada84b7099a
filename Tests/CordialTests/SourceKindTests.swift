import Cordial
import CordialValues
import TestStores
import Testing

/// The changes of a list of tasks, which are sorted by title in sections of one priority each.
@MainActor private protocol TaskList {
  var source: FetchDataSource<EditedTask> { get }
  func insert(_ title: String, priority: Int) async throws
  func update(_ title: String, _ body: (inout EditedTask) -> Void) async throws
  func delete(_ title: String) async throws
}

/// A list of mocks, as a preview has it.
@MainActor private final class MockTasks: TaskList {
  private let mocks = MockObjects<EditedTask>(sections: [])
  private var tasks: [Mock<EditedTask>] = []

  var source: FetchDataSource<EditedTask> { .mockObjects(mocks) }

  func insert(_ title: String, priority: Int) {
    let id = WrappedID.string(title)
    tasks.append(Mock(EditedTask(id: id, title: title, priority: priority)))
    arrange()
  }

  func update(_ title: String, _ body: (inout EditedTask) -> Void) {
    for task in tasks where task.title == title {
      guard var value = task.convertToValueType() else { continue }
      body(&value)
      task.update(value)
    }
    arrange()
  }

  func delete(_ title: String) {
    for task in tasks where task.title == title { task.delete() }
    tasks.removeAll { $0.convertToValueType() == nil }
    arrange()
  }

  private func arrange() {
    let sorted = tasks.sorted { ($0.title ?? "") < ($1.title ?? "") }
    let sections = Dictionary(grouping: sorted) { $0.priority ?? 0 }
    mocks.updateSections { arranged in
      arranged = sections.sorted { $0.key < $1.key }.map { priority, tasks in
        MockSection(name: .integer(Int64(priority)), objects: tasks.map { $0.eraseToAny() })
      }
    }
  }
}

/// The tasks of a service.
@MainActor private final class StoredTasks: TaskList {
  private let client: Client

  init(_ client: Client) { self.client = client }

  var source: FetchDataSource<EditedTask> { .fetchRequest(client.objects()) }

  func insert(_ title: String, priority: Int) async throws {
    var changes = SaveRequest()
    try changes.insert { EditedTask(id: $0, title: title, priority: priority) }
    try await client.save(changes)
  }

  private func save(
    _ title: String,
    _ body: (EditedTask, inout SaveRequest) throws -> Void
  ) async throws {
    var changes = SaveRequest()
    for task in try await client.fetch(FetchRequest<EditedTask>(where: \.title == title)) {
      try body(task, &changes)
    }
    try await client.save(changes)
  }

  func update(_ title: String, _ body: (inout EditedTask) -> Void) async throws {
    try await save(title) { task, changes in
      var changed = task
      body(&changed)
      try changes.update(task, to: changed)
    }
  }

  func delete(_ title: String) async throws {
    try await save(title) { task, changes in changes.delete(task.id) }
  }
}

@Suite struct `Every source of a list` {
  /// Changes a list, and returns what a view of it shows.
  @MainActor private func transcript(_ list: some TaskList) async throws -> [String] {
    for (title, priority) in [("b", 1), ("a", 2), ("c", 1)] {
      try await list.insert(title, priority: priority)
    }
    let results = SectionedFetchedResults(
      list.source,
      request: FetchRequest(sort: ["title"], sectionBy: "priority")
    )
    var lines = ["\(results.rows.count) \(String(describing: results.change))"]
    var signals = results.changes.makeAsyncIterator()
    func rows() -> [String] {
      results.map { section in
        let titles = section.objects.map { $0.wrappedValue?.title ?? "-" }
        return "\(section.section.title) \(titles)"
      }
    }
    func elements() -> Int { results.elements.count }
    /// Waits for the rows, after a change of the sequence or of values alone.
    func show(_ expected: [String], signalled: Bool) async throws {
      if signalled { _ = await signals.next(isolation: MainActor.shared) }
      try await wait { rows() == expected }
      lines.append("\(rows()) \(elements()) \(String(describing: results.change))")
    }
    try await show(["1 [\"b\", \"c\"]", "2 [\"a\"]"], signalled: true)
    let held = results.rows[0]
    let values = held.values
    // A new row in a new section.
    try await list.insert("d", priority: 0)
    try await show(["0 [\"d\"]", "1 [\"b\", \"c\"]", "2 [\"a\"]"], signalled: true)
    // A change of a value alone notifies its object: the next signal is that of the move below.
    try await list.update("b") { $0.title = "bb" }
    try await show(["0 [\"d\"]", "1 [\"bb\", \"c\"]", "2 [\"a\"]"], signalled: false)
    for await value in values where value?.title == "bb" { break }
    // A row moves to another section, and to another place of its section.
    try await list.update("bb") { $0.priority = 2 }
    try await show(["0 [\"d\"]", "1 [\"c\"]", "2 [\"a\", \"bb\"]"], signalled: true)
    try await list.update("a") { $0.title = "x" }
    try await show(["0 [\"d\"]", "1 [\"c\"]", "2 [\"bb\", \"x\"]"], signalled: true)
    try await list.delete("bb")
    try await show(["0 [\"d\"]", "1 [\"c\"]", "2 [\"x\"]"], signalled: true)
    try await wait { held.wrappedValue == nil }
    lines.append("\(held.lastValidValue?.title ?? "-") \(held.lastValidValue?.priority ?? -1)")
    return lines
  }

  @Test @MainActor func `shows a view the same`() async throws {
    let expected = try await transcript(MockTasks())
    #expect(expected.count == 8)
    try await withService { _, client in
      let shown = try await transcript(StoredTasks(client))
      #expect(shown == expected)
    }
    let served = try ServedStore(model: TestModels.todo)
    let other = try ServedStore(model: TestModels.todo)
    _ = try served.serve()
    let clients = [
      try await served.client(), try await served.mock(),
      try await Client.process(other.program, arguments: ["serve", other.store]),
    ]
    for client in clients {
      let shown = try await transcript(StoredTasks(client))
      #expect(shown == expected)
      client.close()
    }
  }
}
