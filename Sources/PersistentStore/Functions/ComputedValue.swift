import Interruptions
package import JSON

/// The stored values of an object for which a program computes an attribute.
package struct StoredObject: Sendable {
  /// The name of the entity that declares the computed attribute, which may be an ancestor of the
  /// object's.
  package let entity: String
  /// The values of that entity's stored attributes, in the form of the protocol:
  /// `{"first": "Ada", …}`.
  package let values: JSONValue
  /// What stops the request; nil for nothing.
  let interruption: Interruption?

  /// Whether the request that reads the attribute has to end, at any time from now on.
  ///
  /// A function that may take long looks at this and returns early; its value is not used then.
  package var isStopped: Bool { interruption?.reason != nil }
}

/// A function of a program that computes the value of a transient attribute.
///
/// It returns the value in the form of the protocol, which must depend on the object alone, and
/// null where there is none. It runs inside queries, on several threads, so it must be fast or
/// look at `isStopped`, and must wait for nothing.
package typealias ComputedValue = @Sendable (StoredObject) -> JSONValue
