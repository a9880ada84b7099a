/// A client of the protocol, over lines or headers.
final class Peer {
  let stream: ByteStream
  private let hasHeaders: Bool
  private var nextID = 0
  /// Notifications that came before an answer.
  private(set) var notifications: [JSON] = []

  /// The process, which would be killed if nobody held it.
  private let owner: Child

  init(_ stream: ByteStream, of owner: Child, hasHeaders: Bool = false) {
    self.stream = stream
    self.owner = owner
    self.hasHeaders = hasHeaders
  }

  /// A client at the standard streams of a process.
  convenience init(_ child: Child, hasHeaders: Bool = false) {
    self.init(child.stream, of: child, hasHeaders: hasHeaders)
  }

  /// The bytes of a message.
  static func frame(_ body: String, hasHeaders: Bool) -> String {
    hasHeaders ? "Content-Length: \(body.utf8.count)\r\n\r\n\(body)" : body + "\n"
  }

  func send(_ message: JSON) throws { try send(body: message.text) }

  func send(body: String) throws {
    try stream.send(Self.frame(body, hasHeaders: hasHeaders))
  }

  func notify(_ method: String, _ params: JSON = [:]) throws {
    try send(["jsonrpc": "2.0", "method": .string(method), "params": params])
  }

  /// Sends a request and answers its ID.
  @discardableResult
  func request(_ method: String, _ params: JSON = [:]) throws -> Int {
    nextID += 1
    try send([
      "jsonrpc": "2.0", "id": .integer(Int64(nextID)), "method": .string(method), "params": params,
    ])
    return nextID
  }

  /// The next message whatever it is; nil at the end.
  func message() throws -> JSON? {
    guard hasHeaders else { return try stream.line().map { try JSON($0) } }
    var length = 0
    while let line = try stream.line() {
      if line == "\r" { break }
      let field = line.dropLast().split(separator: ": ")
      if field.first == "Content-Length" { length = Int(field[1]) ?? 0 }
    }
    guard length > 0 else { return nil }
    return try JSON(String(decoding: try stream.bytes(length), as: UTF8.self))
  }

  /// The answer to a request; notifications before it are kept.
  func answer(_ id: Int) throws -> JSON {
    while let message = try message() {
      if message["method"] != nil {
        notifications.append(message)
      } else if message["id"]?.integer == id {
        return message
      } else {
        throw Failure("an answer to something else: \(message.text.prefix(500))")
      }
    }
    throw Failure("the connection ended before the answer")
  }

  /// The result of a request, or the error as a failure.
  @discardableResult
  func call(_ method: String, _ params: JSON = [:]) throws -> JSON {
    let answer = try answer(try request(method, params))
    guard let result = answer["result"] else { throw Failure(answer.text) }
    return result
  }

  /// The code of the error that a request is answered with; nil for a result.
  func errorCode(_ method: String, _ params: JSON = [:]) throws -> Int? {
    try answer(try request(method, params))["error"]?["code"]?.integer
  }

  /// The params of the next `changes`, with its parts joined.
  func changes() throws -> JSON {
    var changes = try nextPart()
    var updates = changes["updates"]?.array ?? []
    while changes["more"] == true {
      changes = try nextPart()
      for update in changes["updates"]?.array ?? [] {
        guard let last = updates.last, last["subscription"] == update["subscription"] else {
          updates.append(update)
          continue
        }
        updates[updates.count - 1] = Self.joined(last, update)
      }
    }
    guard var members = changes.object else { return changes }
    members["updates"] = .array(updates)
    return .object(members)
  }

  /// Joins two parts of one update: lists are appended, and other members occur once.
  private static func joined(_ first: JSON, _ second: JSON) -> JSON {
    guard let first = first.object, let second = second.object else { return second }
    return .object(
      first.merging(second) { a, b in
        if let a = a.array, let b = b.array { return .array(a + b) }
        return a.object != nil ? joined(a, b) : b
      }
    )
  }

  private func nextPart() throws -> JSON {
    if !notifications.isEmpty { return notifications.removeFirst()["params"] ?? .null }
    guard let message = try message(), message["method"] == "changes" else {
      throw Failure("no changes came")
    }
    return message["params"] ?? .null
  }

  /// What came unasked, forgotten.
  func takeNotifications() -> [JSON] {
    defer { notifications = [] }
    return notifications
  }
}
