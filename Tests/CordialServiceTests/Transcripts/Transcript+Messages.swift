import JSON
import ProtocolSchemas

extension Transcript {
  /// A part of a message whose form a schema describes.
  enum Message {
    /// The params of a request or a notification.
    case params(JSONValue, Method)
    case result(JSONValue, Method)
    case error(JSONValue)
  }

  /// The messages of the transcript, in their order; those that are no JSON are left out.
  var messages: [Message] {
    var found: [Message] = []
    var methods: [String: Method] = [:]
    for line in lines {
      guard let match = line.prefixMatch(of: #/([A-Za-z]*)(-[-?+]>|<--) /#) else { continue }
      let text = String(line[match.range.upperBound...]).replacing("\"SIZE\"", with: "0")
      guard let json = JSONText.parsed(text) else { continue }
      for message in json.array ?? [json] {
        let id = "\(match.1) \(message["id"]?.text ?? "")"
        let named = message["method"]?.string.flatMap { name in
          MethodTable.all.first { $0.name == name }
        }
        if let named {
          found.append(.params(message["params"] ?? [:], named))
          if match.2 != "<--" { methods[id] = named }
        } else if let result = message["result"], let method = methods[id] {
          found.append(.result(result, method))
        } else if let error = message["error"] {
          found.append(.error(error))
        }
      }
    }
    return found
  }
}
