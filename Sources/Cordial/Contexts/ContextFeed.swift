import CordialProtocol
import CordialValues
import JSON
import Synchronization

/// A buffer of the store's changes to a context's objects, until the context applies them.
///
/// Each type of value has one subscription, whose events arrive on any thread. The context reads
/// the newest state of each object on its own actor.
final class ContextFeed: Sendable {
  private struct State {
    var subscriptions: [ObjectIdentifier: Int] = [:]
    /// The types whose last request has no response yet.
    var waiting: Set<ObjectIdentifier> = []
    /// The newest state of each object, by ID; null for a deleted object.
    var objects: [WrappedID: JSONValue] = [:]
    var error: ClientError?
    var isClosed = false
  }

  private let state = Mutex(State())
  private let core: ClientCore
  private let continuation: AsyncStream<Void>.Continuation
  /// A sequence with an element after each event; a slow reader gets one element for several
  /// events.
  let signals: AsyncStream<Void>

  init(_ core: ClientCore) {
    self.core = core
    (signals, continuation) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
  }

  /// Returns whether the last request for a type has no response yet.
  ///
  /// The context sends its next request for the type after that response.
  func isWaiting(for type: ObjectIdentifier) -> Bool {
    state.withLock { $0.waiting.contains(type) }
  }

  /// Observes objects of a type.
  ///
  /// The new request replaces the previous request of this type.
  func observe(_ type: ObjectIdentifier, _ ids: [WrappedID], _ selection: TypeSelection) {
    let texts = ids.map(\.description)
    let call = ObserveCall(.ids(texts, FetchCall(ids: texts, selection)))
    let (number, isNew) = state.withLock { state in
      state.waiting.insert(type)
      if let number = state.subscriptions[type] { return (number, false) }
      let number = core.reserveSubscription()
      state.subscriptions[type] = number
      return (number, true)
    }
    if !isNew { return core.replace(number, with: call) }
    core.observe(number, call) { [weak self] event in self?.handle(event, of: type) }
  }

  /// Ends the subscription of one type.
  func end(_ type: ObjectIdentifier) {
    let number = state.withLock { state in
      state.waiting.remove(type)
      return state.subscriptions.removeValue(forKey: type)
    }
    if let number { core.unobserve(number) }
  }

  /// Returns and removes the newest objects and the last error.
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
    let outcome = Result { () throws(ClientError) in try Self.objects(of: event) }
    if case .failure = outcome { end(type) }
    state.withLock { state in
      guard !state.isClosed else { return }
      state.waiting.remove(type)
      switch outcome {
      case .success(let objects): state.objects.merge(objects) { $1 }
      case .failure(let error): state.error = error
      }
    }
    continuation.yield()
  }

  /// Returns the objects of an event by ID; null stands for a deleted object.
  private static func objects(
    of event: SubscriptionEvent
  ) throws(ClientError) -> [WrappedID: JSONValue] {
    var objects: [WrappedID: JSONValue] = [:]
    switch event {
    case .result(let json, _):
      let result = try ObservedResult.read(json)
      for object in result.objects ?? [] {
        guard let id = object[.id]?.string.flatMap({ WrappedID($0) }) else { continue }
        objects[id] = object
      }
      for missing in result.missing?.members ?? [] {
        if let id = WrappedID(missing.name) { objects[id] = .null }
      }
    case .update(let json, _):
      for change in try ObservedDifference.read(json).objects ?? [] {
        guard let id = WrappedID(change.id) else { continue }
        objects[id] = change.object ?? .null
      }
    case .failure(let error): throw error
    }
    return objects
  }
}
