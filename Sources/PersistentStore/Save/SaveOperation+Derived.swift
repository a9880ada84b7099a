import CordialValues
import JSON
import ObjectModel
import PersistentHistory

/// What the store itself wrote into saved objects.
extension SaveOperation {
  /// Notes where the answer about an object ends, whose derived values are known at the end only.
  mutating func noteDerived(_ key: ObjectKey, end: Int, hasValues: Bool) {
    guard table(key).hasDerived else { return }
    derivedEnds.append((key, end, hasValues))
  }

  /// The answer with the derived values of each object that has some.
  func withDerivedValues(_ answer: [UInt8]) throws -> [UInt8] {
    guard !derivedEnds.isEmpty else { return answer }
    var writer = JSONWriter(reserving: answer.count + 64 * derivedEnds.count)
    var start = 0
    for (key, end, hasValues) in derivedEnds {
      // In front of the brace that ends the object, and the one that ends its values.
      let place = end - (hasValues ? 2 : 1)
      writer.raw(Array(answer[start..<place]))
      let entity = model.entity(key.entity)
      let derived = entity.attributes.filter { $0.derived != nil }
      let list = derived.map { SQLNames.quoted($0.name) }.joined(separator: ", ")
      let row = try table(key).query(
        "SELECT \(list) FROM \(SQLNames.quoted(entity.name)) WHERE \"_id\" = ?"
      )
      defer { row.reset() }
      row.bind(key.object, at: 1)
      if try row.step() {
        writer.raw(hasValues ? "," : ",\"values\":{")
        for (index, attribute) in derived.enumerated() {
          if index > 0 { writer.raw(",") }
          writer.name(attribute.name)
          ColumnForm(attribute.type).write(row, Int32(index), in: model, to: &writer)
        }
        if !hasValues { writer.raw("}") }
      }
      start = place
    }
    writer.raw(Array(answer[start...]))
    return writer.bytes
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
