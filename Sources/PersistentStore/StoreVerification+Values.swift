import CordialValues
import ObjectModel
import SQLite
import StoreLayout

/// The checks of values against the model: types, rules, uniqueness, sort positions.
extension StoreVerification {
  /// Reports values that their attribute does not allow.
  ///
  /// SQLite selects the values that may be invalid. If SQL cannot express the condition, this
  /// method reads all values.
  mutating func checkValues(
    _ attribute: AttributeDescription,
    of entity: EntityDescription
  ) throws {
    guard attribute.derived == nil else { return }
    let column = SQLNames.quoted(attribute.name)
    let rows = try snapshot.statement(
      "SELECT \"_id\", \(column) FROM \(table(entity)) WHERE \(suspicion(of: attribute))"
    )
    var wrong: [(number: Int64, rule: String, message: String)] = []
    while wrong.count < Self.problemsMax, try rows.step() {
      let stored = rows.value(1)
      let value = attribute.type.codec.value(column: stored)
      guard isOfType(value, attribute.type, stored) else {
        wrong.append(
          (rows.integer(0), "type", "\(attribute.name) is not \(expectation(attribute))")
        )
        continue
      }
      if let violation = try attribute.violation(by: value, interruption) {
        wrong.append((rows.integer(0), violation.rule, violation.message))
      }
    }
    rows.reset()
    for (number, rule, message) in wrong {
      try add(number, entity, attribute.name, rule, message)
    }
  }

  private func expectation(_ attribute: AttributeDescription) -> String {
    attribute.type.codec.expectation
  }

  /// Returns the SQL condition of values that may be invalid.
  private func suspicion(of attribute: AttributeDescription) -> String {
    let column = SQLNames.quoted(attribute.name)
    let hasRules =
      attribute.minimum != nil || attribute.maximum != nil || attribute.allowed != nil
      || attribute.pattern != nil || attribute.minimumLength != nil
      || attribute.maximumLength != nil
    guard !hasRules else { return "\(column) IS NOT NULL" }
    // The column stores every integer, but a date outside of this range has no text.
    if case .date = attribute.type.codec.wireForm {
      return "\(column) NOT BETWEEN \(DateText.range.lowerBound) AND \(DateText.range.upperBound)"
    }
    return switch attribute.type.codec.validColumn {
    case .integers(let range)?:
      range == Int64.min...Int64.max
        ? "0" : "\(column) NOT BETWEEN \(range.lowerBound) AND \(range.upperBound)"
    case .reals?: "abs(\(column)) > 1.7976931348623157e308"
    case .texts?: "0"
    case nil: "\(column) IS NOT NULL"
    }
  }

  /// Returns whether a stored value is a valid value of its type.
  private func isOfType(
    _ value: AttributeValue,
    _ type: AttributeType,
    _ stored: AttributeValue
  ) -> Bool {
    if case .double(let number) = value, !number.isFinite { return false }
    if case .integers(let range)? = type.codec.validColumn, case .integer(let number) = stored,
      !range.contains(number)
    {
      return false
    }
    // A value without a JSON form, such as a date after the year 9999, does not survive this round
    // trip.
    return type.codec.decode(WireValue.json(value)) == value
  }

  // MARK: Uniqueness

  /// Reports objects of one entity family that share unique values.
  ///
  /// An index covers one table, so it compares the objects of one entity only.
  mutating func checkUniqueness(_ entity: EntityDescription) throws {
    guard entity.hasDescendants else { return }
    let parent = entity.familyPosition.ancestors.dropLast().last.map { model.entity($0) }
    var sets = entity.unique.filter { parent?.unique.contains($0) != true }
    if let identity = entity.identity, parent?.identity == nil { sets.append([identity.name]) }
    for set in sets {
      let columns = set.map(SQLNames.quoted)
      let list = columns.joined(separator: ", ")
      let isWhole = columns.map { "\($0) IS NOT NULL" }.joined(separator: " AND ")
      try each(
        "SELECT max(\"_id\") FROM \(model.source(entity)) WHERE \(isWhole) "
          + "GROUP BY \(list) HAVING count(*) > 1",
        entity,
        set.joined(separator: ", "),
        "unique",
        "another object has the same \(set.joined(separator: ", "))"
      )
    }
  }

  // MARK: Sort positions

  /// Reports members of ordered to-manys without a sort position.
  mutating func checkPositions(_ entity: EntityDescription) throws {
    for (toOne, toMany) in model.orderedInverses(of: entity) {
      try each(
        "SELECT \"_id\" FROM \(table(entity)) "
          + "WHERE \(SQLNames.quoted(toOne.name)) IS NOT NULL "
          + "AND \(SQLNames.quoted(SQLNames.positionColumn(toOne.name))) IS NULL",
        entity,
        toOne.name,
        "position",
        "it has no position in the \(toMany.name) of its \(toOne.name)"
      )
    }
  }
}
