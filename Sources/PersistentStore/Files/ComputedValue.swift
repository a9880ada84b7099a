package import JSON

/// The stored values of an object for which a program computes an attribute.
package struct StoredObject: Sendable {
  /// The name of the entity that declares the computed attribute, which may be an ancestor of the
  /// object's.
  package let entity: String
  /// The values of that entity's stored attributes, in the form of the protocol:
  /// `{"first": "Ada", …}`.
  package let values: JSONValue
}

/// A function of a program that computes the value of a transient attribute.
///
/// It returns the value in the form of the protocol, which must depend on the object alone, and
/// null where there is none. It runs inside queries, on several threads, so it must be fast and
/// must wait for nothing.
package typealias ComputedValue = @Sendable (StoredObject) -> JSONValue
