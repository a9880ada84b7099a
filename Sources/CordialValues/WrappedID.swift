/// The identity of a value.
///
/// The ID of a store's object has the form `objectID`. The other forms have no entity. A program
/// gives IDs of these forms to the values of its mocks; no store has an object with such an ID.
///
///     let sample = TodoGroup(id: .string("Group1"), title: "Home", taskCount: 2)
public enum WrappedID: Sendable {
  /// A name.
  case string(String)
  /// A number.
  case integer(Int)
  /// A UUID.
  case uuid(UUIDValue)
  /// The ID of a stored object, or of an object that a program is about to insert.
  case objectID(ObjectID)

  /// The ID in a store; nil for the ID of a mock.
  public var objectID: ObjectID? {
    if case .objectID(let id) = self { id } else { nil }
  }

  /// The name of the object's entity; nil for the ID of a mock.
  public var entity: String? { objectID?.entity }

  /// Whether the ID is temporary, because its object is not saved yet.
  public var isTemporary: Bool { objectID?.isTemporary ?? false }
}

extension WrappedID: Hashable {
  /// Compares code points, as stores do.
  public static func == (first: WrappedID, second: WrappedID) -> Bool {
    switch (first, second) {
    case (.objectID(let a), .objectID(let b)): a == b
    case (.string(let a), .string(let b)): a.utf8.elementsEqual(b.utf8)
    case (.integer(let a), .integer(let b)): a == b
    case (.uuid(let a), .uuid(let b)): a == b
    default: false
    }
  }

  /// Hashes the value of the ID, texts by their bytes.
  public func hash(into hasher: inout Hasher) {
    switch self {
    case .string(let text): hasher.combine(ExactText(text))
    case .integer(let number): hasher.combine(number)
    case .uuid(let uuid): hasher.combine(uuid)
    case .objectID(let id): hasher.combine(id)
    }
  }
}

extension WrappedID: Identifiable, LosslessStringConvertible, TextCodable {
  /// The ID itself.
  public var id: WrappedID { self }

  /// The text of the object's ID, or `/sGroup1`, `/i17` and `/u0b3c…` for the ID of a mock.
  public var description: String {
    switch self {
    case .string(let text): "/s" + PercentText.encode(text)
    case .integer(let number): "/i\(number)"
    case .uuid(let uuid): "/u\(uuid)"
    case .objectID(let id): id.description
    }
  }

  /// Parses the text of an ID; the result is nil for any text that `description` never returns.
  public init?(_ description: String) {
    guard description.utf8.first == UInt8(ascii: "/") else {
      guard let id = ObjectID(description) else { return nil }
      self = .objectID(id)
      return
    }
    // The text of a mock's ID is the text of an object's ID without the entity.
    switch ObjectID("M\(description)")?.key {
    case .string(let text): self = .string(text)
    case .integer(let number): self = .integer(Int(number))
    case .uuid(let text):
      guard let uuid = UUIDValue(text) else { return nil }
      self = .uuid(uuid)
    case .object, .temporary, nil: return nil
    }
  }
}
