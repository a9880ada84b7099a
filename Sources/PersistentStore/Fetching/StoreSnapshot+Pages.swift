package import CordialValues
package import JSON
package import ObjectModel
import PersistentHistory
import SQLite
import StoreLayout

/// A section of a fetch: the objects with one value of the first sort key.
package struct FetchSection: Sendable, Equatable {
  /// The value as stored.
  package let key: StorageKey
  /// The value as JSON.
  package let name: [UInt8]
  /// The number of objects.
  package var count: Int64

  /// Writes sections as `[{"name":…,"offset":…,"count":…}]`.
  package static func write(_ sections: [FetchSection], to writer: inout JSONWriter) {
    var offset: Int64 = 0
    writer.raw("[")
    for section in sections { section.write(at: &offset, to: &writer) }
    writer.raw("]")
  }

  /// Writes the section, and moves the offset to the next section.
  fileprivate func write(at offset: inout Int64, to writer: inout JSONWriter) {
    if offset > 0 { writer.raw(",") }
    writer.raw("{\"name\":")
    writer.raw(name)
    writer.raw(",\"offset\":")
    writer.integer(offset)
    writer.raw(",\"count\":")
    writer.integer(count)
    writer.raw("}")
    offset += count
  }
}

/// Pages, sections, rows of values, and included objects.
extension StoreSnapshot {
  /// Returns the cursor after an object of a fetch.
  ///
  /// - Parameters:
  ///   - plan: The fetch.
  ///   - object: The number of the last object of a page.
  /// - Returns: The value of `after` for the next page; nil when there is no such object.
  /// - Throws: `SQLiteError`.
  package func cursor(_ plan: FetchPlan, after object: Int64) throws -> String? {
    try position(of: object, plan)?.text(of: plan.request, in: reader.facts.identifier)
  }

  /// Returns the sort position of an object of a fetch; nil when there is no such object.
  func position(of object: Int64, _ plan: FetchPlan) throws -> FetchCursor? {
    let row = try statement(plan.keysSQL)
    defer { row.reset() }
    row.bind(object, at: 1)
    guard try row.step() else { return nil }
    let keys = plan.neighbors.keys.indices.map { row.value(Int32($0)) }
    return FetchCursor(keys: keys, object: object)
  }

  /// Returns the sections of the whole result of a fetch, in its order.
  ///
  /// - Parameter plan: A fetch with sections.
  /// - Returns: The sections.
  /// - Throws: `SQLiteError`.
  package func sections(_ plan: FetchPlan) throws -> [FetchSection] {
    var found: [FetchSection] = []
    if let sections = plan.sections {
      try eachSection(sections, plan.wholeValues) { found.append($0) }
    }
    return found
  }

  /// Writes the sections of the whole result of a fetch as `[{"name":…,"offset":…,"count":…}]`.
  ///
  /// - Parameters:
  ///   - plan: A fetch with sections.
  ///   - bytesMax: The maximum length of the writer's bytes.
  ///   - writer: The writer of the response.
  /// - Throws: `limitExceeded`; `SQLiteError`.
  package func writeSections(
    _ plan: FetchPlan,
    bytesMax: Int,
    to writer: inout JSONWriter
  ) throws {
    guard let sections = plan.sections else { return }
    try writeSections(sections, plan.wholeValues, bytesMax: bytesMax, to: &writer)
  }

  private func writeSections(
    _ sections: (sql: String, form: ColumnForm),
    _ values: [AttributeValue],
    bytesMax: Int,
    to writer: inout JSONWriter
  ) throws {
    var offset: Int64 = 0
    writer.raw("[")
    try eachSection(sections, values) { section in
      section.write(at: &offset, to: &writer)
      try Self.check(writer, bytesMax)
    }
    writer.raw("]")
  }

  private func eachSection(
    _ sections: (sql: String, form: ColumnForm),
    _ values: [AttributeValue],
    _ body: (FetchSection) throws -> Void
  ) throws {
    let rows = try statement(sections.sql)
    defer { rows.reset() }
    for (index, value) in values.enumerated() { rows.bind(value, at: Int32(index + 1)) }
    while try rows.step() {
      var name = JSONWriter()
      sections.form.write(rows, 0, in: model, to: &name)
      try body(
        FetchSection(key: StorageKey(rows.value(0)), name: name.bytes, count: rows.integer(1))
      )
    }
  }

  /// Writes rows of values as `[{"name":value}]`.
  ///
  /// - Parameters:
  ///   - request: The request.
  ///   - bytesMax: The maximum length of the writer's bytes.
  ///   - writer: The writer of the response.
  /// - Returns: The value of `after` for the next page; nil if no more rows follow.
  /// - Throws: As `plan(_:)`; `limitExceeded`; `SQLiteError`.
  @discardableResult
  package func writeValues(
    _ request: FetchRequest,
    bytesMax: Int,
    to writer: inout JSONWriter
  ) throws -> String? {
    let plan = try valuesPlan(request)
    // One extra row shows whether more rows follow.
    let limit = plan.limit.map { $0 + 1 }
    let rows = try bound(plan.sql, plan.values, limit: limit, offset: plan.offset)
    defer { rows.reset() }
    // SQLite always sorts groups and distinct rows, so that an index could not avoid the sort.
    let timer = plan.isOfObjects ? reader.timer(of: request, plan.sql, rows) : nil
    let form = RowForm(plan)
    var count = 0
    var last: [AttributeValue] = []
    writer.raw("[")
    while try rows.step() {
      try timer?.stop()
      if count == plan.limit {
        writer.raw("]")
        return try cursor(of: request, plan, after: last)
      }
      if count > 0 { writer.raw(",") }
      count += 1
      if count == plan.limit {
        let places = plan.isOfObjects ? 1 : plan.cursorKeys
        last = (0..<places).map { rows.value(Int32(plan.columns.count + $0)) }
      }
      writer.splitIfLong()
      form.write(rows, in: model, to: &writer)
      try Self.check(writer, bytesMax)
    }
    writer.raw("]")
    return nil
  }

  /// Calls a body with the rows of values of a request, in its order and window.
  ///
  /// - Parameters:
  ///   - plan: The plan of the request.
  ///   - body: Called with a function that writes the row.
  /// - Throws: `SQLiteError`; the errors of the body.
  package func eachRow(
    of plan: ValuesPlan,
    _ body: ((inout JSONWriter) -> Void) throws -> Void
  ) throws {
    let rows = try bound(plan.sql, plan.values, limit: plan.limit, offset: plan.offset)
    defer { rows.reset() }
    let form = RowForm(plan)
    while try rows.step() {
      try body { form.write(rows, in: model, to: &$0) }
    }
  }

  /// The JSON texts before, between and after a row's values.
  private struct RowForm {
    let plan: ValuesPlan
    let heads: [String]
    let end: String

    init(_ plan: ValuesPlan) {
      var names = NestedNames()
      self.plan = plan
      heads = plan.columns.map { names.next($0.path) }
      end = names.end
    }

    func write(_ rows: PreparedStatement, in model: Model, to writer: inout JSONWriter) {
      writer.raw("{")
      for (index, column) in plan.columns.enumerated() {
        writer.raw(string: heads[index])
        column.form.write(rows, Int32(index), in: model, to: &writer)
      }
      writer.raw(string: end)
      writer.raw("}")
    }
  }

  /// Returns the cursor after a row of values; nil if the request does not support cursors.
  private func cursor(
    of request: FetchRequest,
    _ plan: ValuesPlan,
    after last: [AttributeValue]
  ) throws -> String? {
    if plan.isOfObjects {
      guard case .integer(let object)? = last.first else { return nil }
      return try cursor(self.plan(request), after: object)
    }
    guard plan.cursorKeys > 0, !last.isEmpty else { return nil }
    // `Int64.max` follows every object's number, so that only the group's values decide the
    // position.
    return FetchCursor(keys: last, object: .max).text(of: request, in: reader.facts.identifier)
  }

  /// Writes the sections of rows of values, as `writeSections` does.
  ///
  /// - Parameters:
  ///   - request: The request, without a cursor.
  ///   - bytesMax: The maximum length of the writer's bytes.
  ///   - writer: The writer of the response.
  /// - Throws: As `plan(_:)`; `limitExceeded`; `SQLiteError`.
  package func writeValueSections(
    _ request: FetchRequest,
    bytesMax: Int,
    to writer: inout JSONWriter
  ) throws {
    let plan = try valuesPlan(request)
    guard let sections = plan.sections else {
      return try writeSections(self.plan(request), bytesMax: bytesMax, to: &writer)
    }
    try writeSections(sections, plan.values, bytesMax: bytesMax, to: &writer)
  }

  /// Returns the count of a request's rows of values, regardless of its window.
  ///
  /// - Parameter request: The request, without a cursor.
  /// - Returns: The number of rows.
  /// - Throws: As `plan(_:)`; `SQLiteError`.
  package func countValues(_ request: FetchRequest) throws -> Int64 {
    let plan = try valuesPlan(request)
    let row = try statement(plan.countSQL)
    defer { row.reset() }
    for (index, value) in plan.values.enumerated() { row.bind(value, at: Int32(index + 1)) }
    return try row.step() ? row.integer(0) : 0
  }

  /// Returns the plan of a request for rows of values.
  ///
  /// - Parameter request: The request.
  /// - Returns: The plan.
  /// - Throws: As `plan(_:)`.
  package func valuesPlan(_ request: FetchRequest) throws(StoreError) -> ValuesPlan {
    try ValuesPlan.compile(request, in: context, store: reader.facts.identifier)
  }

  /// Writes the objects that relationships reference, as `{"Task/p1":object}`, each object once.
  ///
  /// - Parameters:
  ///   - paths: Key paths of relationships, such as `tasks` and `group.tasks`.
  ///   - entity: The entity at the start of the paths.
  ///   - objects: The objects at the start of the paths.
  ///   - bytesMax: The maximum length of the writer's bytes.
  ///   - writer: The writer of the response.
  ///   - each: Called with the key of each object, the range of the written member in the writer's
  ///     bytes, and the bytes.
  /// - Returns: The number of statements: one for each step of the paths.
  /// - Throws: `unknownProperty`, `limitExceeded`; `SQLiteError`.
  @discardableResult
  package func writeIncluded(
    _ paths: [String],
    of entity: EntityDescription,
    _ objects: [Int64],
    bytesMax: Int,
    to writer: inout JSONWriter,
    each: ((ObjectKey, Range<Int>, [UInt8]) -> Void)? = nil
  ) throws -> Int {
    var written: Set<ObjectKey> = []
    /// The entity and the objects at the end of each path that was already followed.
    var reached: [[String]: (entity: EntityDescription, objects: [Int64])] = [
      []: (entity, objects)
    ]
    var statements = 0
    writer.raw("{")
    for path in paths {
      var prefix: [String] = []
      for name in path.split(separator: ".", omittingEmptySubsequences: false).map(String.init) {
        guard let from = reached[prefix] else { break }
        prefix.append(name)
        guard reached[prefix] == nil else { continue }
        guard case .relationship(let relationship)? = from.entity.property(named: name) else {
          throw StoreError.noRelationship(name, of: from.entity, in: path)
        }
        let destination = model.entity(relationship.destination)
        statements += 1
        reached[prefix] = (
          destination,
          try writeMembers(relationship, of: from, &written, bytesMax, &writer, each)
        )
      }
    }
    writer.raw("}")
    return statements
  }

  /// Writes the objects that a relationship of several objects references, except objects that are
  /// already written.
  ///
  /// - Returns: The numbers of all objects that the relationship references.
  private func writeMembers(
    _ relationship: RelationshipDescription,
    of from: (entity: EntityDescription, objects: [Int64]),
    _ written: inout Set<ObjectKey>,
    _ bytesMax: Int,
    _ writer: inout JSONWriter,
    _ each: ((ObjectKey, Range<Int>, [UInt8]) -> Void)?
  ) throws -> [Int64] {
    let destination = model.entity(relationship.destination)
    let plan =
      try destination.hasDescendants
      ? self.plan(FetchRequest(entity: destination.name)) : plan(of: destination)
    let rows = try statement(
      "\(plan.unwindowedSQL) WHERE \(membersCondition(relationship, from.entity))"
    )
    defer { rows.reset() }
    rows.bind("[" + from.objects.map(String.init).joined(separator: ",") + "]", at: 1)
    var objects: [Int64] = []
    while try rows.step() {
      let object = rows.integer(0)
      objects.append(object)
      guard written.insert(plan.key(object)).inserted else { continue }
      if written.count > 1 { writer.raw(",") }
      writer.splitIfLong()
      let start = writer.bytes.count
      plan.encoder.writeID(rows, to: &writer)
      writer.raw(":")
      plan.encoder.write(rows, to: &writer)
      each?(plan.key(object), start..<writer.bytes.count, writer.bytes)
      try Self.check(writer, bytesMax)
    }
    return objects
  }

  /// Returns the condition that a relationship of some objects references the object `t`; the first
  /// bound value is a JSON list of the owners' numbers.
  private func membersCondition(
    _ relationship: RelationshipDescription,
    _ entity: EntityDescription
  ) -> String {
    let list = "(SELECT value FROM json_each(?1))"
    let links = LinkTable(relationship, in: model)
    // The members' own table has the column of a one-to-many.
    if relationship.storage == .inverseColumn { return "t.\(links.owner) IN \(list)" }
    return "t.\"_id\" IN (\(links.members(of: "IN \(list)")))"
  }
}
