import JSON
import TestSeeds

/// What an external SQLite client writes, as SQL and on plain objects.
struct ExternalWrite {
  let sql: String
  var save: PlainSave
  /// An object whose number the store chooses, with the query for it.
  var inserted: (key: Int, query: String)?

  /// A write that leaves a valid state; nil where there is none.
  static func random(
    _ random: inout SplitMix64,
    _ store: PlainStore,
    _ target: StoreUnderTest
  ) throws -> ExternalWrite? {
    let write: ExternalWrite? =
      switch random.below(7) {
      case 0, 1: update(&random, store)
      case 2: updateToOne(&random, store)
      case 3: insert(&random, store)
      case 4: delete(&random, store)
      case 5 where ModelFeatures.has(.externalReplace): replace(&random, store)
      case 5: update(&random, store)
      default: try link(&random, store, target)
      }
    guard var write else { return nil }
    write.save.end()
    return write.save.problems.isEmpty ? write : nil
  }

  private static func anyObject(_ random: inout SplitMix64, _ store: PlainStore) -> Int? {
    let keys = store.state.objects.keys.sorted()
    return keys.isEmpty ? nil : random.pick(keys)
  }

  private static func literal(_ value: JSONValue) -> String {
    switch value {
    case .string(let text): "'\(text)'"
    case .integer(let number): "\(number)"
    case .bool(let flag): flag ? "1" : "0"
    default: "NULL"
    }
  }

  // MARK: Writes

  private static func update(_ random: inout SplitMix64, _ store: PlainStore) -> ExternalWrite? {
    guard let key = anyObject(&random, store), let object = store.state[key],
      let number = object.number,
      let attribute = store.state.entity(key).stored.first(where: { $0.type.hasPrefix("int") })
    else { return nil }
    guard attribute.name != store.state.entity(key).identity else { return nil }
    let value = JSONValue.integer(random.int(10))
    guard object.values[attribute.name] != value else { return nil }
    var save = PlainSave(store, policy: "error")
    save.state.objects[key]?.values[attribute.name] = value
    let set = "\(attribute.name) = \(literal(value))"
    return ExternalWrite(
      sql: "UPDATE \(object.entity) SET \(set) WHERE _id = \(number)",
      save: save
    )
  }

  /// Another target of the to-one of a one-to-many.
  private static func updateToOne(
    _ random: inout SplitMix64,
    _ store: PlainStore
  ) -> ExternalWrite? {
    guard let key = anyObject(&random, store), let object = store.state[key] else { return nil }
    let toOnes = store.state.entity(key).toOnes.filter { store.model.inverse(of: $0).toMany }
    guard let toOne = toOnes.first, let number = object.number,
      let target = store.state.keys(toOne.destination).last,
      let other = store.state[target]?.number, object.toOnes[toOne.name] != target
    else { return nil }
    var save = PlainSave(store, policy: "error")
    save.link(toOne, of: key, to: target)
    return ExternalWrite(
      sql: "UPDATE \(object.entity) SET \(toOne.name) = \(other) WHERE _id = \(number)",
      save: save
    )
  }

  private static func insert(_ random: inout SplitMix64, _ store: PlainStore) -> ExternalWrite? {
    // In a family an external client has to choose a number of the entity's range.
    let entities = store.model.concrete.filter { entity in
      entity.lineage.count == 1 && store.model.kinds(of: entity.name).count == 1
        && entity.toOnes.allSatisfy(\.optional) && entity.identity == nil
        && store.model.entities.allSatisfy {
          $0.lineage.first != entity.name || $0.name == entity.name
        }
    }
    guard !entities.isEmpty else { return nil }
    let entity = random.pick(entities)
    var object = PlainObject(entity: entity.name)
    for attribute in entity.stored { object.values[attribute.name] = attribute.defaultValue }
    for attribute in entity.stored where attribute.type.hasPrefix("int") {
      object.values[attribute.name] = .integer(random.int(10))
    }
    var save = PlainSave(store, policy: "error")
    let key = save.nextKey
    save.nextKey += 1
    save.state.objects[key] = object
    let names = entity.stored.map(\.name)
    let values = names.map { literal(object.values[$0] ?? .null) }
    let sql =
      "INSERT INTO \(entity.name)(\(names.joined(separator: ", "))) "
      + "VALUES (\(values.joined(separator: ", ")))"
    return ExternalWrite(
      sql: sql,
      save: save,
      inserted: (key, "SELECT max(_id) FROM \(entity.name)")
    )
  }

  /// Deletes an object to which nothing refers, or any object.
  private static func delete(_ random: inout SplitMix64, _ store: PlainStore) -> ExternalWrite? {
    let lonely = store.state.objects.keys.sorted().filter { key in
      store.state.entity(key).relationships.allSatisfy {
        store.state.related($0, of: key).isEmpty
      }
    }
    let anyone = ModelFeatures.has(.danglingReferences) && random.oneIn(2)
    let keys = anyone ? store.state.objects.keys.sorted() : lonely
    guard !keys.isEmpty else { return nil }
    let key = random.pick(keys)
    guard let object = store.state[key], let number = object.number else { return nil }
    var save = PlainSave(store, policy: "error")
    save.state.objects[key] = nil
    return ExternalWrite(sql: "DELETE FROM \(object.entity) WHERE _id = \(number)", save: save)
  }

  /// Replaces a row by one with the same number and another value.
  private static func replace(_ random: inout SplitMix64, _ store: PlainStore) -> ExternalWrite? {
    guard let key = anyObject(&random, store), let object = store.state[key],
      let number = object.number
    else { return nil }
    let entity = store.state.entity(key)
    // The column of an order is not documented for external clients.
    let isPlaced = entity.toOnes.contains { store.model.inverse(of: $0).ordered }
    guard !isPlaced,
      let attribute = entity.stored.first(where: { $0.type.hasPrefix("int") }),
      attribute.name != entity.identity
    else { return nil }
    let value = JSONValue.integer(random.int(10))
    guard object.values[attribute.name] != value else { return nil }
    var save = PlainSave(store, policy: "error")
    save.state.objects[key]?.values[attribute.name] = value
    let names = entity.stored.map(\.name)
    let values = names.map { literal($0 == attribute.name ? value : object.values[$0] ?? .null) }
    let toOnes = entity.toOnes.map { one in
      object.toOnes[one.name].flatMap { store.state[$0]?.number }.map { "\($0)" } ?? "NULL"
    }
    let columns = (["_id"] + names + entity.toOnes.map(\.name)).joined(separator: ", ")
    let row = (["\(number)"] + values + toOnes).joined(separator: ", ")
    return ExternalWrite(
      sql: "INSERT OR REPLACE INTO \(entity.name)(\(columns)) VALUES (\(row))",
      save: save
    )
  }

  /// Makes or removes a link row of an unordered many-to-many.
  private static func link(
    _ random: inout SplitMix64,
    _ store: PlainStore,
    _ target: StoreUnderTest
  ) throws -> ExternalWrite? {
    let tables = try target.rows(
      "SELECT name FROM sqlite_master WHERE type = 'table' AND name LIKE 'cordial_pairs_%'"
    ).sorted()
    guard !tables.isEmpty else { return nil }
    let table = random.pick(tables)
    let parts = table.split(separator: "_").map(String.init)
    guard parts.count == 4, store.model.isKnown(parts[2]),
      let relationship = store.model.entity(parts[2]).relationship(parts[3]),
      !relationship.ordered, !store.model.inverse(of: relationship).ordered,
      relationship.inverse != relationship.name
    else { return nil }
    let sources = store.state.keys(parts[2])
    let targets = store.state.keys(relationship.destination)
    guard !sources.isEmpty, !targets.isEmpty else { return nil }
    let (key, other) = (random.pick(sources), random.pick(targets))
    guard let source = store.state[key]?.number, let end = store.state[other]?.number else {
      return nil
    }
    var save = PlainSave(store, policy: "error")
    let isMember = store.state.related(relationship, of: key).contains(other)
    save.state.pair(relationship, key, other, !isMember)
    let sql =
      isMember
      ? "DELETE FROM \(table) WHERE source = \(source) AND target = \(end)"
      : "INSERT INTO \(table)(source, target) VALUES (\(source), \(end))"
    return ExternalWrite(sql: sql, save: save)
  }
}
