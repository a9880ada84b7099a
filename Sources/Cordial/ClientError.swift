package import JSON

/// The reason why a call has no result.
package struct ClientError: Error, Sendable {
  /// The code of the service's error; 0 when there was no response.
  package let code: Int
  /// A description of the error in one sentence.
  package let message: String
  /// The details that the service added for programs, null when it added none.
  package let data: JSONValue

  package init(code: Int, message: String, data: JSONValue = .null) {
    self.code = code
    self.message = message
    self.data = data
  }

  /// Advice on how to correct the error, nil when the service gave none.
  package var hint: String? { data["hint"]?.string }
}
