import JSON
import TestSeeds

/// Makes random saves that fit a random model.
///
/// Inserts of new objects keep every rule of the model as far as it can be kept without looking at
/// the store: each entity gets equally many objects, and both ends of what they require are in one
/// save. Updates and deletes may be refused.
struct WideObjects {
  var model: WideModel
  private var values: WideValues
  private var drafts: [Draft] = []

  /// A new object.
  private struct Draft {
    let entity: Int
    let id: String
    var values: [JSONMember] = []
    /// How many members each to-many has.
    var counts: [Int: Int] = [:]
  }

  private typealias Link = (source: Int, target: Int)

  init(_ model: WideModel, seed: UInt64) {
    self.model = model
    values = WideValues(random: SplitMix64(seed: seed &* 104_729))
  }

  private var random: SplitMix64 {
    get { values.random }
    set { values.random = newValue }
  }

  // MARK: Inserts

  /// The inserts of that many objects of each entity, with random values and references.
  mutating func inserts(_ count: Int) -> [JSONValue] {
    drafts = model.concrete.flatMap { entity in
      (1...count).map { Draft(entity: entity.number, id: "\(entity.name)/t\($0)") }
    }
    for index in drafts.indices {
      for attribute in model.attributes(drafts[index].entity) where attribute.derived == nil {
        let isLeftToDefault = (attribute.optional || attribute.defaultValue != nil)
        if isLeftToDefault, !attribute.isDistinct, random.oneIn(6) { continue }
        let value = values.value(of: attribute)
        drafts[index].values.append(JSONMember(attribute.name, value))
      }
    }
    for entity in model.entities {
      for relationship in entity.relationships {
        guard let inverse = relationship.inverse.flatMap(model.relationship) else {
          link(relationship, nil, of: entity.number)
          continue
        }
        if relationship.number <= inverse.number {
          link(relationship, inverse, of: entity.number)
        }
      }
    }
    return drafts.map { ["id": .string($0.id), "values": WideModel.nested($0.values)] }
  }

  private func pool(_ entity: Int) -> [Int] {
    let kinds = Set(model.kinds(entity).map(\.number))
    return drafts.indices.filter { kinds.contains(drafts[$0].entity) }
  }

  private mutating func shuffled(_ pool: [Int]) -> [Int] { pool.shuffled(using: &values.random) }

  /// Links the new objects by a relationship and its inverse, and sends the links from one end.
  private mutating func link(
    _ relationship: WideRelationship,
    _ inverse: WideRelationship?,
    of owner: Int
  ) {
    let sources = shuffled(pool(owner))
    let targets = shuffled(pool(relationship.destination))
    guard !sources.isEmpty, !targets.isEmpty else { return }
    let links: [Link] =
      switch (relationship.toMany, inverse?.toMany) {
      case (false, false?): oneToOne(relationship, inverse, sources, targets)
      case (false, _): manyToOne(relationship, inverse, sources, targets)
      case (true, false?):
        manyToOne(inverse ?? relationship, relationship, targets, sources)
          .map { ($0.target, $0.source) }
      case (true, _): manyToMany(relationship, inverse, sources, targets)
      }
    guard let inverse, random.oneIn(2) else { return send(relationship, links, sources) }
    send(inverse, links.map { ($0.target, $0.source) }, targets)
  }

  private mutating func oneToOne(
    _ one: WideRelationship,
    _ two: WideRelationship?,
    _ sources: [Int],
    _ targets: [Int]
  ) -> [Link] {
    guard !one.isSymmetric else {
      // A pair holds both ways; the last of an odd number is its own.
      return stride(from: 0, to: sources.count, by: 2).filter { _ in
        !one.optional || random.oneIn(2)
      }
      .map { (sources[$0], sources[min($0 + 1, sources.count - 1)]) }
    }
    let isRequired = !one.optional || two?.optional == false
    return zip(sources, targets).filter { _ in isRequired || random.oneIn(2) }
      .map { ($0, $1) }
  }

  private mutating func manyToOne(
    _ one: WideRelationship,
    _ many: WideRelationship?,
    _ sources: [Int],
    _ targets: [Int]
  ) -> [Link] {
    var members: [Int: Int] = [:]
    var links: [Link] = []
    for (place, source) in sources.enumerated() {
      if let many, many.minimumCount > 0, place < targets.count {
        links.append((source, targets[place]))
      } else if !one.optional || !random.oneIn(3) {
        let free = targets.filter { members[$0, default: 0] < many?.maximumCount ?? .max }
        if !free.isEmpty { links.append((source, random.pick(free))) }
      }
      if let last = links.last, last.source == source { members[last.target, default: 0] += 1 }
    }
    return links
  }

  private mutating func manyToMany(
    _ many: WideRelationship,
    _ inverse: WideRelationship?,
    _ sources: [Int],
    _ targets: [Int]
  ) -> [Link] {
    var links: [Link] = []
    var members: [Int: Int] = [:]
    var owners: [Int: Int] = [:]
    func add(_ source: Int, _ target: Int) {
      let isSame = links.contains { link in
        link == (source, target) || (many.isSymmetric && link == (target, source))
      }
      guard !isSame, members[source, default: 0] < many.maximumCount ?? .max,
        owners[target, default: 0] < inverse?.maximumCount ?? .max
      else { return }
      if many.isSymmetric {
        let most = many.maximumCount ?? .max
        guard members[target, default: 0] < most,
          source == target || members[source, default: 0] < most
        else { return }
        if source != target { members[target, default: 0] += 1 }
      }
      members[source, default: 0] += 1
      owners[target, default: 0] += 1
      links.append((source, target))
    }
    if many.minimumCount > 0 {
      for (place, source) in sources.enumerated() { add(source, targets[place % targets.count]) }
    }
    if let inverse, inverse.minimumCount > 0 {
      for (place, target) in targets.enumerated() where owners[target] == nil {
        add(sources[place % sources.count], target)
      }
    }
    for _ in 0..<random.below(2 * sources.count + 1) {
      add(random.pick(sources), random.pick(targets))
    }
    return links
  }

  private mutating func send(_ relationship: WideRelationship, _ links: [Link], _ owners: [Int]) {
    for owner in owners {
      let ids = links.filter { $0.source == owner }.map { JSONValue.string(drafts[$0.target].id) }
      if relationship.toMany {
        if ids.isEmpty, random.oneIn(2) { continue }
        drafts[owner].values.append(JSONMember(relationship.name, .array(ids)))
      } else if let id = ids.first {
        drafts[owner].values.append(JSONMember(relationship.name, id))
      }
    }
  }

  // MARK: Changes of stored objects

  /// A save that changes, deletes and inserts objects, which the store may refuse.
  mutating func change(_ state: WideState) -> JSONValue {
    let names = state.objects.keys.sorted()
    guard !names.isEmpty else { return ["insert": .array(inserts(1))] }
    var updates: [JSONValue] = []
    var named: Set<WideName> = []
    for _ in 0..<(1 + random.below(3)) {
      let name = random.pick(names)
      guard named.insert(name).inserted else { continue }
      updates.append(
        ["id": .string(state.objects[name]?.id ?? ""), "values": update(name.entity, state)]
      )
    }
    var deletes: [JSONValue] = []
    let victim = random.pick(names)
    if random.oneIn(3), named.insert(victim).inserted {
      deletes.append(.string(state.objects[victim]?.id ?? ""))
    }
    return [
      "insert": random.oneIn(4) ? .array(inserts(1)) : [], "update": .array(updates),
      "delete": .array(deletes),
    ]
  }

  private mutating func update(_ entity: Int, _ state: WideState) -> JSONValue {
    var members: [JSONMember] = []
    for attribute in model.attributes(entity)
    where attribute.derived == nil
      && model.lineage(entity).allSatisfy({
        $0.identity != attribute.number
      }) && random.oneIn(2)
    {
      members.append(JSONMember(attribute.name, values.value(of: attribute)))
    }
    for relationship in model.relationships(entity) where random.oneIn(3) {
      let targets = state.names(relationship.destination, model).map {
        JSONValue.string(state.objects[$0]?.id ?? "")
      }
      let some = (0..<random.below(3)).map { _ in targets.isEmpty ? .null : random.pick(targets) }
      let list = some.reduce(into: [JSONValue]()) { list, id in
        if id != .null, !list.contains(id) { list.append(id) }
      }
      if !relationship.toMany {
        if relationship.optional || !list.isEmpty {
          members.append(JSONMember(relationship.name, list.first ?? .null))
        }
      } else if random.oneIn(3) {
        members.append(JSONMember(relationship.name, .array(list)))
      } else {
        let change: JSONValue = random.oneIn(2) ? ["@add": .array(list)] : ["@remove": .array(list)]
        members.append(JSONMember(relationship.name, change))
      }
    }
    return random.oneIn(4) ? .object(members) : WideModel.nested(members)
  }
}
