import CordialValues
import JSON
import ObjectModel

/// The end of a page: the sort key values and the number of its last object.
///
/// The text of a cursor is opaque to clients. A cursor is valid only for the request and the store
/// that produced it.
struct FetchCursor {
  let keys: [AttributeValue]
  let object: Int64

  init(keys: [AttributeValue], object: Int64) {
    self.keys = keys
    self.object = object
  }

  /// Reads a cursor that a client sent.
  ///
  /// - Throws: `invalidRequest` when the text is not a cursor, or belongs to another request or
  ///   store.
  init(_ text: String, of request: FetchRequest, in store: String) throws(StoreError) {
    guard let bytes = Base64Text.decode(text) else { throw Self.foreign }
    let values: [JSONValue]
    do {
      values = try JSONParser.parse(bytes.span).array ?? []
    } catch {
      throw Self.foreign
    }
    guard values.count >= 2, values[0].string == Self.mark(of: request, in: store),
      let object = values[1].integer
    else { throw Self.foreign }
    self.object = object
    keys = values[2...].map { value in
      switch value {
      case .integer(let number): .integer(number)
      case .number(let number): .double(number)
      case .string(let text): .string(text)
      case .array(let bytes): .binary(bytes.compactMap { $0.integer.map { UInt8(clamping: $0) } })
      default: .null
      }
    }
  }

  /// Returns the text for a client.
  func text(of request: FetchRequest, in store: String) -> String {
    let values = keys.map { value -> JSONValue in
      switch value {
      case .integer(let number): .integer(number)
      case .double(let number): .number(number)
      case .string(let text): .string(text)
      case .binary(let bytes): .array(bytes.map { .integer(Int64($0)) })
      default: .null
      }
    }
    let mark = JSONValue.string(Self.mark(of: request, in: store))
    let all = JSONValue.array([mark, .integer(object)] + values)
    return Base64Text.encode(Array(all.text.utf8))
  }

  static let foreign = StoreError(
    .invalidRequest,
    "after is not a cursor of this request in this store",
    hint: "Send the value of next, with the same entity, predicate, arguments and sort"
  )

  /// Returns a digest of the store and of the request's parts that determine order and membership.
  private static func mark(of request: FetchRequest, in store: String) -> String {
    let arguments: JSONValue =
      switch request.arguments {
      case .none: .null
      case .positional(let values): .array(values)
      case .named(let members): .object(members)
      }
    let parts: JSONValue = [
      .string(request.entity), request.predicate.map { .string($0) } ?? nil, arguments,
      request.sectionBy.map { .string($0) } ?? nil, .array(request.sort.map { .string($0) }),
      .bool(request.subentities), .string(store),
    ]
    // The sort position of a group depends on the paths of `groupBy`, so the digest includes these
    // paths.
    let groups: JSONValue = [
      .array(request.groupBy.map { .string($0) }), request.having.map { .string($0) } ?? nil,
    ]
    let all: JSONValue = request.groupBy.isEmpty ? parts : [parts, groups]
    return ContentDigest(all.text.utf8).hexadecimal
  }
}
