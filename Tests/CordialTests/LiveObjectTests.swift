import Cordial
import CordialValues
import Observation
import Synchronization
import Testing

@Suite struct `A mock` {
  @Test func `is created from a value alone`() {
    let mock = Mock(TodoGroup.sample)
    #expect(mock.id == .string("Group1"))
    #expect(mock.convertToValueType() == .sample)
    #expect(mock.title == "Home")
    #expect(mock.version == 0)
    #expect(mock == Mock(TodoGroup.sample))
  }

  @Test func `notifies its observers of another value only`() {
    let mock = Mock(TodoGroup.sample)
    let count = Mutex(0)
    func observe() {
      withObservationTracking {
        _ = mock.convertToValueType()
      } onChange: {
        count.withLock { $0 += 1 }
      }
    }
    observe()
    mock.title = "Home"
    mock.update(.sample)
    #expect(count.withLock { $0 } == 0)
    mock.title = "House"
    #expect(count.withLock { $0 } == 1)
    observe()
    mock.delete()
    #expect(count.withLock { $0 } == 2)
  }

  @Test func `has its new value when its observers are notified`() {
    let mock = Mock(TodoGroup.sample)
    let seen = Mutex<String?>(nil)
    withObservationTracking {
      _ = mock.convertToValueType()
    } onChange: {
      seen.withLock { $0 = mock.convertToValueType()?.title }
    }
    mock.title = "House"
    #expect(seen.withLock { $0 } == "House")
  }

  @Test func `keeps its last value after its deletion`() {
    let mock = Mock(TodoGroup.sample)
    mock.taskCount = 3
    mock.delete()
    #expect(mock.convertToValueType() == nil)
    #expect(mock.lastValidValue?.taskCount == 3)
    #expect(mock.taskCount == 3)
    mock.taskCount = 4
    #expect(mock.convertToValueType()?.taskCount == 4)
  }

  @Test func `is like any other object behind its erasure`() async {
    let mock = Mock(TodoGroup.sample)
    let object = mock.eraseToAny()
    #expect(object.id == mock.id)
    var values = object.values.makeAsyncIterator()
    #expect(await values.next() == .some(.sample))
    mock.title = "House"
    #expect(await values.next()??.title == "House")
    #expect(object.wrappedValue?.title == "House")
    mock.delete()
    #expect(await values.next() == .some(nil))
    #expect(object.wrappedValue == nil)
    #expect(object.lastValidValue?.title == "House")
  }

  @Test func `gives a slow reader the newest value`() async {
    let mock = Mock(TodoGroup.sample)
    var values = mock.values.makeAsyncIterator()
    for count in 3...100 { mock.taskCount = count }
    #expect(await values.next()??.taskCount == 100)
  }

  @Test func `ends its sequences when it is released`() async throws {
    var mock: Mock? = Mock(TodoGroup.sample)
    var values = try #require(mock).values.makeAsyncIterator()
    #expect(await values.next() == .some(.sample))
    mock = nil
    let end = await values.next()
    #expect(end == TodoGroup??.none)
  }
}
