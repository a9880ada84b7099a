import CordialValues
package import JSON
package import JSONRPC

/// The rules for the author, the context and the transaction of a write.
package enum WriteRules {
  /// The author of changes by external SQLite clients.
  ///
  /// No request may name this author.
  private static let externalAuthor = "external"

  /// The maximum length of an author and of a context, in bytes.
  ///
  /// The maximum is small, because each notification may repeat the authors of a thousand commits.
  package static let nameBytesMax = 1024

  /// The value of `durability` for a response that does not wait for the disk.
  static let normal = "normal"

  /// Checks the length of an author, and that the author is not `externalAuthor`.
  ///
  /// - Throws: `RPCError`.
  static func author(_ author: String?, _ method: String) throws(RPCError) -> String? {
    guard author != externalAuthor else {
      throw RPCError(
        .invalidParams,
        "\(method): the author external belongs to the changes of external SQLite clients"
      )
    }
    return try limited(author, "author", method)
  }

  /// Checks the length of a context.
  ///
  /// - Throws: `RPCError`.
  static func context(_ context: String?, _ method: String) throws(RPCError) -> String? {
    try limited(context, "context", method)
  }

  /// Checks the length of an author or a context.
  ///
  /// - Throws: `RPCError`.
  static func limited(
    _ text: String?,
    _ member: String,
    _ method: String
  ) throws(RPCError) -> String? {
    guard let text, text.utf8.count > nameBytesMax else { return text }
    throw .exceeded(
      "nameBytes",
      max: nameBytesMax,
      "\(method): \(member) has \(text.utf8.count) bytes; at most \(nameBytesMax) are allowed"
    )
  }

  /// Returns the canonical form of the UUID that names a transaction; nil for none.
  ///
  /// - Throws: `RPCError` with the code `invalidParams` for a text that is not a UUID.
  static func transaction(_ text: String?, _ method: String) throws(RPCError) -> String? {
    guard let text else { return nil }
    guard let uuid = UUIDText.canonical(text) else {
      throw RPCError(
        .invalidParams,
        "\(method): transaction is a UUID, as 0b1f7a52-6d0e-4f5c-9a57-3c8f0e1d2b4a, "
          + "not \"\(text.excerpt)\""
      )
    }
    return uuid
  }
}

/// The time limit of a request.
package enum TimeLimit {
  /// Returns the time limit that a client sends with a request.
  ///
  /// - Parameters:
  ///   - params: The params, or another object with `timeoutSeconds`.
  ///   - method: The name of the method.
  /// - Returns: The time in seconds; nil for none.
  /// - Throws: `RPCError` for a value that is not a number above 0.
  package static func seconds(of params: JSONValue, _ method: String) throws(RPCError) -> Double? {
    switch params[.timeoutSeconds] {
    case nil, .null?: return nil
    default: break
    }
    guard let seconds = params.number(.timeoutSeconds), seconds > 0 else {
      throw RPCError(.invalidParams, "\(method): timeoutSeconds wants a number above 0")
    }
    return seconds
  }
}
