package import JSON
package import JSONRPC

/// A value that a message can contain.
package protocol JSONConvertible {
  /// The value in the form of messages.
  var json: JSONValue { get }
}

/// An object of a message: the params of a request, a result, or a part of either.
///
/// The service and its clients share the type, so that each side can read what the other side
/// writes.
package protocol WireObject: JSONConvertible, Sendable {
  /// Reads the object.
  ///
  /// - Parameter json: The object. Optional members may be missing, and unknown members are
  ///   ignored.
  /// - Throws: `RPCError`: `invalidParams` for params that contradict each other, `internalError`
  ///   if a required member is missing.
  init(_ json: JSONValue) throws(RPCError)
}

/// The params of a request.
package protocol Call: WireObject {
  /// The type of the result.
  associatedtype Result: WireObject

  /// The method.
  static var name: MethodName { get }
}

/// A request without params.
package protocol CallWithoutParams: Call {
  init()
}

extension CallWithoutParams {
  package init(_ json: JSONValue) throws(RPCError) { self.init() }
  package var json: JSONValue { [:] }
}

/// A result that is a document with its own format.
package struct DocumentResult: WireObject {
  /// The document.
  package let json: JSONValue

  package init(_ json: JSONValue) { self.json = json }
}

/// A result that consists of a position.
package struct PositionResult: WireObject {
  /// The position.
  package let token: String

  /// Creates the result.
  package init(token: String) { self.token = token }

  package init(_ json: JSONValue) throws(RPCError) { token = try json.text(.token) }

  package var json: JSONValue { .present([.token: token]) }
}

/// A result without members.
package struct EmptyResult: WireObject {
  /// Creates the result.
  package init() {}

  package init(_ json: JSONValue) { self.init() }

  package var json: JSONValue { [:] }
}

// MARK: Writing

extension JSONValue: JSONConvertible {
  package var json: JSONValue { self }

  /// Creates an object of the members that have values, in this order.
  package static func present(
    _ members: KeyValuePairs<MemberName, (any JSONConvertible)?>
  ) -> JSONValue {
    .object(members.compactMap { name, value in value.map { JSONMember(name, $0.json) } })
  }
}

extension JSONValue {
  /// The object, or nil for an empty object, because messages omit empty objects.
  ///
  /// The code uses `.none`, because a literal `nil` would be the JSON value null.
  var ifNotEmpty: JSONValue? { self == [:] ? .none : .some(self) }
}

extension String: JSONConvertible {
  package var json: JSONValue { .string(self) }
}

extension Int64: JSONConvertible {
  package var json: JSONValue { .integer(self) }
}

extension Int: JSONConvertible {
  package var json: JSONValue { .integer(Int64(self)) }
}

extension Double: JSONConvertible {
  package var json: JSONValue { .number(self) }
}

extension Bool: JSONConvertible {
  package var json: JSONValue { .bool(self) }

  /// True, or nil for a false flag, because messages omit false flags.
  var ifTrue: Bool? { self ? true : nil }
}

extension Array: JSONConvertible where Element: JSONConvertible {
  package var json: JSONValue { .array(map(\.json)) }
}

/// A member that is written as null if its value is nil.
struct Nullable<Value: JSONConvertible>: JSONConvertible {
  let value: Value?

  init(_ value: Value?) { self.value = value }

  var json: JSONValue { value?.json ?? .null }
}

/// An object whose members have the names of properties, words or objects.
struct MemberList: JSONConvertible {
  let json: JSONValue

  init(_ members: [JSONMember]) { json = .object(members) }

  /// Creates an object of the members, or returns nil for nil.
  init?(_ members: [JSONMember]?) {
    guard let members else { return nil }
    self.init(members)
  }
}

// MARK: Reading

extension JSONValue {
  /// Returns the text of a member.
  ///
  /// - Throws: `RPCError` with the code `internalError` if the member is missing or is not a text.
  func text(_ name: MemberName) throws(RPCError) -> String {
    guard let text = string(name) else { throw missing(name, "text") }
    return text
  }

  /// Returns the integer of a member.
  ///
  /// - Throws: As `text(_:)`.
  func count(_ name: MemberName) throws(RPCError) -> Int64 {
    guard let count = self[name]?.integer else { throw missing(name, "integer") }
    return count
  }

  /// Returns the number of a member.
  ///
  /// - Throws: As `text(_:)`.
  func double(_ name: MemberName) throws(RPCError) -> Double {
    guard let number = number(name) else { throw missing(name, "number") }
    return number
  }

  /// Returns the flag of a member.
  ///
  /// - Throws: As `text(_:)`.
  func flag(_ name: MemberName) throws(RPCError) -> Bool {
    guard let flag = self[name]?.bool else { throw missing(name, "flag") }
    return flag
  }

  /// Returns the object of a member.
  ///
  /// - Throws: As `text(_:)`.
  func object<Object: WireObject>(_ name: MemberName) throws(RPCError) -> Object {
    guard let object: Object = try optional(name) else { throw missing(name, "object") }
    return object
  }

  /// Returns the objects of a list.
  ///
  /// - Throws: As `text(_:)`.
  func list<Object: WireObject>(_ name: MemberName) throws(RPCError) -> [Object] {
    guard let list: [Object] = try optionalList(name) else { throw missing(name, "list") }
    return list
  }

  /// Returns the texts of a list.
  ///
  /// - Throws: As `text(_:)`.
  func texts(_ name: MemberName) throws(RPCError) -> [String] {
    guard let list = try optionalTexts(name) else { throw missing(name, "list") }
    return list
  }

  /// Returns the texts of a list; nil for any other value.
  ///
  /// - Throws: As `text(_:)`, for an element that is no text.
  func optionalTexts(_ name: MemberName) throws(RPCError) -> [String]? {
    guard let elements = self[name]?.array else { return nil }
    var texts: [String] = []
    texts.reserveCapacity(elements.count)
    for element in elements {
      guard let text = element.string else { throw missing(name, "text in the list") }
      texts.append(text)
    }
    return texts
  }

  private func missing(_ name: MemberName, _ kind: String) -> RPCError {
    RPCError(.internalError, "The \(kind) \(name.rawValue) is missing in a message")
  }

  /// Returns the text of a member, or nil for any other value.
  func string(_ name: MemberName) -> String? { self[name]?.string }

  /// Returns the integer of a member as an `Int`, or nil for any other value.
  func int(_ name: MemberName) -> Int? { self[name]?.integer.map(Int.init) }

  /// Returns the integer of a member, or nil for any other value.
  func integer(_ name: MemberName) -> Int64? { self[name]?.integer }

  /// Returns the flag of a member, or false for any other value.
  func bool(_ name: MemberName) -> Bool { self[name]?.bool ?? false }

  /// Returns the texts of a list, or nil for any other value.
  func strings(_ name: MemberName) -> [String]? { self[name]?.array?.compactMap(\.string) }

  /// Returns the members of an object, or nil for any other value.
  func members(_ name: MemberName) -> [JSONMember]? { self[name]?.members }

  /// Returns the number of a member, or nil for any other value.
  func number(_ name: MemberName) -> Double? {
    switch self[name] {
    case .number(let number)?: number
    case .integer(let whole)?: Double(whole)
    default: nil
    }
  }

  /// Returns the object of a member; nil for a member that is absent or null.
  func optional<Object: WireObject>(_ name: MemberName) throws(RPCError) -> Object? {
    guard let value = self[name], !value.isNull else { return nil }
    return try Object(value)
  }

  /// Returns the objects of a list; nil for any other value.
  func optionalList<Object: WireObject>(_ name: MemberName) throws(RPCError) -> [Object]? {
    guard let elements = self[name]?.array else { return nil }
    var objects: [Object] = []
    objects.reserveCapacity(elements.count)
    for element in elements { objects.append(try Object(element)) }
    return objects
  }
}
