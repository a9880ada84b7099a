import ObjectModel
import PersistentHistory

/// Fetches of an entity whose descendants' objects count as its own.
extension FetchCompiler {
  /// Whether the answer has what only some of its objects have: those of the entity's descendants.
  func isWide(_ request: FetchRequest) -> Bool {
    request.select == nil && request.subentities && entity.hasDescendants
  }

  /// How the rows become objects: each as one of its own entity.
  func encoder(_ request: FetchRequest, _ columns: [SelectedColumn]) -> ObjectEncoder {
    guard request.subentities, entity.hasDescendants else {
      return ObjectEncoder(entity: entity, columns: columns, model: model)
    }
    let encoders = entity.place.kinds.map { number in
      let kind = model.entity(number)
      let places = columns.indices.filter { index in
        columns[index].owner.map { model.isKind(number, of: $0) } ?? true
      }
      let own = ObjectEncoder(
        entity: kind,
        columns: places.map { columns[$0] },
        places: places,
        model: model
      )
      return (number, own)
    }
    return ObjectEncoder(
      entity: entity,
      columns: columns,
      model: model,
      kinds: Dictionary(uniqueKeysWithValues: encoders)
    )
  }

  /// What lies behind key paths, under the entities that have objects.
  var relatedKinds: [Int: Set<String>] {
    var kinds: [Int: Set<String>] = [:]
    for (number, properties) in related {
      for kind in model.entity(number).place.kinds {
        kinds[kind, default: []].formUnion(properties)
      }
    }
    return kinds
  }

  /// What the descendants of the fetched entity have of their own.
  mutating func descendantColumns() -> [(sql: String, column: SelectedColumn)] {
    var columns: [(sql: String, column: SelectedColumn)] = []
    for level in model.descendants(of: entity) {
      for name in model.ownColumns(of: level) {
        selecting = name
        note(own: name)
        let column = "t.\(quote("\(level.name).\(name)"))"
        switch level.property(named: name) {
        case .attribute(let attribute):
          let form = ColumnForm(attribute.type)
          columns.append((column, SelectedColumn(name: name, form: form, owner: level.number)))
        case .relationship(let relationship):
          let form = reference(relationship)
          let sql = toOne(relationship, column: column)
          columns.append((sql, SelectedColumn(name: name, form: form, owner: level.number)))
        case nil: continue
        }
      }
    }
    return columns
  }
}
