import JSON

/// What stands in a transcript for what differs from one run or machine to the next; all there is.
enum Normalization {
  /// A message as it stands in a transcript.
  ///
  /// - Parameters:
  ///   - text: The message as it came.
  ///   - folder: The folder that holds the store.
  /// - Returns: The text, changed where a rule applies.
  /// - Throws: When `openrpc.json` cannot be read.
  static func normalized(_ text: String, folder: String) throws -> String {
    var text = text.replacing(folder, with: "$FOLDER")
    // Sizes of files depend on the version of SQLite.
    text.replace(/"(bytes|before|after)":\d+/) { "\"\($0.1)\":\"SIZE\"" }
    // What is derived by `now()` is SQLite's time, which nobody hands in.
    text.replace(/"touched":"[^"]*"/, with: #""touched":"NOW""#)
    return try withoutDocument(text)
  }

  /// The answer to `rpc.discover` is another file of the protocol; a test compares that with what the
  /// program prints.
  private static func withoutDocument(_ text: String) throws -> String {
    guard text.contains(#""result":{"openrpc":"#) else { return text }
    let message = try JSONParser.parse(text)
    let document = try JSONParser.parse(try Transcript.protocolFile("openrpc.json"))
    guard message["result"] == document else { return text }
    return #"{"jsonrpc":"2.0","id":\#(message["id"]?.text ?? "null"),"result":openrpc.json}"#
  }
}
