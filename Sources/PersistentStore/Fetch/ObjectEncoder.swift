import CordialValues
import JSON
import ObjectModel
import PersistentHistory
import SQLite

/// How the value of one column becomes JSON.
///
/// It holds no reference: one is looked at for each value of each row, and counting references
/// would cost more than the look.
enum ColumnForm: Sendable {
  case integer
  /// An integer, or a double where SQLite made one.
  case number
  case boolean
  case double
  case date
  case string
  case binary
  /// A JSON text, already checked when it was stored.
  case json
  /// A to-one to an entity of the store's numbers, by the number of that entity.
  case object(entity: Int)
  /// A to-one to an entity with an identity attribute, whose value the column holds.
  case identity(entity: Int)
  /// A to-one to an entity with an identity attribute and descendants: a JSON list of the object's
  /// number and its identity value.
  case member(entity: Int)
  /// A to-many: a JSON list of numbers, or of identity values where the entity has them,
  /// or of both where it has descendants too.
  case objects(entity: Int)

  init(_ type: AttributeType) {
    switch type {
    case .int16, .int32, .int64: self = .integer
    case .boolean: self = .boolean
    case .double, .float: self = .double
    case .date: self = .date
    case .string, .decimal, .uuid, .uri: self = .string
    case .binary: self = .binary
    case .json: self = .json
    }
  }

  /// The form of a reference to an object of that entity.
  init(referenceTo entity: EntityDescription) {
    switch (entity.identity, entity.hasDescendants) {
    case (nil, _): self = .object(entity: entity.number)
    case (_, false): self = .identity(entity: entity.number)
    case (_, true): self = .member(entity: entity.number)
    }
  }

  /// Writes the value of a column, or of its absence.
  func write(
    _ row: PreparedStatement,
    _ column: Int32,
    in model: Model,
    to writer: inout JSONWriter
  ) {
    if row.isNull(column) { return writer.null() }
    switch self {
    case .integer: writer.integer(row.integer(column))
    case .number where row.storage(column) == .real: writer.double(row.double(column))
    case .number: writer.integer(row.integer(column))
    case .boolean: writer.bool(row.integer(column) != 0)
    case .double: writer.double(row.double(column))
    case .date: Self.write(date: row.integer(column), to: &writer)
    case .string: row.withBytes(column) { Self.write(text: $0, to: &writer) }
    case .binary: writer.string(Base64Text.encode(row.blob(column)))
    case .json: Self.write(json: row.text(column), to: &writer)
    case .object(let entity):
      let number = row.integer(column)
      let named = model.entity(entity)
      let kind = named.hasDescendants ? model.entity(model.key(entity, number).entity) : named
      writer.raw(kind.referencePrefix)
      writer.integer(number)
      writer.raw("\"")
    case .member(let entity):
      Self.write(list: "[\(row.text(column))]", of: entity, in: model, isOne: true, to: &writer)
    case .identity(let entity):
      writer.string(Self.identityText(of: model.entity(entity), row, column))
    case .objects(let entity):
      Self.write(list: row.text(column), of: entity, in: model, isOne: false, to: &writer)
    }
  }

  private static func write(
    list: String,
    of number: Int,
    in model: Model,
    isOne: Bool,
    to writer: inout JSONWriter
  ) {
    let entity = model.entity(number)
    let elements: [JSONValue]
    do {
      elements = try JSONParser.parse(list).array ?? []
    } catch {
      // SQLite made it; what a foreign client stored can at most be no UTF-8.
      elements = []
    }
    if !isOne { writer.raw("[") }
    for (index, element) in elements.enumerated() {
      if index > 0 { writer.raw(",") }
      let object = element.array?.first?.integer ?? (entity.identity == nil ? element.integer : nil)
      let kind = object.map { model.entity(model.key(number, $0).entity) } ?? entity
      let key: WrappedID.Key? =
        switch (entity.identity?.type, element.array?.last ?? element) {
        case (nil, .integer(let number)): .object(number)
        case (_, .integer(let number)): .integer(number)
        case (.uuid, .string(let text)): .uuid(text)
        case (_, .string(let text)): .string(text)
        default: nil
        }
      if let key {
        writer.string(WrappedID(entity: kind.name, key: key).description)
      } else {
        writer.null()
      }
    }
    if !isOne { writer.raw("]") }
  }

  /// A moment that a foreign client stored beyond the year 9999 has no text, and reads null.
  private static func write(date: Int64, to writer: inout JSONWriter) {
    guard DateText.range.contains(date) else { return writer.null() }
    writer.raw("\"")
    DateText.append(date, to: &writer.bytes)
    writer.raw("\"")
  }

  /// What a foreign client stored may be no UTF-8; on the wire everything is.
  private static func write(text: Span<UInt8>, to writer: inout JSONWriter) {
    if UTF8Check.isValid(text) {
      writer.string(utf8: text)
    } else {
      let repaired = unsafe text.withUnsafeBufferPointer {
        unsafe String(decoding: $0, as: UTF8.self)
      }
      writer.string(repaired)
    }
  }

  /// A foreign client may store what is no JSON under a `json` attribute; it reads as a string.
  private static func write(json text: String, to writer: inout JSONWriter) {
    do {
      writer.value(try JSONParser.parse(text))
    } catch {
      writer.string(text)
    }
  }

  /// The wrapped ID of an object whose identity attribute a column holds.
  static func identityText(
    of entity: EntityDescription,
    _ row: PreparedStatement,
    _ column: Int32
  ) -> String {
    let key: WrappedID.Key =
      switch entity.identity?.type {
      case .string: .string(row.text(column))
      case .uuid: .uuid(row.text(column))
      default: .integer(row.integer(column))
      }
    return WrappedID(entity: entity.name, key: key).description
  }
}

/// Whether bytes are UTF-8.
enum UTF8Check {
  static func isValid(_ bytes: Span<UInt8>) -> Bool {
    do {
      _ = try UTF8Span(validating: bytes)
      return true
    } catch {
      return false
    }
  }
}

/// One value of an answered object: the name under which it goes, and where it comes from.
struct SelectedColumn: Sendable {
  let name: String
  let form: ColumnForm
  /// The descendant of the fetched entity whose objects have it only; nil when all have it.
  var owner: Int?
}

/// Writes rows as objects of the wire.
///
/// A row's first columns are the object's number, its version and, where the entity has an
/// identity attribute, that; then the selected ones.
struct ObjectEncoder: Sendable {
  let entity: EntityDescription
  private let model: Model
  private let forms: [ColumnForm]
  /// `,"values":{"title":`, `,"done":` and so on, one behind the other.
  private let heads: [UInt8]
  /// Where each head ends.
  private let headEnds: [Int]
  private let prefix: [UInt8]
  private let firstColumn: Int32
  /// Whether its values are not all of the selected ones in order.
  private let hasPlaces: Bool
  /// The places of its values among the selected ones.
  private let places: [Int32]
  /// How objects of each of the entities are written that a fetch of their ancestor answers.
  private let kinds: [Int: ObjectEncoder]
  private let hasKinds: Bool

  init(
    entity: EntityDescription,
    columns: [SelectedColumn],
    places: [Int]? = nil,
    model: Model,
    kinds: [Int: ObjectEncoder] = [:]
  ) {
    hasPlaces = places != nil
    self.places = (places ?? []).map { Int32($0) }
    hasKinds = !kinds.isEmpty
    self.kinds = kinds
    self.entity = entity
    self.model = model
    forms = columns.map(\.form)
    var heads = Array(",\"values\":{".utf8)
    var ends: [Int] = []
    for column in columns {
      heads += ((ends.isEmpty ? "" : ",") + JSONValue.string(column.name).text + ":").utf8
      ends.append(heads.count)
    }
    self.heads = heads
    headEnds = ends
    prefix = Array("{\"id\":\"\(entity.name)/p".utf8)
    firstColumn = entity.identity == nil ? 2 : 3
  }

  /// `{"id":…,"version":…,"values":{…}}` of the current row.
  func write(_ row: PreparedStatement, to writer: inout JSONWriter) {
    if hasKinds, let own = kind(of: row) { return own.write(row, to: &writer) }
    writeHead(row, to: &writer)
    writer.integer(row.integer(1))
    let heads = heads.span
    var start = 0
    for index in forms.indices {
      let end = headEnds[index]
      JSONBytes.append(heads.extracting(start..<end), to: &writer.bytes)
      let place = hasPlaces ? places[index] : Int32(index)
      forms[index].write(row, firstColumn + place, in: model, to: &writer)
      start = end
    }
    if forms.isEmpty { JSONBytes.append(heads, to: &writer.bytes) }
    writer.raw("}}")
  }

  /// The wrapped ID of the current row's object, in quotes.
  func writeID(_ row: PreparedStatement, to writer: inout JSONWriter) {
    if hasKinds, let own = kind(of: row) { return own.writeID(row, to: &writer) }
    guard entity.identity == nil else {
      return writer.string(ColumnForm.identityText(of: entity, row, 2))
    }
    writer.raw("\"")
    writer.raw(string: entity.name)
    writer.raw("/p")
    writer.integer(row.integer(0))
    writer.raw("\"")
  }

  private func kind(of row: PreparedStatement) -> ObjectEncoder? {
    kinds[model.key(entity.number, row.integer(0)).entity]
  }

  /// `{"id":…,"version":`.
  private func writeHead(_ row: PreparedStatement, to writer: inout JSONWriter) {
    guard entity.identity == nil else {
      writer.raw("{\"id\":")
      writer.string(ColumnForm.identityText(of: entity, row, 2))
      writer.raw(",\"version\":")
      return
    }
    writer.raw(prefix)
    writer.integer(row.integer(0))
    writer.raw("\",\"version\":")
  }
}
