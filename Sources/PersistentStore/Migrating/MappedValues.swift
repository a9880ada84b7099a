import CordialValues
import JSON
import ObjectModel
import SQLite

/// The conversion of the values that a model's map computes to the attributes' types, and the
/// record of the conversions that fail.
///
/// A migration counts all failures before it stops. The failure of a part of an expression stays
/// pending until SQLite has computed the whole expression for the same object.
final class MappedValues {
  /// An attribute with an expression, for the objects of one old entity.
  struct Target {
    /// The path in the model, such as `map.Order.total`.
    let path: String
    /// The name of the old entity.
    let source: String
    let attribute: AttributeDescription
    /// The type of the expression's values, nil for values inside a json attribute, which have any
    /// type.
    let type: AttributeType?
  }

  /// The objects for which one expression fails in one way.
  private struct Failure {
    let path: String
    let message: String
    var count: Int64 = 0
    var examples: [(id: String, value: JSONValue)] = []
  }

  private static let examplesMax = 5

  /// A relationship with an expression, for the objects of one old entity.
  struct Reference {
    /// The path in the model, such as `map.Order.customer`.
    let path: String
    /// The name of the old entity.
    let source: String
  }

  private let targets: [Target]
  private let references: [Reference]
  private var failures: [Failure] = []
  /// The failure of a part of the expression that SQLite is computing.
  private var pending: (message: String, value: JSONValue)?

  init(_ targets: [Target], _ references: [Reference]) {
    self.targets = targets
    self.references = references
  }

  // MARK: SQL

  /// Returns SQL that converts the value of a target's expression to the attribute's type.
  static func sql(_ target: Int, object: String, _ value: String) -> String {
    "cordial_mapped(\(target), \(object), \(value))"
  }

  /// Returns SQL that returns the value of a relationship's expression unchanged and records a
  /// pending failure.
  static func sql(reference: Int, object: String, _ value: String) -> String {
    "cordial_reference(\(reference), \(object), \(value))"
  }

  /// Adds the SQL functions to the connection of a migration.
  func addFunctions(to db: SQLiteConnection) throws {
    try SQLFunction.addEffect(StrictSQL.divisorFunction, argumentCount: 1, to: db) { [self] call in
      let isZero =
        call.double(0) == 0 || call.text(0).flatMap { DecimalNumber($0) }?.text == "0"
      if isZero { pending = ("it divides by zero", .null) }
      isZero ? call.answer(nil as String?) : Self.answer(Self.value(call, 0), call)
    }
    try SQLFunction.addEffect(StrictSQL.castFunction, argumentCount: 3, to: db) { [self] call in
      if !NumberFunctions.answerCast(call) {
        pending = ("CAST does not convert the value", Self.json(Self.value(call, 0)))
      }
    }
    try SQLFunction.addEffect("cordial_reference", argumentCount: 3, to: db) { [self] call in
      guard let index = call.integer(0), let object = call.integer(1) else { return }
      let reference = references[Int(index)]
      if let (message, value) = pending {
        pending = nil
        record(message, value, reference.path, reference.source, object)
      }
      Self.answer(Self.value(call, 2), call)
    }
    try SQLFunction.addEffect("cordial_mapped", argumentCount: 3, to: db) { [self] call in
      guard let index = call.integer(0), let object = call.integer(1) else { return }
      Self.answer(stored(Self.value(call, 2), targets[Int(index)], object), call)
    }
  }

  private static func value(_ call: SQLFunction.Call, _ index: Int) -> AttributeValue {
    call.integer(index).map { .integer($0) } ?? call.double(index).map { .double($0) }
      ?? call.text(index).map { .string($0) } ?? call.blob(index).map { .binary($0) } ?? .null
  }

  private static func answer(_ value: AttributeValue, _ call: SQLFunction.Call) {
    switch value {
    case .integer(let number), .date(let number): call.answer(number)
    case .double(let number): call.answer(number)
    case .boolean(let flag): call.answer(flag)
    case .string(let text), .decimal(let text), .uuid(let text), .uri(let text), .json(let text):
      call.answer(text)
    case .binary(let bytes): call.answer(bytes[...])
    case .null: call.answer(nil as String?)
    }
  }

  private static func json(_ value: AttributeValue) -> JSONValue {
    switch value {
    case .integer(let number): .integer(number)
    case .double(let number): .number(number)
    case .string(let text): .string(text)
    default: .null
    }
  }

  // MARK: Conversion

  /// Converts an expression's value to the type of its attribute, and returns null for a failure.
  ///
  /// The method also records the failure.
  private func stored(
    _ value: AttributeValue,
    _ target: Target,
    _ object: Int64
  ) -> AttributeValue {
    if let (message, value) = pending {
      pending = nil
      record(message, value, target.path, target.source, object)
      return .null
    }
    guard value != .null else {
      if !target.attribute.optional {
        record("the value is nil, and it is required", .null, target.path, target.source, object)
      }
      return .null
    }
    guard let converted = converted(value, target) else {
      let type = target.attribute.type.rawValue
      record(
        "the value does not survive as \(type)",
        Self.json(value),
        target.path,
        target.source,
        object
      )
      return .null
    }
    if let violation = target.attribute.timedViolation(by: converted) {
      record(violation.message, Self.json(value), target.path, target.source, object)
    }
    return converted
  }

  private func converted(_ value: AttributeValue, _ target: Target) -> AttributeValue? {
    let type = target.attribute.type
    let codec = type.codec
    guard let source = target.type, type != .json else {
      return type == .json
        ? codec.value(computed: value)
        : codec.decode(Self.json(value)) ?? codec.value(computed: value)
    }
    if source == type { return codec.value(computed: value) }
    switch (codec.conversion(from: source), value) {
    case (.unchanged?, _): return codec.value(computed: value)
    case (.cast(.text)?, .integer(let number)):
      return codec.value(computed: .string(String(number)))
    case (.checked?, _): return codec.value(converted: value)
    default: return codec.value(computed: value) ?? codec.value(converted: value)
    }
  }

  /// Returns whether an attribute's type can represent at least some values of another type.
  static func hasValues(of source: AttributeType?, _ type: AttributeType) -> Bool {
    guard let source, source != type else { return true }
    let areNumbers = [source, type].allSatisfy { $0.isNumber || $0 == .decimal }
    return areNumbers || type.codec.conversion(from: source) != nil
  }

  // MARK: Failures

  private func record(
    _ message: String,
    _ value: JSONValue,
    _ path: String,
    _ source: String,
    _ object: Int64
  ) {
    let index = failures.firstIndex { $0.path == path && $0.message == message } ?? failures.count
    if index == failures.count { failures.append(Failure(path: path, message: message)) }
    failures[index].count += 1
    guard failures[index].examples.count < Self.examplesMax else { return }
    let id = ObjectID(entity: source, key: .object(object)).description
    failures[index].examples.append((id, value))
  }

  /// The failures so far, in the order of their first occurrence.
  var problems: [MigrationProblem] {
    failures.map {
      MigrationProblem(path: $0.path, message: $0.message, count: $0.count, examples: $0.examples)
    }
  }
}
