import CordialValues
import ObjectModel
import StoreLayout

/// Selected values that are identities, or lists of the values at the end of a path over to-manys.
extension FetchCompiler {
  /// Compiles `SELF`, or a path that ends in `objectID`, `entity` or `entity.name`; returns nil for
  /// any other path.
  mutating func identitySelection(
    _ path: PredicateExpression
  ) throws(StoreError) -> (sql: String, form: ColumnForm)? {
    guard case .keyPath(let names, _) = path.form else { return nil }
    let value: Value
    if names.isEmpty {
      value = (SQLFragment("t.\"_id\""), .object(entity))
    } else if let found = try identityPath(names, nil, 0) {
      value = found
    } else {
      return nil
    }
    guard case .object(let entity) = value.side else { return (value.fragment.sql, .string) }
    return (wrapped(value.fragment.sql, of: entity), ColumnForm(referenceTo: entity))
  }

  /// Returns SQL for the protocol name of the object with a given number.
  private func wrapped(_ number: String, of entity: EntityDescription) -> String {
    guard entity.identity != nil else { return number }
    return "(SELECT \(name(of: entity, "d")) FROM \(model.source(entity)) d "
      + "WHERE d.\"_id\" = \(number))"
  }

  /// Compiles a list with one element for each object that a path over to-manys reaches.
  mutating func listExpression(
    _ path: PredicateExpression
  ) throws(StoreError) -> (sql: String, form: ColumnForm) {
    readsJSONTexts = true
    defer { readsJSONTexts = false }
    let query = try collection(path)
    let rows = query.orderedRows.sql
    switch query.side {
    case .object(let entity):
      let isJSON = entity.hasDescendants && entity.identity != nil
      let name = wrapped("v", of: entity)
      return (
        "(SELECT json_group_array(\(isJSON ? "json(\(name))" : name)) FROM (\(rows)))",
        .objects(entity: entity.number)
      )
    case .value(let type, _):
      return (
        "(SELECT '[' || coalesce(group_concat(\(LogTriggers.json("v", type.codec.storage))), '') "
          + "|| ']' FROM (\(rows)))",
        .values(type)
      )
    case .json, .constant:
      return (
        "(SELECT '[' || coalesce(group_concat(coalesce(v, 'null')), '') || ']' FROM (\(rows)))",
        .json
      )
    }
  }
}
