import CordialValues
import JSON
import ObjectModel
import PersistentHistory

/// What the store itself wrote into saved objects.
extension SaveOperation {
  /// Notes where the answer about an object ends, of which more may be known at the end only.
  mutating func noteEnd(_ key: ObjectKey, end: Int, hasValues: Bool) {
    ends.append((key, end, hasValues))
  }

  /// The answer with what became of each object besides what was sent: derived values, and to-ones
  /// that followed from what was said of others.
  func withLateValues(_ answer: [UInt8]) throws -> [UInt8] {
    let late = ends.filter { table($0.key).hasDerived || followed[$0.key] != nil }
    guard !late.isEmpty else { return answer }
    var writer = JSONWriter(reserving: answer.count + 64 * late.count)
    var start = 0
    for (key, end, hasValues) in late {
      // In front of the brace that ends the object, and the one that ends its values.
      let place = end - (hasValues ? 2 : 1)
      writer.raw(Array(answer[start..<place]))
      try writeLateValues(key, hasValues: hasValues, &writer)
      start = place
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
    guard !columns.isEmpty else { return }
    let list = columns.map(SQLNames.quoted).joined(separator: ", ")
    let row = try table(key).query(
      "SELECT \(list) FROM \(SQLNames.quoted(entity.name)) WHERE \"_id\" = ?"
    )
    row.bind(key.object, at: 1)
    guard try row.step() else { return row.reset() }
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
    row.reset()
    writer.raw(hasValues ? "," : ",\"values\":{")
    for (index, member) in members.enumerated() {
      if index > 0 { writer.raw(",") }
      writer.name(member.name)
      writer.value(member.value)
    }
    if !hasValues { writer.raw("}") }
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
