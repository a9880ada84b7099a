package import ObjectModel
package import SQLite
import StoreLayout

/// The statements that update derived values for which triggers are insufficient.
///
/// Triggers cannot compute texts and sort keys, which need ICU, nor sums of decimals and doubles.
/// Triggers may compute wrong values when an external client runs a `REPLACE`.
package final class DerivedValues {
  /// The statements for the values that no trigger updates.
  private let sealed: [String]
  /// The statements for the values that triggers update.
  private let triggered: [String]
  private let texts: [String]
  private let db: SQLiteConnection
  private let triggers: TriggerControl
  /// The compiled statements, by SQL.
  ///
  /// Each statement is compiled at its first use, because SQLite also compiles the triggers of its
  /// table.
  private var compiled: [String: PreparedStatement] = [:]

  /// Prepares the statements of an opened store.
  ///
  /// - Parameters:
  ///   - db: The writer's connection, which has Cordial's SQL functions.
  ///   - model: The store's model.
  ///   - triggers: The runner of the connection's statements.
  package init(_ db: SQLiteConnection, model: Model, triggers: TriggerControl) {
    self.db = db
    self.triggers = triggers
    let schema = DerivedSchema(model)
    var sealed: [String] = []
    var triggered: [String] = []
    var texts: [String] = []
    for (owner, attribute) in schema.derivedAttributes {
      guard let derived = attribute.derived,
        let value = schema.present(derived, of: owner),
        let affected = schema.affected(derived, of: owner)
      else { continue }
      func update(_ condition: String) -> String {
        let column = SQLNames.quoted(attribute.name)
        return "UPDATE \(SQLNames.quoted(owner.name)) SET \(column) = \(value) "
          + "WHERE \(condition) AND \(column) IS NOT \(value)"
      }
      let statement = update("\"_id\" IN (\(affected))")
      if schema.isTriggered(derived, of: owner) {
        triggered.append(statement)
      } else {
        sealed.append(statement)
      }
      if case .text = derived { texts.append(update("1")) }
    }
    for key in SortKeyColumn.all(in: model) {
      sealed.append(key.update(where: "\"_id\" IN (\(Self.logged(key.owner)))"))
      texts.append(key.update(where: "1"))
    }
    self.sealed = sealed
    self.triggered = triggered
    self.texts = texts
  }

  /// Returns SQL for the objects of an entity that were inserted or updated after change `?1`.
  static func logged(_ entity: EntityDescription) -> String {
    "SELECT object FROM cordial_change WHERE number > ?1 AND entity = \(entity.number) "
      + "AND kind IN (0, 1)"
  }

  /// Returns queries for the objects whose derived values are wrong.
  ///
  /// - Parameters:
  ///   - model: The store's model.
  ///   - comparesTexts: Whether this process's ICU version computed the stored texts; texts of
  ///     other versions are not compared.
  /// - Returns: Queries with one column, the object number, each with its entity and property. The
  ///   queries ignore differences in the last digits of doubles, which depend on the order of a
  ///   sum.
  package static func wrongValueQueries(
    in model: Model,
    comparesTexts: Bool
  ) -> [(entity: EntityDescription, property: String, sql: String)] {
    let schema = DerivedSchema(model)
    let keys = (comparesTexts ? SortKeyColumn.all(in: model) : []).map { key in
      (
        key.owner, key.name,
        "SELECT \"_id\" FROM \(SQLNames.quoted(key.owner.name)) WHERE \(key.isWrong)"
      )
    }
    return schema.derivedAttributes.compactMap { owner, attribute in
      guard let derived = attribute.derived, let value = schema.present(derived, of: owner) else {
        return nil
      }
      if case .text = derived, !comparesTexts { return nil }
      let column = SQLNames.quoted(attribute.name)
      var wrong = "\(column) IS NOT \(value)"
      if attribute.type == .double {
        wrong += " AND NOT coalesce(abs(\(column) - \(value)) <= 1e-9 * abs(\(value)), 0)"
      }
      return (
        owner, attribute.name,
        "SELECT \"_id\" FROM \(SQLNames.quoted(owner.name)) WHERE \(wrong)"
      )
    } + keys
  }

  /// Updates the derived values that depend on newly logged changes.
  ///
  /// - Parameters:
  ///   - change: The number of the last change before the new changes.
  ///   - isForeign: Whether an external client made the changes; triggers may then have counted
  ///     changes that did not happen.
  /// - Throws: `SQLiteError`.
  /// - Complexity: Linear in the changes after `change`, and in the members of the changed objects.
  package func refresh(after change: Int64, isForeign: Bool) throws {
    let all = isForeign ? sealed + triggered : sealed
    for sql in all {
      let statement = try statement(sql)
      statement.bind(change, at: 1)
      try triggers.run(statement, triggers: .on)
    }
  }

  /// Recomputes every text that ICU computes, because ICU versions differ in their results.
  ///
  /// - Throws: `SQLiteError`.
  /// - Complexity: Linear in the objects that have such texts.
  package func refreshTexts() throws {
    for sql in texts { try triggers.run(try statement(sql), triggers: .on) }
  }

  private func statement(_ sql: String) throws -> PreparedStatement {
    if let prepared = compiled[sql] { return prepared }
    let prepared = try PreparedStatement(db, sql)
    compiled[sql] = prepared
    return prepared
  }

  /// Returns the statements that recompute every derived value of a store, except times.
  ///
  /// - Parameter model: The store's model.
  /// - Returns: SQL that uses Cordial's SQL functions.
  package static func statements(for model: Model) -> [String] {
    let schema = DerivedSchema(model)
    return schema.derivedAttributes.compactMap { owner, attribute in
      guard let derived = attribute.derived, let value = schema.present(derived, of: owner) else {
        return nil
      }
      let column = SQLNames.quoted(attribute.name)
      return "UPDATE \(SQLNames.quoted(owner.name)) SET \(column) = \(value) "
        + "WHERE \(column) IS NOT \(value)"
    } + SortKeyColumn.all(in: model).map { $0.update(where: "1") }
  }
}

/// A column with the sort keys of a string attribute; triggers do not log this column.
private struct SortKeyColumn {
  let owner: EntityDescription
  /// The name of the column.
  let name: String
  private let value: String

  /// Returns the columns of all tables.
  static func all(in model: Model) -> [SortKeyColumn] {
    model.concreteEntities.flatMap { entity in
      entity.localizedAttributes.map {
        SortKeyColumn(
          owner: entity,
          name: SQLNames.sortKeyColumn($0),
          value: SQLNames.sortKey(of: SQLNames.quoted($0))
        )
      }
    }
  }

  /// SQL for whether the sort key of a row is wrong.
  var isWrong: String { "\(SQLNames.quoted(name)) IS NOT \(value)" }

  /// Returns a statement that computes the sort keys of some rows.
  func update(where condition: String) -> String {
    "UPDATE \(SQLNames.quoted(owner.name)) SET \(SQLNames.quoted(name)) = \(value) "
      + "WHERE \(condition) AND \(isWrong)"
  }
}

extension DerivedSchema {
  /// Returns whether triggers update a derived value.
  func isTriggered(_ derived: DerivedExpression, of owner: EntityDescription) -> Bool {
    switch derived {
    case .count, .path, .now: true
    case .text: false
    case .sum(let name, let summed):
      relationship(name, of: owner).map {
        isSummedStepByStep(summed, model.entity($0.destination))
      } ?? false
    }
  }

  /// Returns SQL for the correct value in the row that a statement updates; nil for a time, which
  /// cannot be recomputed.
  func present(_ derived: DerivedExpression, of owner: EntityDescription) -> String? {
    switch derived {
    case .now: return nil
    case .text(let form, let name):
      let column = SQLNames.quoted(name)
      switch form {
      case .canonical: return "cordial_fold(\(column), 3)"
      case .lowercase: return "cordial_lower(\(column))"
      case .uppercase: return "cordial_upper(\(column))"
      }
    case .count, .sum: return aggregate(derived, of: owner)
    case .path: return value(derived, of: owner, row: SQLNames.quoted(owner.name))
    }
  }

  /// Returns SQL for the object numbers of the owners whose value depends on changes after `?1`.
  func affected(_ derived: DerivedExpression, of owner: EntityDescription) -> String? {
    let own = DerivedValues.logged(owner)
    switch derived {
    case .now: return nil
    case .text: return own
    case .path(let name, _):
      guard let toOne = relationship(name, of: owner) else { return nil }
      let column = SQLNames.quoted(name)
      return "\(own) UNION SELECT \"_id\" FROM \(SQLNames.quoted(owner.name)) "
        + "WHERE \(column) IN (\(changed(toOne.destination)))"
    case .count(let name), .sum(let name, _):
      guard let members = relationship(name, of: owner) else { return nil }
      let changed = changed(members.destination)
      switch members.storage {
      case .column: return nil
      case .inverseColumn:
        let inverse = members.inverse ?? ""
        let column = SQLNames.quoted(inverse)
        let source = model.source(model.entity(members.destination))
        let path = SQLNames.literal("$.\"\(inverse)\"")
        return own
          + " UNION SELECT \(column) FROM \(source) WHERE \"_id\" IN (\(changed))"
          + " UNION SELECT json_extract('{' || substr(before, 2) || '}', \(path)) "
          + "FROM cordial_change WHERE number > ?1 AND kind IN (1, 2) AND before <> '' "
          + "AND entity IN (\(kinds(members.destination)))"
      case .linkTable(let owningEntity, let kept, let owns):
        let (ownLogged, _) = owns ? ("object", "other") : ("other", "object")
        let logged =
          "FROM cordial_change WHERE number > ?1 AND kind IN (3, 4) AND entity = \(owningEntity) "
          + "AND before = \(SQLNames.literal(kept))"
        var numbers =
          own + " UNION SELECT \(ownLogged) \(logged)"
          + " UNION " + LinkTable(members, in: model).owners(of: "IN (\(changed))")
        if members.isSymmetric { numbers += " UNION SELECT other \(logged)" }
        return numbers
      }
    }
  }

  private func kinds(_ entity: Int) -> String {
    model.entity(entity).familyPosition.concreteEntities.map(String.init).joined(separator: ", ")
  }

  /// Returns SQL for the objects of an entity with changes after `?1`.
  private func changed(_ entity: Int) -> String {
    "SELECT object FROM cordial_change WHERE number > ?1 AND kind IN (0, 1, 2) "
      + "AND entity IN (\(kinds(entity)))"
  }
}
