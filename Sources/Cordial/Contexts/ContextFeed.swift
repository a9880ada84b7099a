import CordialProtocol
import CordialValues
import JSON
import Synchronization

/// What the store has changed of a context's objects since the context looked last.
///
/// One subscription for each type of value reports on any thread; the context takes the newest
/// state of each object in its own isolation.
final class ContextFeed: Sendable {
  private struct State {
    var subscriptions: [ObjectIdentifier: Int] = [:]
    /// The types whose request is not answered yet.
    var waiting: Set<ObjectIdentifier> = []
    /// The newest object by ID; null for one that was deleted.
    var objects: [WrappedID: JSONValue] = [:]
    var error: ClientError?
    var isClosed = false
  }

  private let state = Mutex(State())
  private let core: ClientCore
  private let continuation: AsyncStream<Void>.Continuation
  /// An element after the store has changed objects, one for several changes to a slow reader.
  let signals: AsyncStream<Void>

  init(_ core: ClientCore) {
    self.core = core
    (signals, continuation) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
  }

  /// Whether the last request for a type is not answered yet; the context then waits with the next.
  func isWaiting(for type: ObjectIdentifier) -> Bool {
    state.withLock { $0.waiting.contains(type) }
  }

  /// Observes the objects of one type, instead of those before.
  func observe(_ type: ObjectIdentifier, _ ids: [WrappedID], _ selection: [JSONMember]) {
    let params = [JSONMember(.ids, .array(ids.map { .string($0.description) }))] + selection
    let (number, isNew) = state.withLock { state in
      state.waiting.insert(type)
      if let number = state.subscriptions[type] { return (number, false) }
      let number = core.reserveSubscription()
      state.subscriptions[type] = number
      return (number, true)
    }
    if !isNew { return core.replace(number, with: params) }
    core.observe(number, params) { [weak self] event in self?.handle(event, of: type) }
  }

  /// Ends the subscription of one type.
  func end(_ type: ObjectIdentifier) {
    let number = state.withLock { state in
      state.waiting.remove(type)
      return state.subscriptions.removeValue(forKey: type)
    }
    if let number { core.unobserve(number) }
  }

  /// Returns the newest objects, and the last error.
  func take() -> (objects: [WrappedID: JSONValue], error: ClientError?) {
    state.withLock { state in
      defer { (state.objects, state.error) = ([:], nil) }
      return (state.objects, state.error)
    }
  }

  func close() {
    let numbers = state.withLock { state in
      state.isClosed = true
      defer { state.subscriptions = [:] }
      return state.subscriptions.values.map { $0 }
    }
    for number in numbers { core.unobserve(number) }
    continuation.finish()
  }

  private func handle(_ event: SubscriptionEvent, of type: ObjectIdentifier) {
    if case .failure = event { end(type) }
    state.withLock { state in
      guard !state.isClosed else { return }
      state.waiting.remove(type)
      switch event {
      case .result(let result, _):
        for object in result[.objects]?.array ?? [] {
          guard let id = object[.id]?.string.flatMap({ WrappedID($0) }) else { continue }
          state.objects[id] = object
        }
        for missing in result[.missing]?.members ?? [] {
          if let id = WrappedID(missing.name) { state.objects[id] = .null }
        }
      case .update(let update, _):
        for change in update[.objects]?.array ?? [] {
          guard let id = change[.id]?.string.flatMap({ WrappedID($0) }) else { continue }
          state.objects[id] = change[.object] ?? .null
        }
      case .failure(let error): state.error = error
      }
    }
    continuation.yield()
  }
}
