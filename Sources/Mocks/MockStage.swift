// Mocks: services that answer from a script or a recording, and recordings of services.
//
// Must not know: arguments, the public API of programs.
//
// What always holds:
// 1. The objects of a script are in a store in memory, so that all requests follow the rules of any
//    store.
// 2. Only clients move the clock of a mock.
// 3. A recorder observes peers, and never changes their messages.

import Cordial
import CordialProtocol
package import CordialService
import CordialValues
package import Engine
import JSON
package import JSONRPC
package import Logging
import ObjectModel
import PersistentStore
import Synchronization
package import Transport

/// A service with the objects of a script, and with a clock that only clients move.
///
/// The script's objects are in a store in memory, so that fetches, live results and saves have the
/// same rules as in any store.
package final class MockStage: Sendable {
  /// The engine of the store.
  package let engine: Engine
  let script: MockScript
  /// The connection that performs the saves of the script.
  private let writer = ClientConnection()
  private let state: Mutex<State>

  private struct State {
    var names: MockNames
    /// The time of the virtual clock, in milliseconds; -1 before the first move.
    var reached: Int64 = -1
    /// The count of uses of each result, by the index of the result in the script.
    var uses: [Int: Int] = [:]
    var isAdvancing = false
    /// The open connections, by their numbers.
    var connections: [Int: MockConnection] = [:]
    var connectionCount = 0
  }

  /// The maximum length of a response, in bytes.
  ///
  /// The limit is low, because each response is parsed so that its IDs can be replaced.
  private static let answerBytesMax = 16 << 20
  /// The maximum number of occurrences that may be due after one move of the clock.
  private static let stepsMax = 10_000

  /// Opens a store in memory with the objects of a script.
  ///
  /// - Parameters:
  ///   - script: The script.
  ///   - limits: The limits of the service.
  ///   - budget: The message memory, shared with other services; nil for a new budget.
  ///   - loop: The thread of the service and its connections; nil for a new thread.
  ///   - version: The program's version.
  ///   - log: The logger of the service.
  /// - Throws: `ScriptError`, with the place in the file, for objects that the model does not
  ///   allow; `StoreError`.
  package init(
    _ script: MockScript,
    limits: Limits = Limits(),
    budget: ByteBudget? = nil,
    loop: TransportLoop? = nil,
    version: String,
    log: Logger
  ) async throws {
    let model = try MockModel(script)
    var names = MockNames()
    names.computedNames = model.computedNames
    var limits = limits
    limits.answerBytesMax = min(limits.answerBytesMax, Self.answerBytesMax)
    engine = try Engine(
      container: try StoreContainer.inMemory(),
      model: model.model,
      mode: .inMemory,
      limits: limits,
      budget: budget,
      loop: loop,
      version: version,
      log: log
    )
    self.script = script
    state = Mutex(State(names: names))
    do {
      await engine.connect(writer)
      try await insertObjects(model.model)
    } catch {
      try await engine.close()
      throw error
    }
  }

  /// Inserts the objects of the script as one commit.
  private func insertObjects(_ model: Model) async throws {
    guard !script.objects.isEmpty else { return }
    var temporary = MockNames()
    var call = SaveCall()
    var sent: [String] = []
    for (index, object) in script.objects.enumerated() {
      guard let entity = model.entity(named: object.id.entity) else {
        let known = model.entities.map(\.name).joined(separator: ", ")
        throw ScriptError(
          "\(object.place).id",
          "the model has no entity \(object.id.entity); it has \(known)"
        )
      }
      // An ID with the value of an identity attribute is stored unchanged.
      let id =
        entity.identity != nil && object.id.isIdentity
        ? object.id : ObjectID(entity: object.id.entity, key: .temporary("\(index + 1)"))
      sent.append(id.description)
      temporary.add(object.id.description, id.description, version: 1)
    }
    for (index, object) in script.objects.enumerated() {
      let entity = model.entity(named: object.id.entity)
      // Only a relationship refers to objects, so a text in another property remains unchanged.
      var values: [JSONMember] = []
      for member in object.values {
        guard case .relationship? = entity?.property(named: member.name) else {
          values.append(member)
          continue
        }
        let place = "\(object.place).values.\(member.name)"
        try Self.checkReferences(member.value, place, temporary, model)
        values.append(JSONMember(member.name, temporary.toStore(member.value)))
      }
      call.inserts.append(SaveCall.Insert(id: sent[index], values: values))
    }
    let saved: SaveCall.Result
    do throws(ClientError) {
      saved = try await writer.call(call)
    } catch {
      throw placed(error, sent)
    }
    let given = Dictionary(
      saved.ids.map { ($0.name, $0.value.string) },
      uniquingKeysWith: { first, _ in first }
    )
    state.withLock { state in
      for (index, object) in script.objects.enumerated() {
        let id = given[sent[index]].flatMap { $0 } ?? sent[index]
        state.names.add(object.id.description, id, version: object.version)
      }
    }
  }

  /// Checks that the script has the objects to which a relationship refers.
  ///
  /// Only the store can check an ID with the value of an identity attribute.
  private static func checkReferences(
    _ value: JSONValue,
    _ place: String,
    _ names: MockNames,
    _ model: Model
  ) throws(ScriptError) {
    for element in value.array ?? [value] {
      guard let text = element.string, let id = ObjectID(text), !names.has(text),
        model.entity(named: id.entity)?.identity == nil
      else { continue }
      throw ScriptError(place, "the script has no object \(id)")
    }
  }

  /// Returns the error of the initial save, with the path of its first problem in the script's
  /// file.
  private func placed(_ error: ClientError, _ sent: [String]) -> ScriptError {
    let problem = error.data[.problems]?.array?.first
    guard let id = (problem?[.id] ?? error.data[.id])?.string else {
      return ScriptError("objects", error.message)
    }
    guard let index = sent.firstIndex(of: id) else {
      for object in script.objects {
        for member in object.values where member.value.contains(id) {
          return ScriptError("\(object.place).values.\(member.name)", error.message)
        }
      }
      return ScriptError("objects", error.message)
    }
    let object = script.objects[index]
    let property = problem?[.property]?.string.map { ".values.\($0)" } ?? ""
    let message = problem?[.message]?.string ?? error.message
    return ScriptError(
      object.place + property,
      message.replacing(id, with: object.id.description)
    )
  }

  // MARK: Connections

  /// Adds the connection of a channel.
  func connect(_ channel: ByteChannel, _ peer: Peer) -> MockConnection {
    state.withLock { state in
      state.connectionCount += 1
      let number = state.connectionCount
      let connection = MockConnection(self, channel, peer, number: number)
      state.connections[number] = connection
      return connection
    }
  }

  func disconnected(_ connection: MockConnection) {
    state.withLock { state in _ = state.connections.removeValue(forKey: connection.number) }
  }

  /// Sends a notification of a recording to the connection with a number, if it is open.
  func notify(_ number: Int, _ message: JSONValue) {
    state.withLock { $0.connections[number] }?.notify(message)
  }

  // MARK: Messages

  func toStore(_ value: JSONValue) -> JSONValue { state.withLock { $0.names.toStore(value) } }

  func toClient(_ value: JSONValue) -> JSONValue { state.withLock { $0.names.toClient(value) } }

  /// Returns the params of a `fetch` or an `observe`, changed so that each scripted value is
  /// selected by its name.
  func withScriptedValues(_ params: JSONValue) -> JSONValue {
    state.withLock { state in
      guard let fetch = params[.fetch] else { return state.names.withScriptedValues(params) }
      return params.replacing("fetch", state.names.withScriptedValues(fetch))
    }
  }

  /// Returns the scripted answer to a request; nil if the script has none.
  ///
  /// If a request has several answers, as in a recording, each answer is returned once, and the
  /// last answer is then repeated.
  func answer(to method: String, _ params: JSONValue) -> JSONMember? {
    let sorted = (params.isNull ? .object([]) : params).sortedMembers
    let matches = script.results.indices.filter {
      script.results[$0].method == method && script.results[$0].params == sorted
    }
    guard let first = matches.first else { return nil }
    let use = state.withLock { state in
      defer { state.uses[first, default: 0] += 1 }
      return state.uses[first, default: 0]
    }
    return script.results[matches[min(use, matches.count - 1)]].answer
  }

  // MARK: The clock

  /// An occurrence of a step.
  struct Occurrence: Sendable {
    let time: Int64
    let step: Int
  }

  /// Moves the clock.
  ///
  /// - Parameter milliseconds: The time to add.
  /// - Returns: The new time, and the steps that are due, in order.
  /// - Throws: `limitExceeded` if too many steps are due, and `storeBusy` while another advance
  ///   runs; the clock is then unchanged.
  func begin(advance milliseconds: Int64) throws(RPCError) -> (now: Int64, due: [Occurrence]) {
    let outcome = state.withLock { state -> Result<(now: Int64, due: [Occurrence]), RPCError> in
      guard !state.isAdvancing else {
        return .failure(
          RPCError(
            code: ErrorName.storeBusy.code,
            message: "Another client is moving the clock",
            data: .object([.code: "storeBusy"])
          )
        )
      }
      let now = max(0, state.reached) + milliseconds
      let due = due(after: state.reached, through: now)
      guard due.count <= Self.stepsMax else {
        return .failure(
          Limits.exceeded("steps", max: Self.stepsMax, "Too many steps are due; advance less")
        )
      }
      state.reached = now
      state.isAdvancing = true
      return .success((now, due))
    }
    return try outcome.get()
  }

  func endAdvance() {
    state.withLock { $0.isAdvancing = false }
  }

  /// Returns the occurrences of steps in a period.
  ///
  /// The list is incomplete if it has more than `stepsMax` occurrences, because the caller then
  /// fails.
  private func due(after start: Int64, through end: Int64) -> [Occurrence] {
    var due: [Occurrence] = []
    for (index, step) in script.timeline.enumerated() {
      guard step.at <= end else { break }
      let first = step.every == 0 || step.at > start ? 0 : (start - step.at) / step.every + 1
      var number = first
      while number < step.times, due.count <= Self.stepsMax {
        let time = step.at + number * step.every
        guard time <= end else { break }
        if time > start { due.append(Occurrence(time: time, step: index)) }
        number += 1
      }
    }
    return due.sorted { ($0.time, $0.step) < ($1.time, $1.step) }
  }

  /// Performs the save of a step; the completion is called on the loop.
  func save(_ params: JSONValue, _ completion: @escaping @Sendable (ClientError?) -> Void) {
    writer.start(.save, toStore(params)) { outcome in
      if case .failure(let error) = outcome { completion(error) } else { completion(nil) }
    }
  }
}

extension JSONValue {
  /// Returns whether any string in the value equals a text; the names of members do not count.
  fileprivate func contains(_ text: String) -> Bool {
    switch self {
    case .string(let string): string == text
    case .array(let elements): elements.contains { $0.contains(text) }
    case .object(let members): members.contains { $0.value.contains(text) }
    default: false
    }
  }
}

extension ObjectID {
  /// Whether the ID has the value of an identity attribute.
  fileprivate var isIdentity: Bool {
    switch key {
    case .integer, .uuid, .string: true
    case .object, .temporary: false
    }
  }
}
