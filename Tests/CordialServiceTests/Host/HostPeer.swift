import CordialService
import JSON
import JSONRPC
import Testing

/// A scripted client of a host, which sends without waiting and keeps what the service sent.
final class HostPeer {
  /// A message or another action of the service on the session.
  enum Arrival: Equatable {
    case message(JSONValue)
    case event(RecordingSink.Event)
  }

  private let host: ServiceHost
  private let service: Service
  private let session: HostSession
  private let framing: Framing
  private var splitter: MessageSplitter
  private var received: [Arrival] = []
  /// The ID of the last request.
  private(set) var lastID = 0

  /// Opens a session.
  init(_ host: ServiceHost, framing: Framing = .line, dialects: [Dialect] = Dialect.all) {
    self.host = host
    self.framing = framing
    service = host.service
    session = host.connect(framing: framing, dialects: dialects)
    splitter = MessageSplitter(framing: framing)
  }

  /// Opens a session of another service of the host's store, in line framing.
  init(_ host: ServiceHost, of service: Service) {
    self.host = host
    self.service = service
    framing = .line
    splitter = MessageSplitter(framing: .line)
    let sink = RecordingSink()
    let number = host.loop.enter {
      service.assumeIsolated { $0.connect(sink, framing: .line, closesOnUnknownFraming: false) }
    }
    session = HostSession(number: number, sink: sink)
  }

  // MARK: Sending

  /// Returns the bytes of a request with the next ID.
  func request(_ method: String, _ params: String = "{}") -> [UInt8] {
    lastID += 1
    // A line feed ends the message.
    let line = params.replacing("\n", with: " ")
    let text = #"{"jsonrpc":"2.0","id":\#(lastID),"method":"\#(method)","params":\#(line)}"#
    return framing.frame(Array(text.utf8))
  }

  /// Sends a request and returns its ID, without waiting for the answer.
  @discardableResult
  func send(_ method: String, _ params: String = "{}") -> Int {
    send(bytes: request(method, params))
    return lastID
  }

  /// Sends a notification without params.
  func notify(_ method: String) {
    send(bytes: framing.frame(Array(#"{"jsonrpc":"2.0","method":"\#(method)"}"#.utf8)))
  }

  /// Cancels a request.
  func cancel(_ id: Int) {
    let text = #"{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":\#(id)}}"#
    send(bytes: framing.frame(Array(text.utf8)))
  }

  /// Sends bytes, which the service handles before this returns.
  func send(bytes: [UInt8]) {
    guard let number = session.number else { return }
    host.loop.enter { service.assumeIsolated { $0.receive(bytes.span, session: number) } }
  }

  /// Sends a request, waits for its answer, and returns the `result` or the `error`.
  func call(_ method: String, _ params: String = "{}") throws -> JSONValue {
    let id = send(method, params)
    try host.run(until: "\(method) is answered") { answer(to: id) != nil }
    try host.settle()
    let message = try #require(answer(to: id))
    return try #require(message["result"] ?? message["error"])
  }

  // MARK: The connection

  /// Whether the service refused the session.
  var isRefused: Bool { session.number == nil }

  /// Whether the service closed the session.
  var isClosed: Bool { session.sink.isClosed }

  /// Drops the connection.
  func disconnect() {
    guard let number = session.number else { return }
    host.loop.enter { service.assumeIsolated { $0.disconnected(session: number) } }
  }

  /// Ends the input of the connection.
  func endInput() {
    guard let number = session.number else { return }
    host.loop.enter { service.assumeIsolated { $0.endInput(session: number) } }
  }

  /// Stops reading what the service sends.
  func stopReading() {
    session.sink.setWritable(false)
  }

  /// Reads so many bytes of what the service sends from now on, and then none.
  func read(bytes: Int) {
    session.sink.accept(bytes: bytes)
  }

  /// Resumes reading what the service sends.
  func resumeReading() {
    session.sink.setWritable(true)
    guard let number = session.number else { return }
    host.loop.enter { service.assumeIsolated { $0.becameWritable(session: number) } }
  }

  // MARK: What arrived

  /// All messages and other actions of the service, oldest first.
  var arrivals: [Arrival] {
    for event in session.sink.takeEvents() {
      guard case .wrote(let bytes) = event else {
        received.append(.event(event))
        continue
      }
      for message in splitter.take(bytes) {
        let text = String(decoding: message, as: UTF8.self)
        received.append(.message(JSONText.parsed(text) ?? .string(text)))
      }
    }
    return received
  }

  /// The messages of the service, oldest first.
  var messages: [JSONValue] {
    var messages: [JSONValue] = []
    for case .message(let message) in arrivals { messages.append(message) }
    return messages
  }

  /// The actions of the service other than messages, oldest first.
  var events: [RecordingSink.Event] {
    var events: [RecordingSink.Event] = []
    for case .event(let event) in arrivals { events.append(event) }
    return events
  }

  /// Returns the answer to a request, or nil while there is none.
  func answer(to id: Int) -> JSONValue? {
    messages.first { $0["id"]?.integer == Int64(id) }
  }

  /// The IDs of the answers, in the order in which the answers arrived.
  var answeredIDs: [Int64] { messages.compactMap { $0["id"]?.integer } }

  /// The params of the `changes`, oldest first.
  var changes: [JSONValue] {
    messages.filter { $0["method"]?.string == "changes" }.compactMap { $0["params"] }
  }
}

// MARK: Tasks

/// Returns the params of a save that inserts a task of `TestModels.todo`.
func insertTask(_ title: String, author: String = "ann") -> String {
  #"{"insert":[{"entity":"Task","values":{"title":"\#(title)"}}],"author":"\#(author)"}"#
}

extension HostPeer {
  /// The params of a fetch that counts the tasks.
  static let countTasks = #"{"entity":"Task","result":"count"}"#

  /// Saves a new task and returns the token of the save.
  @discardableResult
  func saveTask(_ title: String, author: String = "ann") throws -> String {
    let saved = try call("save", insertTask(title, author: author))
    return try #require(saved["token"]?.string)
  }

  /// Observes all tasks and returns the token of the result.
  @discardableResult
  func observeTasks() throws -> String {
    let observed = try call("observe", #"{"fetch":{"entity":"Task"}}"#)
    return try #require(observed["token"]?.string)
  }

  /// The titles of the tasks that all `changes` inserted into observed fetches, in order.
  var insertedTitles: [String] {
    changes.flatMap { $0["updates"]?.array ?? [] }
      .flatMap { $0["insert"]?.array ?? [] }
      .compactMap { $0["object"]?["values"]?["title"]?.string }
  }

  /// Reads the log and returns the author of each retained commit, oldest first.
  func retainedAuthors() throws -> [String] {
    let history = try call("history", #"{"limit":1000}"#)
    return (history["transactions"]?.array ?? []).map { $0["author"]?.string ?? "null" }
  }
}
