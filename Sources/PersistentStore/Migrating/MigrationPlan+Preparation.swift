import CordialValues
import JSON
import ObjectModel
import PersistentHistory
import SQLite
import StoreLayout

/// The preparation of a migration with a map, before any table changes.
///
/// The preparation selects the old objects of each new entity and computes the map's expressions.
extension MigrationPlan {
  /// Plans the temporary tables, and adds problems for expressions that do not fit the models.
  mutating func prepare() {
    guard !mapping.rules.isEmpty, mapping.ruleProblems.isEmpty else { return }
    let tables = [
      "CREATE TABLE \(PreparedTables.made)(family INTEGER, old INTEGER, entity INTEGER, "
        + "number INTEGER, PRIMARY KEY(family, old, entity)) WITHOUT ROWID"
    ]
    let ruled = to.concreteEntities.filter { mapping.rules[$0.number] != nil }
    let objects = ruled.flatMap { tablesOfValues(of: $0) }
    preparation.append(
      Preparation(title: "Prepare the map", statements: (tables + objects).map { SQLFragment($0) })
    )
    for old in from.concreteEntities where mapping.isMoved(old.number) {
      selectObjects(of: old)
    }
    for entity in ruled {
      guard let rule = mapping.rules[entity.number], !rule.isByProgram else { continue }
      for old in mapping.sources(of: entity) { computeValues(of: entity, rule, from: old) }
    }
    checkAmbiguousReferences()
  }

  /// Returns the statements that create the tables for the objects of an entity with a rule, and
  /// for the links that the rule gives.
  private func tablesOfValues(of entity: EntityDescription) -> [String] {
    let columns = givenColumns(of: entity).map { ", \(PreparedTables.column($0))" }
    let objects =
      "CREATE TABLE \(PreparedTables.objects(of: entity))(number INTEGER PRIMARY KEY, "
      + "source INTEGER, old INTEGER\(columns.joined()))"
    let links = givenLinks(of: entity).map {
      "CREATE TABLE \(PreparedTables.links($0.name, of: entity))"
        + "(a INTEGER, b INTEGER, place INTEGER, back INTEGER, PRIMARY KEY(a, b)) "
        + "WITHOUT ROWID"
    }
    return [objects] + links
  }

  /// Returns the names of the attributes and to-ones whose values a rule gives in columns.
  func givenColumns(of entity: EntityDescription) -> [String] {
    guard let rule = mapping.rules[entity.number] else { return [] }
    let toOnes = entity.relationships.filter(\.isColumn)
    let names = entity.attributes.filter { $0.derived == nil }.map(\.name) + toOnes.map(\.name)
    return names.filter(rule.gives)
  }

  /// Returns the relationships of an entity whose links a rule gives in a separate table.
  ///
  /// If a program supplies the links, only one end of a relationship has such a table: the end that
  /// stores the links or their order.
  func givenLinks(of entity: EntityDescription) -> [RelationshipDescription] {
    guard let rule = mapping.rules[entity.number] else { return [] }
    return entity.relationships.filter { relationship in
      guard rule.gives(relationship.name), !relationship.isColumn else { return false }
      if case .linkTable(_, _, owns: true) = relationship.storage { return true }
      let hasOrder = relationship.storage == .inverseColumn && relationship.ordered
      return !rule.isByProgram || hasOrder
    }
  }

  /// Returns whether a rule gives links of a relationship, from either end.
  func isGiven(_ relationship: RelationshipDescription) -> Bool {
    guard !mapping.rules.isEmpty else { return false }
    func gives(_ entity: Int, _ name: String?) -> Bool {
      guard let name else { return false }
      return to.entity(entity).familyPosition.concreteEntities.contains {
        mapping.rules[$0]?.gives(name) ?? false
      }
    }
    return gives(relationship.owner, relationship.name)
      || gives(relationship.destination, relationship.inverse)
  }

  // MARK: Objects

  /// Plans the statements that record which new objects are made of an old entity's objects.
  private mutating func selectObjects(of old: EntityDescription) {
    var statements: [SQLFragment] = []
    for taker in mapping.takers(of: old) where !taker.isAbstract {
      guard let rule = mapping.rules[taker.number], !rule.isByProgram else {
        if mapping.rules[taker.number] == nil {
          statements.append(
            SQLFragment(
              "INSERT INTO \(PreparedTables.made) SELECT \(mapping.family(old.number)), \"_id\", "
                + "\(taker.number), \"_id\" FROM \(SQLNames.quoted(old.name))"
            )
          )
        }
        continue
      }
      do throws(StoreError) {
        var compiler = try compiler(of: rule, old)
        let condition = try compiler.condition(request(of: rule, old))
        let stays = mapping.source(of: taker)?.number == old.number
        let last =
          "SELECT max(number) FROM (SELECT number FROM \(PreparedTables.given) "
          + "WHERE entity = \(taker.number) UNION ALL SELECT max(number) "
          + "FROM \(PreparedTables.made) WHERE entity = \(taker.number))"
        let number = stays ? "t.\"_id\"" : "(\(last)) + row_number() OVER (ORDER BY t.\"_id\")"
        statements.append(
          SQLFragment(
            "INSERT INTO \(PreparedTables.made) SELECT \(mapping.family(old.number)), t.\"_id\", "
              + "\(taker.number), \(number) FROM \(SQLNames.quoted(old.name)) t"
              + "\(compiler.scope(at: 0).joins.sql) WHERE \(condition.sql)",
            condition.values
          )
        )
      } catch {
        problem("map.\(taker.name).@where", error.message)
      }
    }
    guard !statements.isEmpty else { return }
    preparation.append(Preparation(title: "Select objects of \(old.name)", statements: statements))
  }

  private func request(of rule: EntityRule, _ old: EntityDescription) -> FetchRequest {
    var request = FetchRequest(entity: old.name)
    request.subentities = false
    request.predicate = rule.condition
    return request
  }

  private func compiler(
    of rule: EntityRule,
    _ old: EntityDescription,
    isStrict: Bool = false
  ) throws(StoreError) -> FetchCompiler {
    // An external client may have left dangling references.
    var context = FetchContext(model: from, mayDangle: true, hasSortKeys: false)
    context.isStrict = isStrict
    return try FetchCompiler(request(of: rule, old), in: context)
  }

  // MARK: Values

  /// Plans the statements that compute the values of the objects made from an old entity's objects.
  private mutating func computeValues(
    of entity: EntityDescription,
    _ rule: EntityRule,
    from old: EntityDescription
  ) {
    guard case .expressions(let expressions) = rule.content else { return }
    let hasNumbers = mapping.isMoved(old.number)
    let number = hasNumbers ? "cordial_n.number" : "t.\"_id\""
    let join =
      hasNumbers
      ? " JOIN \(PreparedTables.made) cordial_n "
        + "ON cordial_n.family = \(mapping.family(old.number)) AND cordial_n.old = t.\"_id\" "
        + "AND cordial_n.entity = \(entity.number)" : ""
    var columns: [(name: String, value: SQLFragment)] = []
    var links: [SQLFragment] = []
    do throws(StoreError) {
      var compiler = try compiler(of: rule, old, isStrict: true)
      for (name, text) in expressions.sorted(by: { $0.key < $1.key }) {
        let path = "map.\(entity.name).\(name)"
        do throws(StoreError) {
          let expression = try Self.parsed(text)
          switch entity.property(named: name) {
          case .attribute(let attribute)?:
            columns.append(
              (name, try value(of: attribute, expression, path, old, &compiler))
            )
          case .relationship(let relationship)? where relationship.isColumn:
            let value = try reference(relationship, of: entity, expression, &compiler)
            mappedReferences.append(MappedValues.Reference(path: path, source: old.name))
            columns.append((name, noted(value)))
          case .relationship(let relationship)?:
            mappedReferences.append(MappedValues.Reference(path: path, source: old.name))
            links.append(
              try members(relationship, of: entity, expression, number, old, join, &compiler)
            )
          case nil: break
          }
        } catch {
          problem(path, "for \(old.name): \(error.message)")
        }
      }
      let names = columns.map { ", \(PreparedTables.column($0.name))" }.joined()
      let values = columns.map { ", \($0.value.sql)" }.joined()
      let objects = SQLFragment(
        "INSERT INTO \(PreparedTables.objects(of: entity))(number, source, old\(names)) "
          + "SELECT \(number), \(old.number), t.\"_id\"\(values) "
          + "FROM \(SQLNames.quoted(old.name)) t\(join)\(compiler.scope(at: 0).joins.sql)",
        columns.flatMap(\.value.values)
      )
      preparation.append(
        Preparation(title: "Compute \(entity.name) from \(old.name)", statements: [objects] + links)
      )
    } catch {
      problem("map.\(entity.name)", error.message)
    }
  }

  private static func parsed(_ text: String) throws(StoreError) -> PredicateExpression {
    do {
      return try PredicateParser.parse(expression: text)
    } catch {
      throw StoreError(error)
    }
  }

  private mutating func value(
    of attribute: AttributeDescription,
    _ expression: PredicateExpression,
    _ path: String,
    _ old: EntityDescription,
    _ compiler: inout FetchCompiler
  ) throws(StoreError) -> SQLFragment {
    compiler.readsJSONTexts = attribute.type == .json
    defer { compiler.readsJSONTexts = false }
    let expected = ComparedSide.value(attribute.type, name: attribute.name)
    let (fragment, side) = try compiler.value(expression, as: expected)
    var type = side.type
    switch side {
    case .object(let entity):
      throw StoreError(
        .predicateInvalid,
        "the expression is a \(entity.name), and \(attribute.name) is an attribute"
      )
    case .constant: type = attribute.type
    case .json, .value: break
    }
    guard MappedValues.hasValues(of: type, attribute.type) else {
      throw StoreError(
        .predicateInvalid,
        "the expression is of type \(type?.rawValue ?? "json"), which does not become "
          + "\(attribute.type.rawValue): use CAST"
      )
    }
    mappedTargets.append(
      MappedValues.Target(path: path, source: old.name, attribute: attribute, type: type)
    )
    return SQLFragment(
      MappedValues.sql(mappedTargets.count - 1, object: "t.\"_id\"", fragment.sql),
      fragment.values
    )
  }

  // MARK: References

  /// Compiles an expression for an old object into SQL for the number of the new object.
  private func reference(
    _ relationship: RelationshipDescription,
    of entity: EntityDescription,
    _ expression: PredicateExpression,
    _ compiler: inout FetchCompiler
  ) throws(StoreError) -> SQLFragment {
    guard !compiler.isCollection(expression) else {
      throw StoreError(
        .predicateInvalid,
        "\(relationship.name) references one object: take one of the collection, as [FIRST]"
      )
    }
    let destination = to.entity(relationship.destination)
    let (fragment, side) = try compiler.value(expression)
    guard case .object(let old) = side else {
      if case .constant = side, case .constant(.null) = expression.form { return fragment }
      throw StoreError(
        .predicateInvalid,
        "\(relationship.name) references a \(destination.name), and \(side.words)"
      )
    }
    guard try isReferable(old, relationship, entity) else { return SQLFragment("NULL") }
    let number = translated(fragment.sql, of: old.number, within: destination.number)
    return SQLFragment(number, fragment.values)
  }

  /// Wraps the value of the most recently added mapped reference in the function that records
  /// failures.
  private func noted(_ value: SQLFragment) -> SQLFragment {
    let sql = MappedValues.sql(
      reference: mappedReferences.count - 1,
      object: "t.\"_id\"",
      value.sql
    )
    return SQLFragment(sql, value.values)
  }

  /// Returns whether a relationship may reference objects that are made of an old entity.
  ///
  /// The method throws only if the entity is made from a single old entity. With several old
  /// entities, the expression may suit only some of them.
  private func isReferable(
    _ old: EntityDescription,
    _ relationship: RelationshipDescription,
    _ entity: EntityDescription
  ) throws(StoreError) -> Bool {
    let isReferable = usedRanges(old.number, within: relationship.destination)?.isEmpty != true
    if isReferable || mapping.sources(of: entity).count > 1 { return isReferable }
    throw StoreError(
      .predicateInvalid,
      "no \(to.entity(relationship.destination).name) is made of a \(old.name)"
    )
  }

  /// Returns SQL for the number of the new object made from an old object; null if there is no such
  /// new object.
  func translated(_ number: String, of old: Int, within entity: Int) -> String {
    if mapping.isMoved(old) {
      return "(SELECT number FROM \(PreparedTables.made) WHERE family = \(mapping.family(old)) "
        + "AND old = \(number) AND entity IN (\(kinds(entity))))"
    }
    guard let condition = Self.condition("(\(number))", in: remainingRanges(old, within: entity))
    else { return number }
    return "CASE WHEN \(condition) THEN \(number) END"
  }

  /// Returns the numbers, separated by commas, of the concrete entities among an entity and its
  /// descendants.
  func kinds(_ entity: Int) -> String {
    to.entity(entity).familyPosition.concreteEntities.map(String.init).joined(separator: ", ")
  }

  /// Compiles an expression for one or several old objects into a statement that inserts the links.
  private func members(
    _ relationship: RelationshipDescription,
    of entity: EntityDescription,
    _ expression: PredicateExpression,
    _ number: String,
    _ old: EntityDescription,
    _ join: String,
    _ compiler: inout FetchCompiler
  ) throws(StoreError) -> SQLFragment {
    let list: SQLFragment
    let side: ComparedSide
    if compiler.isCollection(expression) {
      let query = try compiler.collection(expression)
      let rows = query.orderedRows
      (list, side) = (
        SQLFragment("(SELECT json_group_array(v) FROM (\(rows.sql)))", rows.values), query.side
      )
    } else {
      let (value, kind) = try compiler.value(expression)
      (list, side) = (SQLFragment("json_array(\(value.sql))", value.values), kind)
    }
    guard case .object(let member) = side else {
      throw StoreError(
        .predicateInvalid,
        "\(relationship.name) references objects, and \(side.words)"
      )
    }
    guard try isReferable(member, relationship, entity) else {
      return SQLFragment("SELECT 1 WHERE 0")
    }
    let target = translated("j.value", of: member.number, within: relationship.destination)
    // A symmetric link has one row, in which the lower number comes first.
    let order = relationship.isSymmetric ? "min(a, b), max(a, b)" : "a, b"
    return SQLFragment(
      "INSERT OR IGNORE INTO \(PreparedTables.links(relationship.name, of: entity))(a, b, place) "
        + "SELECT \(order), place FROM (SELECT x.number AS a, \(target) AS b, j.key AS place "
        + "FROM (SELECT \(number) AS number, \(noted(list).sql) AS list "
        + "FROM \(SQLNames.quoted(old.name)) t\(join)\(compiler.scope(at: 0).joins.sql)) x, "
        + "json_each(x.list) j) WHERE b IS NOT NULL",
      list.values
    )
  }

  /// Adds checks for ambiguous references.
  ///
  /// A reference is ambiguous if several new objects are made from the old target and the
  /// relationship may reference each of them.
  private mutating func checkAmbiguousReferences() {
    for entity in to.entities {
      for relationship in entity.relationships where relationship.owner == entity.number {
        for family in mapping.movedFamilies.sorted() {
          let kinds = from.entity(family).familyPosition.concreteEntities.map { from.entity($0) }
          let hasSeveral = kinds.contains { kind in
            mapping.takers(of: kind).count { to.isKind($0.number, of: relationship.destination) }
              > 1
          }
          guard hasSeveral, isGiven(relationship) || !origins(of: relationship, in: entity).isEmpty
          else { continue }
          check(
            "SELECT count(*) FROM (SELECT old FROM \(PreparedTables.made) WHERE family = \(family) "
              + "AND entity IN (\(self.kinds(relationship.destination))) "
              + "GROUP BY old HAVING count(*) > 1)",
            "\(entity.name).\(relationship.name)",
            "old objects became several objects that it may reference, so that references to them "
              + "have no meaning"
          )
        }
      }
    }
  }
}

extension RelationshipDescription {
  /// Whether the relationship is stored in a column of the objects that have the relationship.
  var isColumn: Bool {
    if case .column = storage { true } else { false }
  }
}
