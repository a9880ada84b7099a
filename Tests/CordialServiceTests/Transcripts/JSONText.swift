import JSON

/// JSON texts that may be malformed.
enum JSONText {
  /// Parses a text; nil when it is no JSON.
  static func parsed(_ text: String) -> JSONValue? {
    do {
      return try JSONParser.parse(text)
    } catch {
      return nil
    }
  }
}
