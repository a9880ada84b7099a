/// The typed value of one attribute, as stored; every optional attribute may be `null`.
public enum AttributeValue: Sendable {
  /// No value.
  case null
  /// A text.
  case string(String)
  /// The value of an attribute of the type `int16`, `int32` or `int64`.
  case integer(Int64)
  /// The value of an attribute of the type `double` or `float`; never NaN.
  case double(Double)
  /// A flag.
  case boolean(Bool)
  /// A decimal number in its shortest plain notation.
  case decimal(String)
  /// Milliseconds since 1970-01-01T00:00:00Z.
  case date(Int64)
  /// A UUID in lower case, with dashes.
  case uuid(String)
  /// The text of a URI.
  case uri(String)
  /// Bytes.
  case binary([UInt8])
  /// A JSON text.
  case json(String)
}

extension AttributeValue: Hashable {
  /// Compares texts by code points: two normal forms of one text are different values.
  public static func == (first: AttributeValue, second: AttributeValue) -> Bool {
    switch (first, second) {
    case (.null, .null): true
    case (.integer(let a), .integer(let b)), (.date(let a), .date(let b)): a == b
    case (.double(let a), .double(let b)): a == b
    case (.boolean(let a), .boolean(let b)): a == b
    case (.binary(let a), .binary(let b)): a == b
    case (.string(let a), .string(let b)), (.decimal(let a), .decimal(let b)),
      (.uuid(let a), .uuid(let b)), (.uri(let a), .uri(let b)), (.json(let a), .json(let b)):
      a.utf8.elementsEqual(b.utf8)
    default: false
    }
  }

  /// Hashes the value, texts by their bytes.
  public func hash(into hasher: inout Hasher) {
    switch self {
    case .null: hasher.combine(0)
    case .integer(let number), .date(let number): hasher.combine(number)
    case .double(let number): hasher.combine(number)
    case .boolean(let flag): hasher.combine(flag)
    case .binary(let bytes): hasher.combine(bytes)
    case .string(let text), .decimal(let text), .uuid(let text), .uri(let text), .json(let text):
      hasher.combine(ExactText(text))
    }
  }
}

/// The key of an object within a store: its entity number and its object number.
///
/// A key is valid inside one open store only. Clients use an `ObjectID`.
package struct ObjectKey: Hashable, Sendable {
  /// The entity's number, from `EntityDescription.number`.
  package let entity: Int
  /// The number after `p` in the object's wrapped ID.
  package let object: Int64

  package init(entity: Int, object: Int64) {
    self.entity = entity
    self.object = object
  }
}

extension ObjectKey {
  /// Hashes both numbers as one, because entity numbers are small and object numbers have 53 bits.
  package func hash(into hasher: inout Hasher) {
    hasher.combine(object &+ Int64(truncatingIfNeeded: entity) &<< 53)
  }
}

extension ObjectKey: Comparable {
  package static func < (first: ObjectKey, second: ObjectKey) -> Bool {
    (first.entity, first.object) < (second.entity, second.object)
  }
}
