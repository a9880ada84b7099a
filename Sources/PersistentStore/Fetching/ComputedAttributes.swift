import CordialValues
import JSON
import ObjectModel
import SQLite
import StoreLayout

/// The SQL function that calls a program's functions for transient attributes.
enum ComputedAttributes {
  private static let name = "cordial_computed"

  /// The error for a value of the wrong type that a program's function returned.
  private struct WrongValue: Error, CustomStringConvertible {
    let description: String
  }

  /// Adds the function to a connection.
  ///
  /// - Parameters:
  ///   - db: The connection.
  ///   - model: The store's model.
  ///   - functions: The program's functions, by name.
  /// - Throws: `SQLiteError`.
  static func add(
    to db: SQLiteConnection,
    model: Model,
    _ functions: [String: ComputedValue]
  ) throws {
    guard !functions.isEmpty else { return }
    let progress = db.progress
    try SQLFunction.add(name, argumentCount: 3, to: db) { call in
      guard let entity = call.text(0).flatMap({ model.entity(named: $0) }),
        let computed = call.text(1).flatMap({ entity.computed(named: $0) }),
        let function = functions[computed.function], let stored = call.text(2)
      else { return call.answer(nil as String?) }
      let values = values(try JSONParser.parse(stored), of: entity)
      let object = StoredObject(
        entity: entity.name,
        values: .object(values.nested),
        interruption: progress.effective
      )
      let result = function(object)
      try progress.stopStatement()
      switch computed.attribute.decode(result) {
      case .value(let value): answer(value, call)
      case .expected(let expected):
        throw WrongValue(
          description: "The function \(computed.function) returned "
            + "\(StoreError.short(result.text)) for \(entity.name).\(computed.attribute.name), "
            + "which must be \(expected)"
        )
      }
    }
  }

  private static func values(_ stored: JSONValue, of entity: EntityDescription) -> [JSONMember] {
    entity.attributes.map { attribute in
      let value = stored[attribute.name] ?? .null
      let typed = value.isNull ? nil : attribute.type.codec.value(logged: value)
      return JSONMember(attribute.name, typed.map(WireValue.json) ?? .null)
    }
  }

  private static func answer(_ value: AttributeValue, _ call: SQLFunction.Call) {
    switch value {
    case .null: call.answer(nil as String?)
    case .string(let text), .decimal(let text), .uuid(let text), .uri(let text), .json(let text):
      call.answer(text)
    case .integer(let number), .date(let number): call.answer(number)
    case .double(let number): call.answer(number)
    case .boolean(let flag): call.answer(flag)
    case .binary(let bytes): call.answer(bytes[...])
    }
  }

  /// Returns SQL that calls the function for an object.
  ///
  /// - Parameters:
  ///   - computed: The attribute.
  ///   - entity: The entity that declares the attribute.
  ///   - column: Returns SQL for a column of the object.
  /// - Returns: The SQL of the call, which gives null if there is no object.
  static func call(
    _ computed: ComputedAttribute,
    of entity: EntityDescription,
    _ column: (String) -> String
  ) -> String {
    let pieces = entity.attributes.enumerated().map { index, attribute in
      let head = (index == 0 ? "" : ",") + JSONValue.string(attribute.name).text + ":"
      let value = LogTriggers.json(column(attribute.name), attribute.type.codec.storage)
      return "\(SQLNames.literal(head)) || \(value)"
    }
    // SQLite limits the depth of an expression, and each part of a chain adds a level.
    let chunks = stride(from: 0, to: pieces.count, by: 32).map { start in
      "(\(pieces[start..<min(start + 32, pieces.count)].joined(separator: " || ")))"
    }
    let object = (["'{'"] + chunks + ["'}'"]).joined(separator: " || ")
    // A path through a to-one that is null reaches no object.
    return "CASE WHEN \(column(SQLNames.object)) IS NOT NULL THEN "
      + "\(name)(\(SQLNames.literal(entity.name)), "
      + "\(SQLNames.literal(computed.attribute.name)), \(object)) END"
  }
}
