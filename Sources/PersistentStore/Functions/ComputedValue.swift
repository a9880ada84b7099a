import Interruptions
package import JSON

/// The stored values of an object for which a program computes an attribute.
package struct StoredObject: Sendable {
  /// The name of the entity that declares the computed attribute: the object's entity or an
  /// ancestor.
  package let entity: String
  /// The values of the stored attributes of the entity `entity`, in the form of the protocol:
  /// `{"first": "Ada", …}`.
  package let values: JSONValue
  /// The interruption that can stop the request, nil if the request cannot be stopped.
  let interruption: Interruption?

  /// Whether the request that reads the attribute must end; this property can become true at any
  /// time.
  ///
  /// A function that may take long checks this property, and returns early if it is true. Cordial
  /// then ignores the function's result.
  package var isStopped: Bool { interruption?.reason != nil }
}

/// A function of a program that computes the value of a transient attribute.
///
/// The function returns the value in the form of the protocol, or null for no value. The value must
/// depend on the object alone. Queries call the function on several threads, so it must not block,
/// and must either be fast or check `isStopped`.
package typealias ComputedValue = @Sendable (StoredObject) -> JSONValue
