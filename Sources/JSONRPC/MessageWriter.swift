package import JSON

/// A writer of messages without framing.
package enum MessageWriter {
  /// Writes the beginning of a response, up to its result.
  package static func beginResult(_ id: RequestID, _ writer: inout JSONWriter) {
    writer.raw("{\"jsonrpc\":\"2.0\",\"id\":")
    switch id {
    case .integer(let number): writer.integer(number)
    default: writer.value(id.json)
    }
    writer.raw(",\"result\":")
  }

  /// Returns a whole response with a result that is already JSON text.
  package static func result(_ id: RequestID, _ result: [UInt8]) -> [UInt8] {
    var writer = JSONWriter(reserving: result.count + 64)
    beginResult(id, &writer)
    writer.raw(result)
    writer.raw("}")
    return writer.bytes
  }

  /// Returns a whole response with an error.
  package static func error(_ id: RequestID, _ error: RPCError) -> [UInt8] {
    var writer = JSONWriter()
    writer.raw("{\"jsonrpc\":\"2.0\",\"id\":")
    writer.value(id.json)
    writer.raw(",\"error\":")
    writer.value(error.json)
    writer.raw("}")
    return writer.bytes
  }

  /// Writes the beginning of a notification, up to its params.
  package static func beginNotification(_ method: String, _ writer: inout JSONWriter) {
    writer.raw("{\"jsonrpc\":\"2.0\",\"method\":")
    writer.string(method)
    writer.raw(",\"params\":")
  }

  /// Returns a whole notification with params that are already JSON text.
  package static func notification(_ method: String, _ params: [UInt8]) -> [UInt8] {
    var writer = JSONWriter(reserving: params.count + 64)
    beginNotification(method, &writer)
    writer.raw(params)
    writer.raw("}")
    return writer.bytes
  }

  /// Returns a whole request.
  package static func request(_ id: RequestID, _ method: String, _ params: JSONValue) -> [UInt8] {
    var writer = JSONWriter()
    writer.value([
      "jsonrpc": "2.0", "id": id.json, "method": .string(method), "params": params,
    ])
    return writer.bytes
  }
}
