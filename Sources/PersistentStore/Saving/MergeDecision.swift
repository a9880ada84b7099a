package import JSON

/// A property that other saves changed since the version that the client sent.
package struct PropertyConflict: Sendable {
  /// The object's ID.
  package let id: String
  package let property: String
  /// The value in the version that the client sent.
  package let base: JSONValue
  /// The stored value.
  package let store: JSONValue
  /// The value that the client sent, nil if it sent none.
  package let client: JSONValue?

  /// The decision about a property.
  package enum Resolution: Sendable {
    case store
    /// The value that the client sent; the stored value if it sent none.
    case client
    case base
    /// Another value, in the form in which a client sends it.
    case value(JSONValue)
  }
}

/// A function that decides about a property.
///
/// The function runs inside the writer's transaction, so it must be fast and must not wait.
package typealias MergeDecision = @Sendable (PropertyConflict) -> PropertyConflict.Resolution
