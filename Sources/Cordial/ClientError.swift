package import JSON

/// Why a call was not answered with a result.
package struct ClientError: Error, Sendable {
  /// The code of the service's error; 0 when there was no answer.
  package let code: Int
  /// One sentence.
  package let message: String
  /// What the service added for programs, null where it added nothing.
  package let data: JSONValue

  package init(code: Int, message: String, data: JSONValue = .null) {
    self.code = code
    self.message = message
    self.data = data
  }

  /// What to do about it, nil where the service said nothing.
  package var hint: String? { data["hint"]?.string }
}
