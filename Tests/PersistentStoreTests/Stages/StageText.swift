import CordialValues
import JSON
import ObjectModel
import PersistentStore

/// What the stages hand on, as lines.
struct StageText {
  let layout: SaveLayout
  /// The IDs of new objects.
  private var labels: [ObjectKey: String] = [:]

  init(_ layout: SaveLayout, _ inserts: [(key: ObjectKey, label: String)] = []) {
    self.layout = layout
    for insert in inserts { labels[insert.key] = insert.label }
  }

  func id(_ key: ObjectKey) -> String {
    labels[key] ?? "\(layout.model.entity(key.entity).name)/p\(key.object)"
  }

  private func ids(_ keys: [ObjectKey]) -> String {
    "[" + keys.map(id).joined(separator: ",") + "]"
  }

  // MARK: Columns

  private func column(_ column: Int, _ value: AttributeValue, _ key: ObjectKey) -> String {
    let entity = layout.entity(key)
    let name = entity.columns.first { $0.value == column }?.key ?? "?"
    if let toOne = entity.toOnes.first(where: { $0.column == column })?.relationship,
      case .integer(let number) = value
    {
      return "\(name)=\(id(toOne.target(number)))"
    }
    return "\(name)=\(WireValue.json(value).text)"
  }

  private func columns(_ changes: [ColumnChange], _ key: ObjectKey) -> [String] {
    // A value that is a problem is not written.
    changes.filter { $0.value != .refused }.map { column($0.column, $0.value, key) }
  }

  private func row(_ row: [AttributeValue], _ key: ObjectKey) -> [String] {
    let defaults = layout.entity(key).defaults
    return row.indices.filter { row[$0] != defaults[$0] }.map { column($0, row[$0], key) }
  }

  // MARK: Resolved

  private func link(_ change: RelationshipChange) -> String {
    let name = change.relationship.name
    return switch change.link {
    case .toOne(let target): "\(name)→\(target.map(id) ?? "null")"
    case .members(let members): "\(name)=\(ids(members))"
    case .edit(let add, let remove, let position):
      "\(name)+\(ids(add))-\(ids(remove))" + (position.map { "@\($0)" } ?? "")
    }
  }

  func lines(_ save: ResolvedSave) -> [String] {
    let named = StageText(layout, save.inserts.map { ($0.key, $0.label) })
    return save.inserts.map { insert in
      (["insert \(insert.label)"] + named.row(insert.row, insert.key)
        + insert.links.map(named.link)).joined(separator: " ")
    }
      + save.updates.map { update in
        (["update \(named.id(update.key)) v\(update.version)"]
          + named.columns(update.columns, update.key) + update.links.map(named.link))
          .joined(separator: " ")
      } + save.deletes.map { "delete \(named.id($0.key))" }
  }

  // MARK: Planned

  func lines(_ plan: SavePlan) -> [String] {
    let graph = plan.graph
    let named = StageText(layout, graph.inserts.map { ($0.key, $0.label) })
    var lines = graph.inserts.map { insert in
      (["insert \(insert.label)"] + named.row(insert.row, insert.key)).joined(separator: " ")
    }
    lines += graph.updates.map { update in
      (["update \(named.id(update.key))"] + named.columns(update.columns, update.key))
        .joined(separator: " ")
    }
    lines += graph.deletes.map { "delete \(named.id($0))" }
    lines += graph.links.map { row, isLinked in
      let owningEntity = layout.relationships[row.relationship]
      return (isLinked ? "link " : "unlink ") + named.id(owningEntity.holder(row.source))
        + ".\(owningEntity.name) " + named.id(owningEntity.target(row.target))
    }
    lines += plan.positions.map { change in
      "position \(named.id(change.owner)).\(change.relationship.name) "
        + "\(named.id(change.relationship.target(change.member)))=\(change.position)"
        + (change.joins ? " joins" : "")
    }
    if !plan.increments.isEmpty { lines.append("increment \(named.ids(plan.increments))") }
    return lines
  }

  // MARK: Merged

  func lines(_ merger: SaveMerger) -> [String] {
    let conflicts = merger.conflicts.map { conflict in
      guard !conflict.isWhole else { return "conflict \(conflict.id)" }
      let values = [conflict.base, conflict.store, conflict.client].map(\.text)
      return "conflict \(conflict.id).\(conflict.property ?? "?") "
        + values.joined(separator: " ")
    }
    let merged = merger.merged.map { object in
      let name =
        switch object.id {
        case .object(let key): id(key)
        case .text(let text): text
        }
      let outcome =
        switch object.outcome {
        case .delete(let outcome): "delete=\(outcome.rawValue)"
        case .properties(let properties):
          properties.map { "\($0.name)=\($0.outcome.rawValue)" }.joined(separator: " ")
        }
      return "merged \(name) \(outcome)"
    }
    return conflicts + lines(merger.save) + merged
  }
}
