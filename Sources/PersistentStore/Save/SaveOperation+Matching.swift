import CordialValues
import JSON
import ObjectModel
import PersistentHistory

/// Changes of all objects that match a predicate.
extension SaveOperation {
  /// The objects that a delete by predicate means.
  func matchedForRemoval() throws -> [ObjectKey] {
    guard let fetch = request.deleteMatching else { return [] }
    var keys: [ObjectKey] = []
    try eachMatch(try matches(fetch, [])) { key, _ in keys.append(key) }
    return keys
  }

  private func matches(
    _ fetch: FetchRequest,
    _ expressions: [(AttributeDescription, String)]
  ) throws -> FetchCompiler.Matches {
    let row = try PreparedStatement(
      db,
      "SELECT EXISTS (SELECT 1 FROM cordial_meta WHERE name = 'mayDangle')"
    )
    defer { row.reset() }
    let mayDangle = try row.step() && row.integer(0) != 0
    return try FetchCompiler.matches(fetch, expressions, model: model, mayDangle: mayDangle)
  }

  func eachMatch(
    _ matches: FetchCompiler.Matches,
    _ body: (ObjectKey, PreparedStatement) throws -> Void
  ) throws {
    let rows = try statement(matches.query)
    defer { rows.reset() }
    while try rows.step() {
      try body(model.key(matches.entity.number, rows.integer(0)), rows)
    }
  }

  /// A statement with its values bound.
  func statement(_ query: SQLFragment) throws -> PreparedStatement {
    let statement = try PreparedStatement(db, query.sql)
    for (index, value) in query.values.enumerated() {
      statement.bind(value, at: Int32(index + 1))
    }
    return statement
  }

  /// What an update by predicate sets one attribute to.
  struct Assignment {
    let attribute: AttributeDescription
    /// nil for what is computed.
    var value: AttributeValue?
  }

  /// Carries an update by predicate out.
  ///
  /// Everything is computed before anything is written, so that no object sees what another became.
  ///
  /// - Returns: How many objects matched, and which, in the order of their numbers, where that was
  ///   asked.
  mutating func updateMatching() throws -> (count: Int, keys: [ObjectKey]) {
    guard let update = request.updateMatching else { return (0, []) }
    guard let entity = model.entity(named: update.fetch.entity) else {
      throw StoreError.unknownEntity(update.fetch.entity, in: model)
    }
    let (assignments, links, expressions) = try assignments(update.values, of: entity)
    let matches = try matches(update.fetch, expressions)
    if links.isEmpty, isBulk(assignments, matches) {
      return try updateInBulk(assignments, matches)
    }
    var matched: [(key: ObjectKey, computed: [AttributeValue])] = []
    try eachMatch(matches) { key, row in
      matched.append((key, expressions.indices.map { row.value(Int32($0 + 1)) }))
    }
    for (key, computed) in matched {
      let table = table(key)
      var columns: [(place: Int, value: AttributeValue)] = []
      var next = 0
      for assignment in assignments {
        let place = table.places[assignment.attribute.name] ?? 0
        if let value = assignment.value {
          columns.append((place, value))
        } else {
          if let value = checked(computed[next], assignment.attribute, key) {
            columns.append((place, value))
          }
          next += 1
        }
        if assignment.attribute.name == entity.identity?.name, let column = columns.last,
          column.place == place
        {
          try checkIdentity(column.value, assignment.attribute, key, name(key))
        }
      }
      addDerivedTexts(to: &columns, table)
      if !links.isEmpty {
        let update = SaveRequest.Update(id: name(key), version: nil, values: links)
        columns += try self.columns(of: update, key)
      }
      guard problems.isEmpty else { continue }
      if try write(columns, to: key, name(key), counting: !counted.contains(key)) {
        counted.insert(key)
      }
    }
    return (matched.count, request.wantsIDs ? matched.map(\.key) : [])
  }

  /// What was sent, by how it is carried out: attributes, relationships, and what to compute.
  private mutating func assignments(
    _ values: [JSONMember],
    of entity: EntityDescription
  ) throws -> (
    [Assignment], links: [JSONMember], computed: [(AttributeDescription, String)]
  ) {
    var assignments: [Assignment] = []
    var links: [JSONMember] = []
    var computed: [(AttributeDescription, String)] = []
    for member in values {
      switch entity.property(named: member.name) {
      case .attribute(let attribute):
        guard attribute.derived == nil else {
          problem(entity.name, member.name, "derived", "\(member.name) is kept by the store")
          continue
        }
        if let text = Self.expression(member.value) {
          assignments.append(Assignment(attribute: attribute, value: nil))
          computed.append((attribute, text))
          continue
        }
        switch attribute.decode(member.value) {
        case .value(let value):
          if let violation = attribute.violation(by: value) {
            problem(entity.name, attribute.name, violation.rule, violation.message)
          }
          assignments.append(Assignment(attribute: attribute, value: value))
        case .expected(let what):
          problem(entity.name, member.name, "type", "\(member.name) wants \(what)")
        }
      case .relationship(let relationship):
        guard Self.expression(member.value) == nil else {
          problem(
            entity.name,
            relationship.name,
            "type",
            "\(relationship.name) is a relationship, which no expression makes"
          )
          continue
        }
        links.append(member)
      case nil: throw StoreError.unknownProperty(member.name, of: entity)
      }
    }
    return (assignments, links, computed)
  }

  /// The text of `{"@expression": "…"}`.
  private static func expression(_ value: JSONValue) -> String? {
    guard let members = value.members, members.count == 1, members[0].name == "@expression" else {
      return nil
    }
    return members[0].value.string
  }

  private static func words(_ computed: AttributeValue) -> String {
    if case .double(let number) = computed, !number.isFinite { return "infinity" }
    return StoreError.short(WireValue.json(computed).text)
  }

  /// A computed value as its attribute keeps it; nil where it cannot, which is noted.
  @discardableResult
  mutating func checked(
    _ computed: AttributeValue,
    _ attribute: AttributeDescription,
    _ key: ObjectKey
  ) -> AttributeValue? {
    guard let value = attribute.type.stored(computed)?.finite else {
      problem(
        name(key),
        attribute.name,
        "type",
        "The expression makes \(Self.words(computed)), "
          + "which is no \(attribute.type.rawValue)"
      )
      return nil
    }
    if let violation = attribute.violation(by: value) {
      problem(name(key), attribute.name, violation.rule, violation.message)
      return nil
    }
    return value
  }
}

extension AttributeValue {
  /// The value, nil for a number beyond all that are finite.
  fileprivate var finite: AttributeValue? {
    if case .double(let number) = self, !number.isFinite { nil } else { self }
  }
}

extension AttributeType {
  /// A value as SQLite computed it in the form in which an attribute of this type is stored; nil
  /// where it has none.
  fileprivate func stored(_ computed: AttributeValue) -> AttributeValue? {
    switch (self, computed) {
    case (_, .null): .null
    case (.int16, .integer(let number)): Int16(exactly: number).map { .integer(Int64($0)) }
    case (.int32, .integer(let number)): Int32(exactly: number).map { .integer(Int64($0)) }
    case (.int64, .integer), (.double, .double), (.string, .string): computed
    case (.int16, .double(let number)), (.int32, .double(let number)),
      (.int64, .double(let number)):
      Int64(exactly: number).flatMap { stored(.integer($0)) }
    case (.double, .integer(let number)): Double(exactly: number).map { .double($0) }
    case (.float, .integer(let number)): .double(Double(Float(number)))
    case (.float, .double(let number)): .double(Double(Float(number)))
    case (.decimal, .integer(let number)): .decimal(String(number))
    case (.decimal, .string(let text)): .decimal(text)
    case (.boolean, .integer(let flag)): .boolean(flag != 0)
    case (.date, .integer(let milliseconds)): .date(milliseconds)
    case (.date, .double(let milliseconds)): Int64(exactly: milliseconds).map { .date($0) }
    case (.uuid, .string(let text)): .uuid(text)
    case (.uri, .string(let text)): .uri(text)
    case (.binary, .binary): computed
    case (.json, .string(let text)): .json(text)
    default: nil
    }
  }
}
