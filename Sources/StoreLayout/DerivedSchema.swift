package import ObjectModel
import SQLite

/// The trigger statements that update derived attributes in the transaction of the change.
///
/// SQLite's own functions compute counts, sums of integers, values of a to-one's object, and times.
/// Sealing computes texts, which need ICU, sums of decimals, which need their own arithmetic, and
/// sums of doubles, whose last digits depend on the order.
package struct DerivedSchema {
  package let model: Model
  /// Every derived attribute of every table.
  package let derivedAttributes: [(owner: EntityDescription, attribute: AttributeDescription)]

  package init(_ model: Model) {
    self.model = model
    derivedAttributes = model.concreteEntities.flatMap { entity in
      entity.attributes.filter { $0.derived != nil }.map { (entity, $0) }
    }
  }

  /// SQL for the current time, in milliseconds since 1970.
  private static let now =
    "CAST((julianday('now') - 2440587.5) * 86400000.0 + 0.5 AS INTEGER)"

  /// Returns the statements for the end of the trigger after an insert into an entity's table.
  package func afterInsert(into entity: EntityDescription) -> [String] {
    derivedAttributes.flatMap { owner, attribute -> [String] in
      guard let derived = attribute.derived else { return [] }
      let isOwn = owner.number == entity.number
      var statements: [String] = []
      if isOwn, let value = value(derived, of: owner, row: "NEW") {
        statements.append(set(owner, attribute, to: value, where: "\"_id\" = NEW.\"_id\""))
      }
      // The value just computed for a new owner already includes all its members, possibly the
      // owner itself. The condition below therefore excludes the new object.
      return statements
        + added(
          derived,
          attribute,
          owner,
          to: entity,
          row: "NEW",
          sign: "+",
          when: isOwn ? "\"_id\" <> NEW.\"_id\"" : "1"
        )
    }
  }

  /// Returns the statements for the end of the trigger after a deletion from an entity's table.
  package func afterDelete(from entity: EntityDescription) -> [String] {
    derivedAttributes.flatMap { owner, attribute -> [String] in
      guard let derived = attribute.derived else { return [] }
      return added(derived, attribute, owner, to: entity, row: "OLD", sign: "-")
    }
  }

  /// Returns the statements for the end of the trigger after an update of an entity's table.
  package func afterUpdate(of entity: EntityDescription) -> [String] {
    derivedAttributes.flatMap { owner, attribute -> [String] in
      guard let derived = attribute.derived else { return [] }
      let isOwn = owner.number == entity.number
      switch derived {
      case .now where isOwn:
        return [set(owner, attribute, to: Self.now, where: "\"_id\" = NEW.\"_id\"")]
      case .now, .text: return []
      case .path(let name, let last):
        var statements: [String] = []
        if isOwn, let value = value(derived, of: owner, row: "NEW") {
          let column = SQLNames.quoted(name)
          statements.append(
            set(
              owner,
              attribute,
              to: value,
              where: "\"_id\" = NEW.\"_id\" AND OLD.\(column) IS NOT NEW.\(column)"
            )
          )
        }
        guard let toOne = relationship(name, of: owner),
          model.isKind(entity.number, of: toOne.destination)
        else { return statements }
        let source = SQLNames.quoted(last)
        let changed = "OLD.\(source) IS NOT NEW.\(source)"
        return statements + [
          set(
            owner,
            attribute,
            to: "NEW.\(source)",
            where: "\(SQLNames.quoted(name)) = NEW.\"_id\" AND \(changed)"
          )
        ]
      case .count, .sum:
        // The update moves the member to a different owner, or changes the member's value. In both
        // cases, the triggers subtract the old amount and add the new amount.
        guard let columns = memberColumns(derived, owner, entity) else { return [] }
        let changed = columns.map { "OLD.\($0) IS NOT NEW.\($0)" }.joined(separator: " OR ")
        return [("OLD", "-"), ("NEW", "+")].flatMap { row, sign in
          added(
            derived,
            attribute,
            owner,
            to: entity,
            row: row,
            sign: sign,
            when: changed,
            isUpdate: true
          )
        }
      }
    }
  }

  /// Returns the statements for the end of the trigger after an insert or deletion of a link row.
  package func afterLink(
    _ relationship: RelationshipDescription,
    of owningEntity: EntityDescription,
    row: String,
    sign: String
  ) -> [String] {
    derivedAttributes.flatMap { owner, attribute -> [String] in
      let name: String
      switch attribute.derived {
      case .count(let members)?, .sum(let members, _)?: name = members
      default: return []
      }
      guard let members = self.relationship(name, of: owner),
        case .linkTable(owningEntity.number, relationship.name, let owns) = members.storage
      else { return [] }
      let (own, other) = owns ? ("source", "target") : ("target", "source")
      guard !members.isSymmetric else {
        // Either end of a symmetric link may be the source, and the link may be stored both ways.
        guard let derived = attribute.derived, !isOfDecimals(derived, of: owner),
          let value = aggregate(derived, of: owner)
        else { return [] }
        return [
          set(owner, attribute, to: value, where: "\"_id\" IN (\(row).source, \(row).target)")
        ]
      }
      guard let amount = amount(attribute.derived, members, number: "\(row).\(other)") else {
        return []
      }
      let column = SQLNames.quoted(attribute.name)
      return [
        set(owner, attribute, to: "\(column) \(sign) \(amount)", where: "\"_id\" = \(row).\(own)")
      ]
    }
  }

  // MARK: Parts of statements

  private func set(
    _ owner: EntityDescription,
    _ attribute: AttributeDescription,
    to value: String,
    where condition: String
  ) -> String {
    "UPDATE \(SQLNames.quoted(owner.name)) SET \(SQLNames.quoted(attribute.name)) = \(value) "
      + "WHERE \(condition);"
  }

  package func relationship(
    _ name: String,
    of entity: EntityDescription
  ) -> RelationshipDescription? {
    guard case .relationship(let found)? = entity.property(named: name) else { return nil }
    return found
  }

  /// Returns SQL for the derived value of an owner's row, nil if triggers cannot compute the value.
  ///
  /// The value includes existing members, because the members of a new owner may already exist.
  package func value(
    _ derived: DerivedExpression,
    of owner: EntityDescription,
    row: String
  ) -> String? {
    switch derived {
    case .now: return Self.now
    case .text: return nil
    case .count, .sum:
      return isOfDecimals(derived, of: owner) ? nil : aggregate(derived, of: owner)
    case .path(let name, let last):
      guard let toOne = relationship(name, of: owner) else { return nil }
      return "(SELECT cordial_d.\(SQLNames.quoted(last)) "
        + "FROM \(model.source(model.entity(toOne.destination))) AS cordial_d "
        + "WHERE cordial_d.\"_id\" = \(row).\(SQLNames.quoted(name)))"
    }
  }

  /// Returns whether an expression is a sum of decimals, which triggers cannot compute.
  private func isOfDecimals(_ derived: DerivedExpression, of owner: EntityDescription) -> Bool {
    guard case .sum(let name, let summed) = derived, let members = relationship(name, of: owner),
      case .attribute(let attribute)? = model.entity(members.destination).property(named: summed)
    else { return false }
    return attribute.type == .decimal
  }

  /// Returns SQL for a count or sum over the members of the owner's row that is being updated.
  ///
  /// The SQL for a sum of decimals calls a function that only Cordial's connections have.
  package func aggregate(_ derived: DerivedExpression, of owner: EntityDescription) -> String? {
    let name: String
    var function = "count(*)"
    let isOfDecimals = isOfDecimals(derived, of: owner)
    switch derived {
    case .count(let members): name = members
    case .sum(let members, let summed):
      name = members
      let column = "cordial_m.\(SQLNames.quoted(summed))"
      function =
        isOfDecimals
        ? "coalesce(group_concat(\(column), ' '), '')" : "coalesce(sum(\(column)), 0)"
    default: return nil
    }
    guard let members = relationship(name, of: owner) else { return nil }
    let number = "\(SQLNames.quoted(owner.name)).\"_id\""
    // Each table has its own query, because SQLite would read a whole UNION for each owner.
    func over(_ condition: String) -> String {
      let parts = model.entity(members.destination).familyPosition.concreteEntities.map { kind in
        "(SELECT \(function) FROM \(SQLNames.quoted(model.entity(kind).name)) AS cordial_m "
          + "WHERE cordial_m.\(condition))"
      }
      guard isOfDecimals else {
        return parts.isEmpty ? "0" : "(\(parts.joined(separator: " + ")))"
      }
      let list = parts.isEmpty ? "''" : parts.joined(separator: " || ' ' || ")
      return "cordial_decimal_sum(\(list))"
    }
    switch members.storage {
    case .column: return nil
    case .inverseColumn:
      return over("\(SQLNames.quoted(members.inverse ?? "")) = \(number)")
    case .linkTable:
      let numbers = LinkTable(members, in: model).members(of: "= \(number)")
      return over("\"_id\" IN (\(numbers))")
    }
  }

  /// Returns SQL for the amount that one member adds to its owner's count or sum; nil if triggers
  /// cannot add the amount.
  private func amount(
    _ derived: DerivedExpression?,
    _ members: RelationshipDescription,
    number: String
  ) -> String? {
    let destination = model.entity(members.destination)
    guard case .sum(_, let summed)? = derived else {
      // A link row may reference an object that an external client deleted.
      return "EXISTS (SELECT 1 FROM \(model.source(destination)) WHERE \"_id\" = \(number))"
    }
    guard isSummedStepByStep(summed, destination) else { return nil }
    return "coalesce((SELECT \(SQLNames.quoted(summed)) FROM \(model.source(destination)) "
      + "WHERE \"_id\" = \(number)), 0)"
  }

  package func isSummedStepByStep(_ summed: String, _ destination: EntityDescription) -> Bool {
    guard case .attribute(let attribute)? = destination.property(named: summed) else {
      return false
    }
    return attribute.type.isInteger
  }

  /// Returns the columns of a member's table on which a count or sum of its owner depends.
  private func memberColumns(
    _ derived: DerivedExpression,
    _ owner: EntityDescription,
    _ entity: EntityDescription
  ) -> [String]? {
    switch derived {
    case .count(let name):
      guard let members = relationship(name, of: owner), members.storage == .inverseColumn,
        model.isKind(entity.number, of: members.destination)
      else { return nil }
      return [SQLNames.quoted(members.inverse ?? "")]
    case .sum(let name, let summed):
      guard let members = relationship(name, of: owner),
        model.isKind(entity.number, of: members.destination)
      else { return nil }
      guard members.storage == .inverseColumn else { return [SQLNames.quoted(summed)] }
      return [SQLNames.quoted(members.inverse ?? ""), SQLNames.quoted(summed)]
    default: return nil
    }
  }

  /// Returns the statements that update owners' derived values after a change to the row of a
  /// member or of a to-one's object.
  private func added(
    _ derived: DerivedExpression,
    _ attribute: AttributeDescription,
    _ owner: EntityDescription,
    to entity: EntityDescription,
    row: String,
    sign: String,
    when condition: String? = nil,
    isUpdate: Bool = false
  ) -> [String] {
    let also = condition.map { " AND (\($0))" } ?? ""
    let column = SQLNames.quoted(attribute.name)
    switch derived {
    case .now, .text: return []
    case .path(let name, let last):
      guard let toOne = relationship(name, of: owner),
        model.isKind(entity.number, of: toOne.destination)
      else { return [] }
      let value = sign == "+" ? "\(row).\(SQLNames.quoted(last))" : "NULL"
      return [
        set(owner, attribute, to: value, where: "\(SQLNames.quoted(name)) = \(row).\"_id\"" + also)
      ]
    case .count(let name), .sum(let name, _):
      guard let members = relationship(name, of: owner),
        model.isKind(entity.number, of: members.destination)
      else { return [] }
      var amount = "1"
      if case .sum(_, let summed) = derived {
        guard isSummedStepByStep(summed, model.entity(members.destination)) else { return [] }
        amount = "coalesce(\(row).\(SQLNames.quoted(summed)), 0)"
      }
      guard members.storage == .inverseColumn else {
        // Other triggers handle inserts and deletions of link rows; here a member's value changed.
        guard isUpdate, case .linkTable = members.storage else { return [] }
        let owners = LinkTable(members, in: model).owners(of: "= \(row).\"_id\"")
        return [
          set(
            owner,
            attribute,
            to: "\(column) \(sign) \(amount)",
            where: "\"_id\" IN (\(owners))" + also
          )
        ]
      }
      let inverse = "\(row).\(SQLNames.quoted(members.inverse ?? ""))"
      return [
        set(
          owner,
          attribute,
          to: "\(column) \(sign) \(amount)",
          where: "\"_id\" = \(inverse)" + also
        )
      ]
    }
  }
}
