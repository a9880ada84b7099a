package import Cordial
import JSON
import ObjectModel

/// Comma-separated values (RFC 4180): the objects of one entity, with their attributes and to-ones.
///
/// A missing value is an empty field, and an empty text is a pair of quotes. The module reads the
/// format itself, because libraries do not tell the two apart.
enum CommaSeparated {
  /// A field of a record.
  struct Field: Equatable {
    var text: String
    /// Whether the field has quotes, so that an empty one is a text.
    var isQuoted = false
  }

  // MARK: Writing

  /// Returns a record without the end of its line.
  ///
  /// - Parameters:
  ///   - values: The values of the fields.
  ///   - json: The indices of values of json attributes, whose texts are written as JSON too.
  /// - Returns: The record.
  static func record(_ values: [JSONValue], json: Set<Int> = []) -> String {
    values.enumerated().map { field($1, isJSON: json.contains($0)) }.joined(separator: ",")
  }

  private static func field(_ value: JSONValue, isJSON: Bool) -> String {
    switch value {
    case .null: return ""
    case .string(let text) where !isJSON: return quoted(text)
    default: return quoted(value.text)
    }
  }

  private static func quoted(_ text: String) -> String {
    let needsQuotes =
      text.isEmpty || text.utf8.contains { [0x22, 0x2C, 0x0A, 0x0D].contains($0) }
    return needsQuotes ? "\"\(text.replacing("\"", with: "\"\""))\"" : text
  }

  // MARK: Reading

  /// Returns the records of a file, each with the number of its first line.
  ///
  /// - Throws: `PortingError` for a quote that is not closed.
  static func records(_ bytes: [UInt8]) throws -> [(line: Int, fields: [Field])] {
    var records: [(line: Int, fields: [Field])] = []
    var fields: [Field] = []
    var field: [UInt8] = []
    var isQuoted = false
    var isInside = false
    var line = 1
    var first = 1
    func endField() {
      fields.append(Field(text: String(decoding: field, as: UTF8.self), isQuoted: isQuoted))
      field = []
      isQuoted = false
    }
    func endRecord() {
      endField()
      // An empty line is no record.
      if fields != [Field(text: "")] { records.append((first, fields)) }
      fields = []
    }
    var index = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0
    while index < bytes.count {
      let byte = bytes[index]
      index += 1
      switch byte {
      case UInt8(ascii: "\"") where isInside && index < bytes.count && bytes[index] == byte:
        field.append(byte)
        index += 1
      case UInt8(ascii: "\"") where isInside: isInside = false
      case UInt8(ascii: "\"") where field.isEmpty && !isQuoted:
        isInside = true
        isQuoted = true
      case UInt8(ascii: ",") where !isInside: endField()
      case UInt8(ascii: "\n") where !isInside:
        if field.last == 0x0D { field.removeLast() }
        endRecord()
        line += 1
        first = line
      default:
        if byte == UInt8(ascii: "\n") { line += 1 }
        field.append(byte)
      }
    }
    guard !isInside else { throw PortingError("Line \(first): a quote is not closed") }
    if !field.isEmpty || isQuoted || !fields.isEmpty { endRecord() }
    return records
  }

  // MARK: Values

  /// Returns the value that a field has for an attribute; nil if the attribute has no such value.
  static func value(_ field: Field, of attribute: AttributeDescription) -> JSONValue? {
    if field.text.isEmpty, !field.isQuoted { return .null }
    let codec = attribute.type.codec
    switch codec.wireForm {
    case .string, .date, .binary: return .string(field.text)
    case .integer, .double, .boolean, .json:
      do {
        return try JSONParser.parse(field.text)
      } catch {
        // The text is no JSON, and therefore no value of these types.
        return nil
      }
    }
  }
}

extension Exporter {
  /// Exports the objects of one entity as comma-separated values.
  ///
  /// A line of names comes first, then a record for each object: its ID, attributes and to-ones.
  ///
  /// - Parameters:
  ///   - name: The name of the entity, whose descendants' objects are not exported.
  ///   - client: A client of the service.
  ///   - write: Called with each record.
  /// - Returns: The names of the to-manys, which the format has no place for.
  /// - Throws: `PortingError` for an unknown entity; `ClientError`.
  package static func runCommaSeparated(
    _ name: String,
    from client: ClientConnection,
    _ write: (String) -> Void
  ) async throws -> [String] {
    let model = try ModelDocument.model(from: try await client.call("model", [:]))
    guard let entity = model.entity(named: name) else {
      throw PortingError("The model has no entity \(name)")
    }
    let names = columns(of: entity)
    write(CommaSeparated.record((["id"] + names).map { .string($0) }))
    let json = Set(
      names.indices.filter { index in
        if case .attribute(let attribute)? = entity.property(named: names[index]) {
          attribute.type == .json
        } else {
          false
        }
      }.map { $0 + 1 }
    )
    try await export(entity, names, client) { object in
      let values = names.map { object["values"]?[$0] ?? .null }
      write(CommaSeparated.record([object["id"] ?? .null] + values, json: json))
    }
    return entity.relationships.filter(\.toMany).map(\.name)
  }

  private static func columns(of entity: EntityDescription) -> [String] {
    entity.attributes.filter { $0.derived == nil }.map(\.name)
      + entity.relationships.filter { !$0.toMany }.map(\.name)
  }
}

extension Importer {
  /// Returns the lines of JSON for comma-separated values of one entity.
  ///
  /// - Parameters:
  ///   - bytes: The file: a line of names, then a record for each object. A column is `id`, an
  ///     attribute or a to-one.
  ///   - name: The name of the entity.
  ///   - client: A client of the service, whose model has the entity.
  /// - Returns: Lines for `run`, each at the number of its record's line.
  /// - Throws: `PortingError` with the line and the column; `ClientError`.
  package static func lines(
    commaSeparated bytes: [UInt8],
    of name: String,
    for client: ClientConnection
  ) async throws -> [UInt8] {
    let model = try ModelDocument.model(from: try await client.call("model", [:]))
    guard let entity = model.entity(named: name) else {
      throw PortingError("The model has no entity \(name)")
    }
    let records = try CommaSeparated.records(bytes)
    guard let header = records.first?.fields.map(\.text) else { return [] }
    for column in header where column != "id" && !isColumn(column, of: entity) {
      throw PortingError("Line 1: \(name) has no attribute and no to-one \(column)")
    }
    var lines: [UInt8] = []
    var line = 1
    for record in records.dropFirst() {
      guard record.fields.count == header.count else {
        throw PortingError(
          "Line \(record.line) has \(record.fields.count) fields, the first line \(header.count)"
        )
      }
      while line < record.line {
        lines.append(0x0A)
        line += 1
      }
      lines += try object(record, header, entity).text.utf8
    }
    return lines
  }

  private static func isColumn(_ name: String, of entity: EntityDescription) -> Bool {
    switch entity.property(named: name) {
    case .attribute?: true
    case .relationship(let relationship)?: !relationship.toMany
    case nil: false
    }
  }

  private static func object(
    _ record: (line: Int, fields: [CommaSeparated.Field]),
    _ header: [String],
    _ entity: EntityDescription
  ) throws -> JSONValue {
    var members = [JSONMember("entity", .string(entity.name))]
    var values: [JSONMember] = []
    for (column, field) in zip(header, record.fields) {
      if column == "id" {
        if !field.text.isEmpty { members.append(JSONMember("id", .string(field.text))) }
        continue
      }
      guard case .attribute(let attribute)? = entity.property(named: column) else {
        values.append(JSONMember(column, field.text.isEmpty ? .null : .string(field.text)))
        continue
      }
      guard let value = CommaSeparated.value(field, of: attribute) else {
        throw PortingError(
          "Line \(record.line): \(column) must be \(attribute.type.codec.expectation), "
            + "found \"\(field.text.prefix(40))\""
        )
      }
      values.append(JSONMember(column, value))
    }
    return .object(members + [JSONMember("values", .object(values))])
  }
}
