// CordialValues: what a client may hold. Wrapped IDs, attribute values, change sets, tokens.
//
// Must not know: JSON, SQL, files, sockets, the time, chance. No imports at all.
//
// What always holds:
// 1. Every value here is Sendable and compares by content.
// 2. A wrapped ID has one text, and the text one wrapped ID: it works as a map key in any language.
// 3. Text that is read here is checked here; nothing half-parsed leaves.

/// The identity of an object, the same in fetch, save, history, search and notifications.
///
/// Its text is `Entity/p17` and its kin (contract, section 3).
public struct WrappedID: Sendable {
  /// What stands behind the entity's name.
  public enum Key: Sendable {
    /// `p`: the number given by the store, permanent and never used again.
    case object(Int64)
    /// `i`: the value of the entity's integer identity attribute.
    case integer(Int64)
    /// `u`: the value of its UUID identity attribute, lower case.
    case uuid(String)
    /// `s`: the value of its string identity attribute.
    case string(String)
    /// `t`: chosen by the client, valid inside one save.
    case temporary(String)
  }

  /// The name of the entity.
  public let entity: String
  /// What names the object within its entity.
  public let key: Key

  /// An identity of known parts.
  public init(entity: String, key: Key) {
    self.entity = entity
    self.key = key
  }

  /// Whether a client chose it for one save.
  public var isTemporary: Bool {
    if case .temporary = key { true } else { false }
  }

  /// Reads the text of a wrapped ID, or its URI within the named store.
  ///
  /// - Parameters:
  ///   - text: `Entity/p17`, or `cordial://<store>/Entity/p17`.
  ///   - store: The identifier of the store whose URIs are taken, nil for none.
  ///
  /// It is nil when the text is malformed or names another store.
  public init?(_ text: String, store: String? = nil) {
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
}

extension WrappedID {
  /// Whether a text is what a client may call a new object of an entity for the time of one save.
  ///
  /// - Parameters:
  ///   - text: Any text.
  ///   - entity: The entity's name.
  /// - Returns: Whether reading the text would answer a temporary ID of that entity.
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

extension WrappedID.Key: Hashable {
  /// Compares code points: Swift's strings also equate what only looks alike, and the wire and
  /// SQLite do not.
  public static func == (first: WrappedID.Key, second: WrappedID.Key) -> Bool {
    first.text.utf8.elementsEqual(second.text.utf8)
  }

  /// Hashes the bytes of its text.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(ExactText(text))
  }
}

extension WrappedID: Hashable {
  /// Compares code points.
  public static func == (first: WrappedID, second: WrappedID) -> Bool {
    first.key == second.key && first.entity.utf8.elementsEqual(second.entity.utf8)
  }

  /// Hashes the bytes of its text.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(ExactText(entity))
    hasher.combine(key)
  }
}

extension WrappedID: CustomStringConvertible, Identifiable {
  /// The text that stands on the wire.
  public var description: String { "\(entity)/\(key.text)" }

  /// Itself.
  public var id: WrappedID { self }
}

extension WrappedID.Key {
  /// The part behind the slash.
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
    guard let number = Int64(text), String(number) == text else { return nil }
    return number
  }

  /// How many bytes the client's part of a temporary ID has at most.
  fileprivate static let temporaryLengthMax = 64

  fileprivate static func isTemporaryByte(_ byte: UInt8) -> Bool {
    PercentText.isAlphanumeric(byte) || byte == UInt8(ascii: "-") || byte == UInt8(ascii: "_")
  }
}
