import CordialValues
import JSON
import ObjectModel
import PersistentHistory
import SQLite
import StoreLayout

/// The selected values of a fetch.
extension FetchCompiler {
  /// The maximum number of selected values of a fetch; SQLite returns at most 2,000 columns.
  private static let selectionMax = 1000

  /// Returns the selected values; fails for a value that differs between the members of a group.
  mutating func selection(
    _ request: FetchRequest,
    grouped: Bool = false
  ) throws(StoreError)
    -> [(sql: String, column: SelectedColumn)]
  {
    guard request.select?.count ?? 0 <= Self.selectionMax else {
      throw Self.tooMany("select", Self.selectionMax, "selected values")
    }
    let wanted =
      request.select
      ?? entity.attributes.map { .init(name: $0.name, path: $0.name) }
      + entity.relationships.filter { !$0.toMany }.map { .init(name: $0.name, path: $0.name) }
    var columns: [(sql: String, column: SelectedColumn)] = []
    var expanded: [(FetchRequest.Selection, path: [String])] = []
    for selection in wanted {
      expanded += try members(of: selection, isDefault: request.select == nil)
    }
    for (selection, path) in expanded {
      reads.begin(.value(selection.name))
      guard !grouped || selection.path.hasPrefix("@") || request.groupBy.contains(selection.path)
      else {
        throw StoreError(
          .invalidRequest,
          "\(selection.path) is no aggregate and not in groupBy, so its values differ in a group"
        )
      }
      let (sql, form) = try expression(selection, grouped: grouped)
      columns.append(
        (sql, SelectedColumn(name: selection.name, path: path, form: form))
      )
    }
    guard request.select == nil || columns.count <= Self.selectionMax else {
      throw Self.tooMany("select", Self.selectionMax, "selected values")
    }
    if isWide(request) { columns += descendantColumns() }
    return columns
  }

  /// Returns the attributes of a selected composite, each with its path in the response; returns
  /// any other selection unchanged.
  private func members(
    of selection: FetchRequest.Selection,
    isDefault: Bool
  ) throws(StoreError) -> [(FetchRequest.Selection, path: [String])] {
    func names(_ path: String) -> [String] {
      path.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
    }
    guard !isDefault else { return [(selection, names(selection.path))] }
    guard let (composite, owner) = composite(at: names(selection.path), from: entity) else {
      return [(selection, [selection.name])]
    }
    guard selection.fallback == nil else {
      throw StoreError(.invalidRequest, "\(selection.path) is a composite and has no default")
    }
    return owner.attributes(of: composite).map { attribute in
      let member = String(attribute.name.dropFirst(composite.name.count + 1))
      let selected = FetchRequest.Selection(
        name: "\(selection.name).\(member)",
        path: "\(selection.path).\(member)"
      )
      return (selected, [selection.name] + names(member))
    }
  }

  private mutating func expression(
    _ selection: FetchRequest.Selection,
    grouped: Bool
  ) throws(StoreError)
    -> (sql: String, form: ColumnForm)
  {
    let names = selection.path.split(separator: ".", omittingEmptySubsequences: false)
      .map(String.init)
    if let index = names.firstIndex(where: { $0.hasPrefix("@") }) {
      return try aggregateExpression(selection, names, index, grouped: grouped)
    }
    let path = PredicateExpression(
      form: .keyPath(names == ["SELF"] ? [] : names, variable: nil),
      offset: 0
    )
    if let value = try identitySelection(path) { return value }
    if let (_, _, rest) = split(path), !rest.names.isEmpty {
      guard selection.fallback == nil else {
        throw StoreError(.invalidRequest, "\(selection.path) is a list and has no default")
      }
      return try listExpression(path)
    }
    let end = try resolve(names)
    if selection.fallback != nil, !end.property.isAttribute || !end.inside.isEmpty {
      throw StoreError(.invalidRequest, "\(selection.path) is not an attribute and has no default")
    }
    switch end.property {
    case .attribute where !end.inside.isEmpty:
      return (jsonValue(end, asText: true), .json)
    case .attribute(let attribute):
      return try attributeExpression(attribute, end.alias, selection.fallback)
    case .relationship(let relationship) where relationship.toMany:
      noteMembers(relationship, at: end.origin(after: relationship))
      return listExpression(relationship, end.alias)
    case .relationship(let relationship):
      let column = column(end.alias, relationship.name)
      return (toOne(relationship, column: column), reference(relationship))
    }
  }

  /// Compiles an aggregate, such as `tasks.@count` or `tasks.@sum.priority`.
  private mutating func aggregateExpression(
    _ selection: FetchRequest.Selection,
    _ names: [String],
    _ index: Int,
    grouped: Bool
  ) throws(StoreError) -> (sql: String, form: ColumnForm) {
    let path = Array(names[(index + 1)...])
    guard selection.fallback == nil else {
      throw StoreError(.invalidRequest, "\(selection.path) is not an attribute and has no default")
    }
    guard let aggregate = PredicateAggregate(rawValue: String(names[index].dropFirst())),
      index > 0 || grouped, (aggregate == .count) == path.isEmpty
    else {
      throw StoreError(
        .invalidRequest,
        "\(selection.path) is not one of relationship.@count, relationship.@sum.property, @min, "
          + "@max and @avg"
      )
    }
    let value = try aggregateValue(aggregate, of: Array(names[..<index]), from: nil, path)
    return (value.fragment.sql, value.side.form)
  }

  private func attributeExpression(
    _ attribute: AttributeDescription,
    _ alias: String,
    _ fallback: JSONValue?
  ) throws(StoreError) -> (sql: String, form: ColumnForm) {
    let column = column(alias, attribute.name)
    guard let fallback else { return (column, ColumnForm(attribute.type)) }
    guard case .value(let value) = attribute.decode(fallback), let literal = SQLLiteral.text(value)
    else {
      throw StoreError(
        .invalidRequest,
        "The default of \(attribute.name) must be \(attribute.type.codec.expectation)"
      )
    }
    return ("coalesce(\(column), \(literal))", ColumnForm(attribute.type))
  }
}
