import Cordial
import CordialValues
import Testing

/// An actor that is not the main one, to own results.
actor ResultOwner {
  private var results: FetchedResults<TodoGroup>?

  func open(_ source: FetchDataSource<TodoGroup>, _ request: FetchRequest<TodoGroup>? = nil) {
    results = FetchedResults(source, request: request)
  }

  var count: Int { results?.count ?? -1 }

  /// Waits until the results fulfil a condition.
  func wait(_ condition: @Sendable (FetchedResults<TodoGroup>) -> Bool) async throws {
    try await CordialTests.wait { results.map(condition) ?? true }
  }

  func close() { results = nil }
}

@Suite struct `The results of mocks` {
  private func group(_ number: Int) -> TodoGroup {
    TodoGroup(id: .integer(number), title: "\(number)", taskCount: 0)
  }

  @MainActor private func titles(_ results: FetchedResults<TodoGroup>) -> [String] {
    results.map { $0.wrappedValue?.title ?? "-" }
  }

  @Test @MainActor func `arrive after the call, and follow the list`() async {
    let mocks = MockObjects([group(1), group(2)])
    let results = FetchedResults(.mockObjects(mocks))
    var changes = results.changes.makeAsyncIterator()
    #expect(results.isEmpty && results.change == nil)
    await changes.next()
    #expect(titles(results) == ["1", "2"])
    #expect(results.change == .initial)
    mocks.insert(Mock(group(3)).eraseToAny(), at: 1)
    #expect(results.count == 2)
    await changes.next()
    #expect(titles(results) == ["1", "3", "2"])
    #expect(results.change == .updated)
    mocks.remove(.integer(1))
    await changes.next()
    #expect(titles(results) == ["3", "2"])
  }

  @Test @MainActor func `change with the sequence of IDs only`() async {
    let mock = Mock(group(1))
    let mocks: MockObjects<TodoGroup> = [mock.eraseToAny()]
    let results = FetchedResults(.mockObjects(mocks))
    var changes = results.changes.makeAsyncIterator()
    await changes.next()
    mock.title = "other"
    // The same IDs in the same order: no change of the sequence.
    mocks.update { $0 = [mock.eraseToAny()] }
    mocks.insert(Mock(group(2)).eraseToAny())
    await changes.next()
    #expect(titles(results) == ["other", "2"])
  }

  @Test @MainActor func `live on the actor that creates them`() async throws {
    let owner = ResultOwner()
    let mocks = MockObjects([group(1)])
    await owner.open(.mockObjects(mocks))
    try await owner.wait { $0.count == 1 }
    mocks.insert(Mock(group(2)).eraseToAny())
    try await owner.wait { $0.count == 2 }
    #expect(await owner.count == 2)
  }

  @Test @MainActor func `come from the program's registry, which one test replaces`() async throws {
    let sources = TodoSources(groups: .mockObjects(MockObjects([group(7)])))
    let results = await TodoSources.registry.withSources(sources) {
      FetchedResults(\TodoSources.groups)
    }
    let others = FetchedResults(\TodoSources.groups)
    try await wait { titles(results) == ["7"] }
    #expect(others.isEmpty)
  }

  @Test @MainActor func `have the object of a value`() {
    let mock = Mock(group(1))
    let source = FetchDataSource.mockObjects(MockObjects([mock.eraseToAny()]))
    #expect(source.object(with: group(1).id)?.wrappedValue == group(1))
    #expect(source.object(with: .integer(2)) == nil)
  }
}
