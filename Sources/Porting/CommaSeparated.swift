package import Cordial
import CordialProtocol
import JSON
import ObjectModel

/// Comma-separated values (RFC 4180): the objects of one entity, with their attributes and to-ones.
///
/// A missing value is an empty field, and an empty text is a pair of quotes. The module reads the
/// format itself, because libraries do not distinguish these two fields.
enum CommaSeparated {
  /// A field of a record.
  struct Field: Equatable {
    var text: String
    /// Whether the field has quotes, because an empty field with quotes is a text, not a missing
    /// value.
    var isQuoted = false
  }

  static let quote = UInt8(ascii: "\"")
  static let comma = UInt8(ascii: ",")
  static let carriageReturn = UInt8(ascii: "\r")
  static let lineFeed = UInt8(ascii: "\n")

  // MARK: Writing

  /// Returns a record as a line, including the line end.
  ///
  /// - Parameters:
  ///   - values: The values of the fields.
  ///   - json: The indices of the values of json attributes; even their strings are written as
  ///     JSON.
  ///   - formulas: The treatment of texts that a spreadsheet would compute.
  /// - Returns: The record.
  static func record(
    _ values: [JSONValue],
    json: Set<Int> = [],
    formulas: Exporter.Formulas = .unchanged
  ) -> String {
    var bytes: [UInt8] = []
    for (index, value) in values.enumerated() {
      if index > 0 { bytes.append(comma) }
      switch value {
      case .null: break
      case .string(let text) where !json.contains(index): append(text, formulas, to: &bytes)
      default: append(value.text, formulas, to: &bytes)
      }
    }
    return String(decoding: bytes + [carriageReturn, lineFeed], as: UTF8.self)
  }

  /// Appends a text as a field.
  ///
  /// Readers search for bytes, so the function doubles each quote byte. A combining mark or a
  /// joiner can follow a quote in one `Character`.
  private static func append(
    _ text: String,
    _ formulas: Exporter.Formulas,
    to bytes: inout [UInt8]
  ) {
    let text = formulas == .quoted && isFormula(text) ? "'" + text : text
    let special = [quote, comma, carriageReturn, lineFeed]
    guard text.isEmpty || text.utf8.contains(where: special.contains) else {
      bytes += text.utf8
      return
    }
    bytes.append(quote)
    for byte in text.utf8 {
      if byte == quote { bytes.append(quote) }
      bytes.append(byte)
    }
    bytes.append(quote)
  }

  /// Returns whether a spreadsheet reads a text as a formula; a number is no formula.
  ///
  /// A formula begins with one of the characters that
  /// https://owasp.org/www-community/attacks/CSV_Injection lists.
  private static func isFormula(_ text: String) -> Bool {
    guard let first = text.utf8.first, "=+-@\t\r\n".utf8.contains(first) else { return false }
    return Double(text) == nil || !text.utf8.allSatisfy("0123456789.eE+-".utf8.contains)
  }

  // MARK: Values

  /// Returns the value of a field for an attribute; nil if the text is no value of the type.
  static func value(_ field: Field, of attribute: AttributeDescription) -> JSONValue? {
    if field.text.isEmpty, !field.isQuoted { return .null }
    let codec = attribute.type.codec
    switch codec.wireForm {
    case .string, .date, .binary: return .string(field.text)
    case .integer, .double, .boolean, .json:
      do {
        return try JSONParser.parse(field.text)
      } catch {
        // Values of these types are JSON, and the text is not.
        return nil
      }
    }
  }
}

extension Exporter {
  /// The treatment of texts that a spreadsheet would compute, such as `=1+1`.
  package enum Formulas: Sendable {
    /// The texts stay unchanged, so that an import reads the same texts.
    case unchanged
    /// Each text gets a leading apostrophe, so that a spreadsheet shows the text.
    case quoted
  }

  /// Exports the objects of one entity as comma-separated values.
  ///
  /// A line of names comes first, then a record for each object: its ID, attributes and to-ones.
  ///
  /// - Parameters:
  ///   - name: The name of the entity. Objects of its descendants are not exported.
  ///   - client: A client of the service.
  ///   - formulas: The treatment of texts that a spreadsheet would compute.
  ///   - write: Called with each record, including its line end.
  /// - Returns: The names of the to-manys, which the format cannot represent.
  /// - Throws: `PortingError` for an unknown entity; `ClientError`.
  package static func runCommaSeparated(
    _ name: String,
    from client: ClientConnection,
    formulas: Formulas = .unchanged,
    _ write: (String) -> Void
  ) async throws -> [String] {
    let model = try ModelDocument.model(from: try await client.call(ModelCall()).json)
    guard let entity = model.entity(named: name) else {
      throw PortingError("The model has no entity \(name)")
    }
    let names = columns(of: entity)
    write(CommaSeparated.record(([MemberName.id.rawValue] + names).map { .string($0) }))
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
      let values = names.map { object[.values]?[$0] ?? .null }
      write(
        CommaSeparated.record([object[.id] ?? .null] + values, json: json, formulas: formulas)
      )
    }
    return entity.relationships.filter(\.toMany).map(\.name)
  }

  private static func columns(of entity: EntityDescription) -> [String] {
    entity.attributes.filter { $0.derived == nil }.map(\.name)
      + entity.relationships.filter { !$0.toMany }.map(\.name)
  }
}

extension Importer {
  /// Converts comma-separated values of one entity to lines of JSON.
  ///
  /// - Parameters:
  ///   - file: The file: a line of names, then a record for each object. A column is `id`, an
  ///     attribute or a to-one.
  ///   - name: The name of the entity.
  ///   - client: A client of the service, whose model has the entity.
  ///   - write: Called with portions of the lines, which `run` reads. An object and its record have
  ///     the same line number.
  /// - Throws: `PortingError` with the line and the column; `ClientError`; the errors of `write`.
  package static func writeLines(
    commaSeparated file: any InputFile,
    of name: String,
    for client: ClientConnection,
    _ write: ([UInt8]) throws -> Void
  ) async throws {
    let model = try ModelDocument.model(from: try await client.call(ModelCall()).json)
    guard let entity = model.entity(named: name) else {
      throw PortingError("The model has no entity \(name)")
    }
    var records = try CommaSeparated.Records(file)
    guard let header = try records.next()?.fields.map(\.text) else { return }
    for column in header where column != "id" && !isColumn(column, of: entity) {
      throw PortingError("Line 1: \(name) has no attribute and no to-one \(column)")
    }
    var columns: Set<String> = []
    for column in header where !columns.insert(column).inserted {
      throw PortingError("Line 1: there are two columns \(column)")
    }
    var line = 1
    while let record = try records.next() {
      guard record.fields.count == header.count else {
        throw PortingError(
          "Line \(record.line) has \(record.fields.count) fields, the first line \(header.count)"
        )
      }
      // Empty lines keep the line numbers. They are written in portions, because a file may have
      // millions of them.
      while line < record.line {
        let count = min(record.line - line, 1 << 16)
        try write([UInt8](repeating: 0x0A, count: count))
        line += count
      }
      try write(Array(try object(record, header, entity).text.utf8))
    }
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
    var members = [JSONMember(.entity, .string(entity.name))]
    var values: [JSONMember] = []
    for (column, field) in zip(header, record.fields) {
      if column == "id" {
        if !field.text.isEmpty { members.append(JSONMember(.id, .string(field.text))) }
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
    return .object(members + [JSONMember(.values, .object(values))])
  }
}
