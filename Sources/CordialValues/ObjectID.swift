// CordialValues: the values that clients use. IDs, attribute values, change sets, tokens.
//
// Must not know: JSON, SQL, files, sockets, the time, randomness. Its only import is Algorithms.
//
// What always holds:
// 1. Every value of this module is Sendable and compares by content.
// 2. Each ID has one text and each text one ID, so that clients in any language can use the text as
//    a map key.
// 3. Each parser of this module checks the whole text. It never returns a partly parsed value.

/// The identity of an object of a store, the same in fetch, save, history, search and
/// notifications.
///
/// The protocol calls the text of an ID a wrapped ID, such as `Entity/p17`; section 3 of the
/// protocol lists all forms. In a value, a `WrappedID` contains the ID.
public struct ObjectID: Sendable {
  /// The part of an ID after the entity's name and the slash.
  public enum Key: Sendable {
    /// `p`: the number that the store assigned, permanent and never reused.
    case object(Int64)
    /// `i`: the value of the entity's integer identity attribute.
    case integer(Int64)
    /// `u`: the value of the entity's UUID identity attribute, in lower case.
    case uuid(String)
    /// `s`: the value of the entity's string identity attribute.
    case string(String)
    /// `t`: a name that the client chose, valid inside one save.
    case temporary(String)
  }

  /// The name of the entity.
  public let entity: String
  /// The part that identifies the object within its entity.
  public let key: Key

  /// Creates an ID from its parts.
  public init(entity: String, key: Key) {
    self.entity = entity
    self.key = key
  }

  /// Whether the ID is temporary: a client chose it for one save.
  public var isTemporary: Bool {
    if case .temporary = key { true } else { false }
  }

  /// Parses the text of an ID.
  ///
  /// - Parameter description: `Entity/p17`; the result is nil for any other text.
  public init?(_ description: String) {
    self.init(description, store: nil)
  }

  /// Parses the text of an ID, or its URI within the named store.
  ///
  /// The result is nil if the text is malformed or names a different store.
  ///
  /// - Parameters:
  ///   - text: `Entity/p17`, or `cordial://<store>/Entity/p17`.
  ///   - store: The identifier of the store whose URIs are accepted, or nil for none.
  public init?(_ text: String, store: String?) {
    if let stored = Self.stored(text) {
      self = stored
      return
    }
    var rest = Substring(text)
    if text.hasPrefix("cordial://") {
      guard let store, text.hasPrefix("cordial://\(store)/") else { return nil }
      rest = rest.dropFirst("cordial://\(store)/".count)
    }
    guard let slash = rest.utf8.firstIndex(of: UInt8(ascii: "/")) else { return nil }
    let entity = String(rest[..<slash])
    let tail = rest[rest.utf8.index(after: slash)...]
    guard !entity.isEmpty, let form = tail.utf8.first, form < 0x80 else { return nil }
    let value = tail[tail.utf8.index(after: tail.startIndex)...]
    guard let key = Key(form: form, text: value) else { return nil }
    self.init(entity: entity, key: key)
  }

  /// Reads the most frequent form, `Entity/p17`; nil for any other text.
  private static func stored(_ text: String) -> ObjectID? {
    let bytes = text.utf8Span.span
    var slash = 0
    while slash < bytes.count, bytes[slash] != UInt8(ascii: "/") { slash += 1 }
    let start = slash + 2
    // 18 digits never overflow.
    guard slash > 0, start < bytes.count, bytes.count - start <= 18,
      bytes[slash + 1] == UInt8(ascii: "p"), bytes[start] != UInt8(ascii: "0")
    else { return nil }
    var number: Int64 = 0
    for index in start..<bytes.count {
      let digit = bytes[index] &- UInt8(ascii: "0")
      guard digit < 10 else { return nil }
      number = number * 10 + Int64(digit)
    }
    let end = text.utf8.index(text.startIndex, offsetBy: slash)
    return ObjectID(entity: String(text[..<end]), key: .object(number))
  }
}

extension ObjectID {
  /// Returns whether a text is a valid temporary ID of an entity.
  ///
  /// - Parameters:
  ///   - text: Any text.
  ///   - entity: The entity's name.
  /// - Returns: Whether `init(_:store:)` would return a temporary ID of that entity for the text.
  /// - Complexity: Linear in the text.
  package static func isTemporary(_ text: String, of entity: String) -> Bool {
    let bytes = text.utf8Span.span
    let name = entity.utf8Span.span
    let start = name.count + 2
    guard bytes.count > start, bytes.count <= start + Key.temporaryLengthMax,
      bytes[name.count] == UInt8(ascii: "/"), bytes[name.count + 1] == UInt8(ascii: "t")
    else { return false }
    for index in name.indices where bytes[index] != name[index] { return false }
    for index in start..<bytes.count where !Key.isTemporaryByte(bytes[index]) { return false }
    return true
  }
}

extension ObjectID.Key: Hashable {
  /// Compares code points, as the wire and SQLite do.
  ///
  /// Swift's `==` also equates canonically equivalent strings.
  public static func == (first: ObjectID.Key, second: ObjectID.Key) -> Bool {
    switch (first, second) {
    case (.object(let a), .object(let b)), (.integer(let a), .integer(let b)): a == b
    case (.uuid(let a), .uuid(let b)), (.string(let a), .string(let b)),
      (.temporary(let a), .temporary(let b)):
      a.utf8.elementsEqual(b.utf8)
    default: false
    }
  }

  /// Hashes the number, or the bytes of the text.
  public func hash(into hasher: inout Hasher) {
    switch self {
    case .object(let number), .integer(let number): hasher.combine(number)
    case .uuid(let text), .string(let text), .temporary(let text): hasher.combine(ExactText(text))
    }
  }
}

extension ObjectID: Hashable {
  /// Compares code points.
  public static func == (first: ObjectID, second: ObjectID) -> Bool {
    first.key == second.key && first.entity.utf8.elementsEqual(second.entity.utf8)
  }

  /// Hashes the entity's name and the key.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(ExactText(entity))
    hasher.combine(key)
  }
}

extension ObjectID: LosslessStringConvertible, Identifiable, TextCodable {
  /// The text on the wire.
  public var description: String { "\(entity)/\(key.text)" }

  /// The ID itself.
  public var id: ObjectID { self }
}

extension ObjectID.Key {
  /// The part after the slash.
  package var text: String {
    switch self {
    case .object(let number): "p\(number)"
    case .integer(let number): "i\(number)"
    case .uuid(let text): "u\(text)"
    case .string(let text): "s" + PercentText.encode(text)
    case .temporary(let text): "t\(text)"
    }
  }

  fileprivate init?(form: UInt8, text: Substring) {
    switch form {
    case UInt8(ascii: "p"):
      guard let number = Self.canonicalInteger(text), number > 0 else { return nil }
      self = .object(number)
    case UInt8(ascii: "i"):
      guard let number = Self.canonicalInteger(text) else { return nil }
      self = .integer(number)
    case UInt8(ascii: "u"):
      guard let uuid = UUIDText.canonical(String(text)), uuid == text else { return nil }
      self = .uuid(uuid)
    case UInt8(ascii: "s"):
      guard let decoded = PercentText.decode(text) else { return nil }
      self = .string(decoded)
    case UInt8(ascii: "t"):
      guard (1...Self.temporaryLengthMax).contains(text.utf8.count),
        text.utf8.allSatisfy(Self.isTemporaryByte)
      else { return nil }
      self = .temporary(String(text))
    default: return nil
    }
  }

  private static func canonicalInteger(_ text: Substring) -> Int64? {
    // `Int64` also accepts a plus sign, leading zeros and a negative zero.
    var digits = text.utf8[...]
    if digits.first == UInt8(ascii: "-") { digits.removeFirst() }
    guard let first = digits.first, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(first),
      first != UInt8(ascii: "0") || text.utf8.count == 1
    else { return nil }
    return Int64(text)
  }

  /// The maximum length of the client's part of a temporary ID, in bytes.
  fileprivate static let temporaryLengthMax = 64

  fileprivate static func isTemporaryByte(_ byte: UInt8) -> Bool {
    PercentText.isAlphanumeric(byte) || byte == UInt8(ascii: "-") || byte == UInt8(ascii: "_")
  }
}
