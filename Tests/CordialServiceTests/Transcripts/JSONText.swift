import JSON

/// JSON texts that may be malformed.
enum JSONText {
  /// Parses a text, or returns nil if it is not JSON.
  static func parsed(_ text: String) -> JSONValue? {
    do {
      return try JSONParser.parse(text)
    } catch {
      return nil
    }
  }
}
