import CordialValues
import JSON
import ObjectModel
import PersistentHistory
import SQLite

/// The form in which the value of a column is written as JSON.
///
/// The enumeration contains no reference-counted value. The encoder reads a form for each value of
/// each row, and counting references would cost more than reading the form.
enum ColumnForm: Sendable {
  case integer
  /// An integer, or a double if SQLite computed a double.
  case number
  case boolean
  case double
  case date
  case string
  case binary
  /// A JSON text, which was checked when it was stored.
  case json
  /// A to-one to an entity without an identity attribute; the column has the object's number.
  case object(entity: Int)
  /// A to-one to an entity with an identity attribute; the column has the object's identity value.
  case identity(entity: Int)
  /// A to-one to an entity with an identity attribute and descendants: a JSON list of the object's
  /// number and its identity value.
  case member(entity: Int)
  /// A to-many, as a JSON list of object numbers.
  ///
  /// If the entity has an identity attribute, the list has identity values instead. If the entity
  /// also has descendants, each element is a list of the number and the identity value.
  case objects(entity: Int)
  /// A JSON list of values in the form of the log.
  case values(AttributeType)

  init(_ type: AttributeType) {
    switch type.codec.wireForm {
    case .integer: self = .integer
    case .boolean: self = .boolean
    case .double: self = .double
    case .date: self = .date
    case .string: self = .string
    case .binary: self = .binary
    case .json: self = .json
    }
  }

  /// Creates the form of a reference to an object of an entity.
  init(referenceTo entity: EntityDescription) {
    switch (entity.identity, entity.hasDescendants) {
    case (nil, _): self = .object(entity: entity.number)
    case (_, false): self = .identity(entity: entity.number)
    case (_, true): self = .member(entity: entity.number)
    }
  }

  /// Writes the value of a column, or null for a missing value.
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
    case .values(let type): Self.write(values: row.text(column), of: type, to: &writer)
    }
  }

  private static func write(
    values: String,
    of type: AttributeType,
    to writer: inout JSONWriter
  ) {
    let elements: [JSONValue]
    do {
      elements = try JSONParser.parse(values).array ?? []
    } catch {
      // Only invalid UTF-8 that an external client stored can break the list, which SQLite created.
      elements = []
    }
    writer.value(
      .array(
        elements.map { $0.isNull ? .null : type.codec.value(logged: $0).map(WireValue.json) ?? $0 }
      )
    )
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
      // Only invalid UTF-8 that an external client stored can break the list, which SQLite created.
      elements = []
    }
    if !isOne { writer.raw("[") }
    for (index, element) in elements.enumerated() {
      if index > 0 { writer.raw(",") }
      let object = element.array?.first?.integer ?? (entity.identity == nil ? element.integer : nil)
      let kind = object.map { model.entity(model.key(number, $0).entity) } ?? entity
      let value = element.array?.last ?? element
      let key: ObjectID.Key? =
        if let identity = entity.identity {
          identity.type.codec.identityForm?.key(value)
        } else {
          value.integer.map { .object($0) }
        }
      if let key {
        writer.string(ObjectID(entity: kind.name, key: key).description)
      } else {
        writer.null()
      }
    }
    if !isOne { writer.raw("]") }
  }

  /// Writes a date; a date beyond the year 9999, which an external client may store, is written as
  /// null.
  private static func write(date: Int64, to writer: inout JSONWriter) {
    guard DateText.range.contains(date) else { return writer.null() }
    writer.raw("\"")
    DateText.append(date, to: &writer.bytes)
    writer.raw("\"")
  }

  /// Writes a text; invalid UTF-8, which an external client may store, is repaired.
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

  /// Writes a JSON text; a text that is not JSON, which an external client may store, is written as
  /// a string.
  private static func write(json text: String, to writer: inout JSONWriter) {
    do {
      writer.value(try JSONParser.parse(text))
    } catch {
      writer.string(text)
    }
  }

  /// Returns the wrapped ID of the object whose identity value is in a column.
  static func identityText(
    of entity: EntityDescription,
    _ row: PreparedStatement,
    _ column: Int32
  ) -> String {
    ObjectID(entity: entity.name, key: identityKey(of: entity, row, column)).description
  }

  /// Returns the key in the wrapped ID of the object whose identity value is in a column.
  static func identityKey(
    of entity: EntityDescription,
    _ row: PreparedStatement,
    _ column: Int32
  ) -> ObjectID.Key {
    switch entity.identity?.type.codec.identityForm {
    case .string: .string(row.text(column))
    case .uuid: .uuid(row.text(column))
    case .integer, nil: .integer(row.integer(column))
    }
  }
}

/// One value of a returned object: its name, and the form of its column.
struct SelectedColumn: Sendable {
  let name: String
  /// The names of the JSON objects that enclose the value in the response, from the outermost, and
  /// the name of the value.
  let path: [String]
  let form: ColumnForm
  /// The entity number of the descendant that has the value; nil if all objects have the value.
  var owner: Int?
}

/// The encoder of rows as objects of the protocol.
///
/// A row begins with the object's number and its version. The identity value comes next if any
/// object of the fetch has an identity. The selected columns follow.
struct ObjectEncoder: Sendable {
  let entity: EntityDescription
  private let model: Model
  private let forms: [ColumnForm]
  /// The texts `,"values":{"title":`, `,"done":` and so on, in one array.
  private let heads: [UInt8]
  /// The offset in `heads` at which each text ends.
  private let headEnds: [Int]
  /// The text after the last value.
  private let tail: String
  private let prefix: [UInt8]
  private let firstColumn: Int32
  /// Whether `indices` selects the values; otherwise all selected columns are written in order.
  private let hasIndices: Bool
  /// The indices of the entity's values among the selected columns.
  private let indices: [Int32]
  /// The encoders for the entities of the objects, in a fetch that includes descendants, by entity
  /// number.
  private let kinds: [Int: ObjectEncoder]
  private let hasEntityEncoders: Bool

  init(
    entity: EntityDescription,
    columns: [SelectedColumn],
    indices: [Int]? = nil,
    hasIdentityColumn: Bool,
    model: Model,
    kinds: [Int: ObjectEncoder] = [:]
  ) {
    hasIndices = indices != nil
    self.indices = (indices ?? []).map { Int32($0) }
    hasEntityEncoders = !kinds.isEmpty
    self.kinds = kinds
    self.entity = entity
    self.model = model
    forms = columns.map(\.form)
    var heads = Array(",\"values\":{".utf8)
    var ends: [Int] = []
    var names = NestedNames()
    for column in columns {
      heads += names.next(column.path).utf8
      ends.append(heads.count)
    }
    tail = names.end + "}}"
    self.heads = heads
    headEnds = ends
    prefix = Array("{\"id\":\"\(entity.name)/p".utf8)
    firstColumn = hasIdentityColumn ? 3 : 2
  }

  /// Writes the current row as `{"id":…,"version":…,"values":{…}}`.
  func write(_ row: PreparedStatement, to writer: inout JSONWriter) {
    if hasEntityEncoders, let own = kind(of: row) { return own.write(row, to: &writer) }
    writeHead(row, to: &writer)
    writer.integer(row.integer(1))
    let heads = heads.span
    var start = 0
    for index in forms.indices {
      let end = headEnds[index]
      JSONBytes.append(heads.extracting(start..<end), to: &writer.bytes)
      let column = hasIndices ? indices[index] : Int32(index)
      forms[index].write(row, firstColumn + column, in: model, to: &writer)
      start = end
    }
    if forms.isEmpty { JSONBytes.append(heads, to: &writer.bytes) }
    writer.raw(string: tail)
  }

  /// Writes the wrapped ID of the current row's object, in quotes.
  func writeID(_ row: PreparedStatement, to writer: inout JSONWriter) {
    if hasEntityEncoders, let own = kind(of: row) { return own.writeID(row, to: &writer) }
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

  /// Writes `{"id":…,"version":`.
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
