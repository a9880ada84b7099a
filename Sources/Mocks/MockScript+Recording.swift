import JSON
import JSONRPC

/// The conversion of recordings to scripts.
extension MockScript {
  /// A request without its response.
  private struct Asked {
    let method: String
    let params: JSONValue
  }

  /// Reads a recording: each request becomes a fixed result, and each notification of the service
  /// a step.
  ///
  /// - Parameters:
  ///   - text: The content of the file.
  ///   - memoryMax: The maximum memory of the messages, in bytes.
  /// - Returns: The script; nil if the first line is not a message of a recording.
  /// - Throws: `ScriptError` with the line.
  static func recording(_ text: [UInt8], memoryMax: Int) throws(ScriptError) -> MockScript? {
    var script = MockScript()
    var memoryLeft = memoryMax
    var asked: [Int64: [(id: RequestID, request: Asked)]] = [:]
    var time: Int64 = 0
    for (index, line) in text.split(separator: 0x0A).enumerated() {
      let place = "line \(index + 1)"
      let entry: JSONValue
      do {
        let measured = try JSONParser.measure(
          Array(line).span,
          depthMax: 256,
          bytesMax: memoryLeft
        )
        entry = measured.value
        memoryLeft -= measured.bytes
      } catch {
        guard error.code != .tooLarge else { throw tooLarge(place, memoryMax) }
        if index == 0 { return nil }
        throw ScriptError(place, error.message)
      }
      guard let at = entry["at"]?.integer, let connection = entry["connection"]?.integer,
        let from = entry["from"]?.string, ["client", "service"].contains(from),
        let message = entry["message"]
      else {
        if index == 0 { return nil }
        throw ScriptError(place, "a message of a recording has at, connection, from and message")
      }
      guard at >= time else {
        throw ScriptError(place, "the time \(at) is before that of the line before")
      }
      time = at
      for part in message.array ?? [message] {
        if from == "client" {
          guard let id = part["id"].flatMap(RequestID.init), let method = part["method"]?.string
          else { continue }
          let params = (part["params"] ?? .object([])).sortedMembers
          asked[connection, default: []].append((id, Asked(method: method, params: params)))
        } else if part["method"] != nil {
          script.timeline.append(
            Step(
              place: place,
              at: at,
              action: .notification(connection: Int(connection), part)
            )
          )
        } else if let id = part["id"].flatMap(RequestID.init),
          // An error of the connection itself has a null ID, and answers no request.
          id != .null || part["error"] == nil,
          let place = asked[connection]?.firstIndex(where: { $0.id == id }),
          let answer = (part.members ?? []).first(where: { ["result", "error"].contains($0.name) })
        {
          guard let request = asked[connection]?.remove(at: place).request else { continue }
          script.results.append(
            ScriptedResult(method: request.method, params: request.params, answer: answer)
          )
        }
      }
    }
    return script
  }
}
