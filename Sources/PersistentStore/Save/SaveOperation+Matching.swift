import CordialValues
import JSON
import ObjectModel
import PersistentHistory

/// Changes of all objects that match a predicate.
extension SaveOperation {
  /// The objects that a delete by predicate means.
  func matchedForRemoval() throws -> [ObjectKey] {
    guard let fetch = request.deleteMatching else { return [] }
    let compiled = try FetchCompiler.matches(fetch, [], model: model)
    var keys: [ObjectKey] = []
    try eachMatch(compiled) { key, _ in keys.append(key) }
    return keys
  }

  private func eachMatch(
    _ matches: FetchCompiler.Matches,
    _ body: (ObjectKey, PreparedStatement) throws -> Void
  ) throws {
    let rows = try PreparedStatement(db, matches.query.sql)
    defer { rows.reset() }
    for (index, value) in matches.query.values.enumerated() {
      rows.bind(value, at: Int32(index + 1))
    }
    while try rows.step() {
      try body(model.key(matches.entity.number, rows.integer(0)), rows)
    }
  }

  /// What an update by predicate sets one attribute to.
  private struct Assignment {
    let attribute: AttributeDescription
    /// nil for what is computed.
    var value: AttributeValue?
  }

  /// Carries an update by predicate out.
  ///
  /// Everything is computed before anything is written, so that no object sees what another became.
  ///
  /// - Returns: The objects that matched, in the order of their numbers.
  mutating func updateMatching() throws -> [ObjectKey] {
    guard let update = request.updateMatching else { return [] }
    guard let entity = model.entity(named: update.fetch.entity) else {
      throw StoreError.unknownEntity(update.fetch.entity, in: model)
    }
    let (assignments, links, expressions) = try assignments(update.values, of: entity)
    let matches = try FetchCompiler.matches(update.fetch, expressions, model: model)
    var matched: [(key: ObjectKey, computed: [AttributeValue])] = []
    try eachMatch(matches) { key, row in
      matched.append((key, expressions.indices.map { row.value(Int32($0 + 1)) }))
    }
    for (key, computed) in matched {
      var columns: [(place: Int, value: AttributeValue)] = []
      let label = name(key)
      var next = 0
      for assignment in assignments {
        let place = table(key).places[assignment.attribute.name] ?? 0
        if let value = assignment.value {
          columns.append((place, value))
        } else if let value = checked(computed[next], assignment.attribute, label) {
          columns.append((place, value))
        }
        if assignment.value == nil { next += 1 }
        if assignment.attribute.name == entity.identity?.name, let column = columns.last {
          try checkIdentity(column.value, assignment.attribute, key, label)
        }
      }
      addDerivedTexts(to: &columns, table(key))
      if !links.isEmpty {
        let update = SaveRequest.Update(id: label, version: nil, values: links)
        columns += try self.columns(of: update, key)
      }
      guard problems.isEmpty else { continue }
      if try write(columns, to: key, label, counting: !counted.contains(key)) {
        counted.insert(key)
      }
    }
    return matched.map(\.key)
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

  /// A computed value as its attribute keeps it; nil where it cannot, which is noted.
  private mutating func checked(
    _ computed: AttributeValue,
    _ attribute: AttributeDescription,
    _ label: String
  ) -> AttributeValue? {
    guard let value = attribute.type.stored(computed) else {
      problem(
        label,
        attribute.name,
        "type",
        "The expression makes \(StoreError.short(WireValue.json(computed).text)), "
          + "which is no \(attribute.type.rawValue)"
      )
      return nil
    }
    if let violation = attribute.violation(by: value) {
      problem(label, attribute.name, violation.rule, violation.message)
      return nil
    }
    return value
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
    case (.double, .integer(let number)): .double(Double(number))
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
