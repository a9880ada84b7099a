import CordialValues
package import JSON
package import ObjectModel
import PersistentHistory
import SQLite
import StoreLayout

/// Pages, sections, rows of values, and what is fetched along.
extension StoreSnapshot {
  /// The cursor behind an object of a fetch.
  ///
  /// - Parameters:
  ///   - plan: The fetch.
  ///   - object: The number of the last object of a page.
  /// - Returns: What a client sends as `after`; nil when there is no such object.
  /// - Throws: `SQLiteError`.
  package func cursor(_ plan: FetchPlan, behind object: Int64) throws -> String? {
    let row = try statement(plan.keysSQL)
    defer { row.reset() }
    row.bind(object, at: 1)
    guard try row.step() else { return nil }
    let keyCount = plan.request.sort.count + (plan.request.sectionBy == nil ? 0 : 1)
    let keys = (0..<keyCount).map { row.value(Int32($0)) }
    return FetchCursor(keys: keys, object: object)
      .text(of: plan.request, in: reader.facts.identifier)
  }

  /// Writes the sections of the whole result of a fetch as `[{"name":…,"offset":…,"count":…}]`.
  ///
  /// - Parameters:
  ///   - plan: A fetch with sections.
  ///   - bytesMax: How long the writer's bytes may become.
  ///   - writer: Where to write.
  /// - Throws: `limitExceeded`; `SQLiteError`.
  package func writeSections(
    _ plan: FetchPlan,
    bytesMax: Int,
    to writer: inout JSONWriter
  ) throws {
    guard let sections = plan.sections else { return }
    let rows = try statement(sections.sql)
    defer { rows.reset() }
    for (index, value) in plan.wholeValues.enumerated() { rows.bind(value, at: Int32(index + 1)) }
    var offset: Int64 = 0
    writer.raw("[")
    while try rows.step() {
      if offset > 0 { writer.raw(",") }
      writer.raw("{\"name\":")
      sections.form.write(rows, 0, in: model, to: &writer)
      writer.raw(",\"offset\":")
      writer.integer(offset)
      writer.raw(",\"count\":")
      writer.integer(rows.integer(1))
      writer.raw("}")
      offset += rows.integer(1)
      try Self.check(writer, bytesMax)
    }
    writer.raw("]")
  }

  /// Writes rows of values as `[{"name":value}]`.
  ///
  /// - Parameters:
  ///   - request: Which ones.
  ///   - bytesMax: How long the writer's bytes may become.
  ///   - writer: Where to write.
  /// - Throws: As `plan(_:)`; `limitExceeded`; `SQLiteError`.
  package func writeValues(
    _ request: FetchRequest,
    bytesMax: Int,
    to writer: inout JSONWriter
  ) throws {
    let plan = try FetchCompiler.valuesPlan(request, model: model, mayDangle: mayDangle)
    let rows = try bound(plan.sql, plan.values, limit: plan.limit, offset: plan.offset)
    defer { rows.reset() }
    var isFirst = true
    writer.raw("[")
    while try rows.step() {
      writer.raw(isFirst ? "{" : ",{")
      isFirst = false
      writer.cutIfLong()
      for (index, column) in plan.columns.enumerated() {
        if index > 0 { writer.raw(",") }
        writer.name(column.name)
        column.form.write(rows, Int32(index), in: model, to: &writer)
      }
      writer.raw("}")
      try Self.check(writer, bytesMax)
    }
    writer.raw("]")
  }

  /// Writes what relationships of objects lead to, as `{"Task/p1":object}`, each once.
  ///
  /// - Parameters:
  ///   - paths: Key paths of relationships, as `tasks` and `group.tasks`.
  ///   - entity: The entity from which they lead.
  ///   - objects: The objects from which they lead.
  ///   - bytesMax: How long the writer's bytes may become.
  ///   - writer: Where to write.
  /// - Returns: How many statements it took: one for each step of the paths.
  /// - Throws: `unknownProperty`, `limitExceeded`; `SQLiteError`.
  @discardableResult
  package func writeIncluded(
    _ paths: [String],
    of entity: EntityDescription,
    _ objects: [Int64],
    bytesMax: Int,
    to writer: inout JSONWriter
  ) throws -> Int {
    var written: Set<ObjectKey> = []
    /// By path: what it leads to.
    var reached: [[String]: (entity: EntityDescription, objects: [Int64])] = [
      []: (entity, objects)
    ]
    var statements = 0
    writer.raw("{")
    for path in paths {
      var walked: [String] = []
      for name in path.split(separator: ".", omittingEmptySubsequences: false).map(String.init) {
        guard let from = reached[walked] else { break }
        walked.append(name)
        guard reached[walked] == nil else { continue }
        guard case .relationship(let relationship)? = from.entity.property(named: name) else {
          throw StoreError(
            .unknownProperty,
            "\(from.entity.name) has no relationship \(StoreError.short(name)) to include",
            data: [JSONMember("property", .string(StoreError.short(path)))]
          )
        }
        let destination = model.entity(relationship.destination)
        statements += 1
        reached[walked] = (
          destination,
          try writeMembers(relationship, of: from, &written, bytesMax, &writer)
        )
      }
    }
    writer.raw("}")
    return statements
  }

  /// Writes the objects to which a relationship of several objects leads, but for those that were
  /// written already; answers the numbers of all of them.
  private func writeMembers(
    _ relationship: RelationshipDescription,
    of from: (entity: EntityDescription, objects: [Int64]),
    _ written: inout Set<ObjectKey>,
    _ bytesMax: Int,
    _ writer: inout JSONWriter
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
      writer.cutIfLong()
      plan.encoder.writeID(rows, to: &writer)
      writer.raw(":")
      plan.encoder.write(rows, to: &writer)
      try Self.check(writer, bytesMax)
    }
    return objects
  }

  /// The condition that the object `t` is one to which a relationship leads from those whose
  /// numbers stand in a JSON list.
  private func membersCondition(
    _ relationship: RelationshipDescription,
    _ entity: EntityDescription
  ) -> String {
    let list = "(SELECT value FROM json_each(?1))"
    let links = LinkTable(relationship, in: model)
    // The members' own table has the column.
    if relationship.storage == .inverseColumn { return "t.\(links.owner) IN \(list)" }
    return "t.\"_id\" IN (\(links.members(of: "IN \(list)")))"
  }
}
