/// The value of one attribute, typed, as it is stored; `null` is a value of every optional one.
public enum AttributeValue: Hashable, Sendable {
  case null
  case string(String)
  /// `int16`, `int32` and `int64`.
  case integer(Int64)
  /// `double` and `float`; never not-a-number.
  case double(Double)
  case boolean(Bool)
  /// A decimal number in its shortest plain notation.
  case decimal(String)
  /// Milliseconds since 1970-01-01T00:00:00Z.
  case date(Int64)
  /// Lower case, with dashes.
  case uuid(String)
  case uri(String)
  case binary([UInt8])
  /// A JSON text.
  case json(String)
}

/// An object within a store: the number of its entity and its own.
///
/// Inside one opened store only; a client holds the `WrappedID`.
package struct ObjectKey: Hashable, Sendable {
  /// The entity's number, from `EntityDescription.number`.
  package let entity: Int
  /// The number behind `p` in its wrapped ID.
  package let object: Int64

  package init(entity: Int, object: Int64) {
    self.entity = entity
    self.object = object
  }
}

extension ObjectKey: Comparable {
  package static func < (first: ObjectKey, second: ObjectKey) -> Bool {
    (first.entity, first.object) < (second.entity, second.object)
  }
}
