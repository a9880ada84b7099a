import Glibc
import JSON

/// This project's protocol in line framing: requests, and answers as JSON.
enum Cordial {
  private static let searchableSecondsMax = 120

  /// A request as one line; the parameters are JSON.
  static func request(_ method: String, _ parameters: String) -> [UInt8] {
    Array(#"{"jsonrpc":"2.0","id":1,"method":"\#(method)","params":\#(parameters)}"#.utf8) + [0x0A]
  }

  /// Calls a method and answers with its result.
  static func call(
    _ method: String,
    _ parameters: String = "{}",
    on connection: Connection
  ) throws -> JSONValue {
    try result(of: connection.exchange(request(method, parameters), LineFormat()))
  }

  /// The number of objects of the entity that all rows use.
  static func objectCount(on connection: Connection) throws -> Int {
    let parameters = #"{"entity":"Item","result":"count"}"#
    guard let count = try call("fetch", parameters, on: connection)["count"]?.integer else {
      throw BenchmarkError("The answer to a count has no count")
    }
    return Int(count)
  }

  /// Asks for the index's position until nothing is behind it, and until it is that of a save.
  static func waitUntilIndexed(_ token: JSONValue? = nil, on connection: Connection) throws {
    let deadline = ContinuousClock.now + .seconds(searchableSecondsMax)
    while true {
      let status = try call("index/status", on: connection)
      if status["behind"] == 0, token == nil || status["token"] == token { return }
      guard ContinuousClock.now < deadline else {
        throw BenchmarkError("The index did not arrive at the last save: \(status.text)")
      }
      usleep(2_000)
    }
  }

  /// The result in an answer that was received before.
  static func result(of answer: [UInt8]) throws -> JSONValue {
    guard let result = try JSONParser.parse(answer.span)["result"] else {
      throw BenchmarkError("An answer has no result")
    }
    return result
  }
}
