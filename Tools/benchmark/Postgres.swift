/// PostgreSQL's protocol 3.0, of which the rows need a few messages; authentication is "trust".
///
/// https://www.postgresql.org/docs/15/protocol-message-formats.html
enum Postgres {
  static func startUp(user: String) -> [UInt8] {
    let parameters = text("user") + text(user) + text("database") + text("postgres") + [0]
    return int32(8 + parameters.count) + int32(196_608) + parameters
  }

  static func query(_ sql: String) -> [UInt8] { message("Q", text(sql)) }

  /// Prepares a statement under a name; PostgreSQL infers the parameters' types.
  static func parse(_ sql: String, named name: String) -> [UInt8] {
    message("P", text(name) + text(sql) + int16(0)) + sync
  }

  /// Runs a prepared statement with its parameters, as libpq's PQexecPrepared does: everything in
  /// one write, answered up to ReadyForQuery.
  static func execute(_ name: String, _ parameters: String...) -> [UInt8] {
    let values = parameters.flatMap { int32($0.utf8.count) + Array($0.utf8) }
    let bind = text("") + text(name) + int16(0) + int16(parameters.count) + values + int16(0)
    return message("B", bind) + message("E", text("") + int32(0)) + sync
  }

  static func copyData(_ rows: [UInt8]) -> [UInt8] { message("d", rows) }

  static let copyDone = message("c", [])

  private static let sync = message("S", [])

  private static func message(_ type: Unicode.Scalar, _ body: [UInt8]) -> [UInt8] {
    [UInt8(ascii: type)] + int32(4 + body.count) + body
  }

  private static func text(_ text: String) -> [UInt8] { Array(text.utf8) + [0] }

  private static func int16(_ number: Int) -> [UInt8] {
    [UInt8(truncatingIfNeeded: number >> 8), UInt8(truncatingIfNeeded: number)]
  }

  private static func int32(_ number: Int) -> [UInt8] { int16(number >> 16) + int16(number) }
}

/// Messages up to and with the first one of a type; an error ends them at ReadyForQuery.
struct PostgresFormat: ReplyFormat {
  /// The end of every answer.
  static let readyForQuery = PostgresFormat(until: "Z")
  /// What COPY FROM STDIN answers before the rows are sent.
  static let copyIn = PostgresFormat(until: "G")
  /// What a listening connection is sent.
  static let notification = PostgresFormat(until: "A")

  private let last: UInt8

  private init(until type: Unicode.Scalar) { last = UInt8(ascii: type) }

  func endOfReply(_ bytes: Span<UInt8>) -> Int? {
    var start = 0
    while start + 5 <= bytes.count {
      let end = start + 1 + length(bytes, at: start + 1)
      guard end <= bytes.count else { return nil }
      if bytes[start] == last || bytes[start] == UInt8(ascii: "Z") { return end }
      start = end
    }
    return nil
  }

  func error(in reply: [UInt8]) -> String? {
    var start = 0
    while start + 5 <= reply.count {
      let end = start + 1 + length(reply.span, at: start + 1)
      if reply[start] == UInt8(ascii: "E") {
        return String(decoding: reply[(start + 5)..<end], as: UTF8.self)
      }
      start = end
    }
    return nil
  }

  private func length(_ bytes: Span<UInt8>, at offset: Int) -> Int {
    (0..<4).reduce(0) { $0 << 8 | Int(bytes[offset + $1]) }
  }
}

extension Connection {
  /// Connects to PostgreSQL and waits until it takes queries.
  static func postgres(_ options: Options) throws -> Connection {
    let connection = try Connection(to: options.text("socket"))
    let startUp = Postgres.startUp(user: options.text("user", default: "postgres"))
    _ = try connection.exchange(startUp, PostgresFormat.readyForQuery)
    return connection
  }

  func run(_ sql: String) throws {
    _ = try exchange(Postgres.query(sql), PostgresFormat.readyForQuery)
  }

  func prepare(_ sql: String, named name: String) throws {
    _ = try exchange(Postgres.parse(sql, named: name), PostgresFormat.readyForQuery)
  }
}
