import CordialValues
import JSON
import ObjectModel
import PersistentHistory

/// A place in the answer where something may have to be added about an object.
struct AnswerEnd {
  /// What stands there.
  enum Form {
    /// The object without values, or with some.
    case object(hasValues: Bool)
    /// Nothing yet.
    case whole
  }

  let key: ObjectKey
  let end: Int
  let form: Form
}

/// What the store itself wrote into saved objects.
extension SaveOperation {
  /// Notes where the answer about an object ends, of which more may be known at the end only.
  mutating func noteEnd(_ key: ObjectKey, end: Int, hasValues: Bool) {
    ends.append(AnswerEnd(key: key, end: end, form: .object(hasValues: hasValues)))
  }

  /// The answer with what became of each object besides what was sent: derived values, and to-ones
  /// that followed from what was said of others.
  func withLateValues(_ answer: [UInt8]) throws -> [UInt8] {
    let late = ends.filter { end in
      if case .whole = end.form { return true }
      return table(end.key).hasDerived || followed[end.key] != nil
        || mergedLists[end.key] != nil
    }
    guard !late.isEmpty else { return answer }
    var writer = JSONWriter(reserving: answer.count + 64 * late.count)
    var start = 0
    for end in late {
      switch end.form {
      case .object(let hasValues):
        // In front of the brace that ends the object, and the one that ends its values.
        let place = end.end - (hasValues ? 2 : 1)
        writer.raw(Array(answer[start..<place]))
        try writeLateValues(end.key, hasValues: hasValues, &writer)
        start = place
      case .whole:
        writer.raw(Array(answer[start..<end.end]))
        writer.raw("{\"id\":")
        writer.string(name(end.key))
        writer.raw(",\"version\":")
        writer.integer(try table(end.key).version(of: end.key.object) ?? 0)
        try writeLateValues(end.key, hasValues: false, &writer)
        writer.raw("}")
        start = end.end
      }
    }
    writer.raw(Array(answer[start...]))
    return writer.bytes
  }

  private func writeLateValues(
    _ key: ObjectKey,
    hasValues: Bool,
    _ writer: inout JSONWriter
  ) throws {
    let entity = model.entity(key.entity)
    let more = followed[key] ?? []
    let columns = entity.columns.filter { entity.isDerived($0) || more.contains($0) }
    var members = try lateColumns(columns, of: key)
    for name in (mergedLists[key] ?? []).sorted() {
      members.append((name, try storedValue(name, key)))
    }
    guard !members.isEmpty else { return }
    writer.raw(hasValues ? "," : ",\"values\":{")
    for (index, member) in members.enumerated() {
      if index > 0 { writer.raw(",") }
      writer.name(member.name)
      writer.value(member.value)
    }
    if !hasValues { writer.raw("}") }
  }

  private func lateColumns(
    _ columns: [String],
    of key: ObjectKey
  ) throws -> [(name: String, value: JSONValue)] {
    guard !columns.isEmpty else { return [] }
    let entity = model.entity(key.entity)
    let list = columns.map(SQLNames.quoted).joined(separator: ", ")
    let row = try table(key).query(
      "SELECT \(list) FROM \(SQLNames.quoted(entity.name)) WHERE \"_id\" = ?"
    )
    row.bind(key.object, at: 1)
    defer { row.reset() }
    guard try row.step() else { return [] }
    var members: [(name: String, value: JSONValue)] = []
    for (index, column) in columns.enumerated() {
      if case .relationship(let relationship)? = entity.property(named: column) {
        let number = row.optionalInteger(Int32(index))
        let id = number.map { name(model.key(relationship.destination, $0)) }
        members.append((column, id.map { .string($0) } ?? .null))
      } else {
        var value = JSONWriter()
        WireValue.form(of: column, entity, model).write(row, Int32(index), in: model, to: &value)
        members.append((column, try JSONParser.parse(value.bytes.span)))
      }
    }
    return members
  }
}

extension DerivedExpression.TextForm {
  /// That form of a value; null of null.
  func applied(to value: AttributeValue) -> AttributeValue {
    guard case .string(let text) = value else { return .null }
    return switch self {
    case .canonical: .string(Folding.fold(text, flags: 3))
    case .lowercase: .string(text.lowercased())
    case .uppercase: .string(text.uppercased())
    }
  }
}
