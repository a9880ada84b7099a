import JSON

/// Replaces the parts of a message that differ between runs or machines.
///
/// Everything else is fixed by `HostClock` and compared byte for byte. Prefer fixing a value to adding
/// a rule here.
enum Normalization {
  /// Returns a message as it is recorded.
  ///
  /// - Parameters:
  ///   - text: The message.
  ///   - folder: The folder of the store.
  /// - Returns: The normalized message.
  /// - Throws: The error of reading `openrpc.json`.
  static func normalized(_ text: String, folder: String) throws -> String {
    // The examples of the document have sizes too.
    var text = try withoutDocument(text.replacing(folder, with: "$FOLDER"))
    // File sizes depend on the version of SQLite.
    text.replace(/"(bytes|before|after|microseconds|microsecondsMax)":\d+/) {
      "\"\($0.1)\":\"SIZE\""
    }
    // A search and the index's own thread look for a changed file; either may read it first.
    text.replace(/"read":"[^"]*"/, with: #""read":"TIME""#)
    // Attributes derived by `now()` have the time of SQLite, which cannot be injected.
    text.replace(/"touched":"[^"]*"/, with: #""touched":"NOW""#)
    return text
  }

  /// Replaces the result of `rpc.discover` when it equals `openrpc.json`.
  private static func withoutDocument(_ text: String) throws -> String {
    guard text.contains(#""result":{"openrpc":"#) else { return text }
    let message = try JSONParser.parse(text)
    let document = try JSONParser.parse(try Transcript.protocolFile("openrpc.json"))
    guard message["result"] == document else { return text }
    return #"{"jsonrpc":"2.0","id":\#(message["id"]?.text ?? "null"),"result":openrpc.json}"#
  }
}
