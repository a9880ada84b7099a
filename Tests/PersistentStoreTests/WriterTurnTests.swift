import Dispatch
import JSON
import PersistentStore
import Synchronization
import TestStores
import Testing

@Suite struct `The turns of the writer` {
  /// The names of the saves in the order in which they end.
  private final class Endings: Sendable {
    private let names = Mutex<[String]>([])
    private let expected: Int
    private let isComplete = DispatchSemaphore(value: 0)

    init(expected: Int) { self.expected = expected }

    func add(_ name: String) {
      let count = names.withLock { names in
        names.append(name)
        return names.count
      }
      if count == expected { isComplete.signal() }
    }

    func wait() -> [String] {
      isComplete.wait()
      return names.withLock { $0 }
    }
  }

  private func update(of source: Int) -> SaveRequest {
    var request = SaveRequest()
    request.updateMatching = SaveRequest.UpdateMatching(
      fetch: FetchRequest(entity: "Task", predicate: "TRUEPREDICATE"),
      values: [JSONMember("priority", 1)]
    )
    request.source = source
    return request
  }

  private func insert(of source: Int) throws -> SaveRequest {
    var request = SaveRequest(try JSONParser.parse(#"{"insert":[{"entity":"Task"}]}"#))
    request.source = source
    return request
  }

  /// Many writes by predicate of one source wait, and each other source waits for one of them.
  // Evidence: P-017g
  @Test func `let no save wait for two writes by predicate of another source`() throws {
    let test = try TestStore(TestModels.todo)
    defer { withExtendedLifetime(test) {} }
    let store = test.store
    let endings = Endings(expected: 12)
    let isHeld = DispatchSemaphore(value: 0)
    store.save(try insert(of: 1)) { _ in isHeld.wait() }
    for number in 1...8 {
      store.save(update(of: 1)) { outcome in
        endings.add(outcome.isSuccess ? "update \(number)" : "\(outcome)")
      }
    }
    for source in 2...4 {
      store.save(try insert(of: source)) { outcome in
        endings.add(outcome.isSuccess ? "insert" : "\(outcome)")
      }
    }
    store.save(update(of: 5)) { outcome in
      endings.add(outcome.isSuccess ? "other update" : "\(outcome)")
    }
    isHeld.signal()
    let names = endings.wait()
    #expect(Array(names.prefix(5)) == ["update 1", "insert", "insert", "insert", "other update"])
    #expect(Array(names.dropFirst(5)) == (2...8).map { "update \($0)" })
  }

  /// A save that arrives during a write by predicate waits for that one only.
  // Evidence: P-017g
  @Test func `let a save that arrives meanwhile precede the next write by predicate`() throws {
    let test = try TestStore(TestModels.todo)
    defer { withExtendedLifetime(test) {} }
    let store = test.store
    let endings = Endings(expected: 4)
    let (hasBegun, isHeld) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    store.save(update(of: 1)) { _ in
      hasBegun.signal()
      isHeld.wait()
      endings.add("update 1")
    }
    for number in 2...3 { store.save(update(of: 1)) { _ in endings.add("update \(number)") } }
    hasBegun.wait()
    store.save(try insert(of: 2)) { _ in endings.add("insert") }
    isHeld.signal()
    #expect(endings.wait() == ["update 1", "insert", "update 2", "update 3"])
  }
}

extension Result {
  fileprivate var isSuccess: Bool {
    if case .success = self { true } else { false }
  }
}
