import JSON
import ObjectModel
import TestSeeds

/// Changes of entities, and of what an entity says of several properties.
extension WideMigration {
  mutating func changeEntity() {
    let entity = random.pick(model.entities)
    switch random.below(9) {
    case 0, 1: addEntity()
    case 2, 3: rename(entity)
    case 4, 5: remove(entity)
    case 6: addParent(over: entity)
    case 7: changeAbstract(entity)
    default: join(entity)
    }
  }

  private mutating func addEntity() {
    let parent = random.oneIn(2) ? random.pick(model.entities).number : nil
    let number = generator.add(entity: generator.newName("Eel"), parent: parent)
    _ = claim(number)
    let attribute = generator.attribute()
    generator.append(attribute, to: number)
    note(
      "add \(model.entity(number).name)\(parent.map { " under \(model.entity($0).name)" } ?? "")"
    )
  }

  private mutating func rename(_ entity: WideEntity) {
    guard claim(entity.number) else { return }
    let name = generator.newName("Fox")
    let index = model.index(entity.number)
    model.entities[index].renamedFrom = entity.name
    model.entities[index].name = name
    note("rename \(entity.name) to \(name)")
  }

  /// Removes an entity without descendants, and the relationships that refer to it alone.
  private mutating func remove(_ entity: WideEntity) {
    let gone = entity.attributes.map(\.number) + entity.relationships.map(\.number)
    let inward = model.relationships.filter { $0.destination == entity.number }
    let outward = Set(inward.map(\.number)).subtracting(gone)
    let owners = Set(outward.map(model.owner))
    guard model.entities.count > 1, model.descendants(entity.number).count == 1,
      !(gone + outward).contains(where: { model.isDerivedFrom($0) || isClaimed($0) }),
      !owners.contains(where: isClaimed), !isClaimed(entity.number),
      model.entities.contains(where: { $0.number != entity.number && !isClaimed($0.number) })
    else { return }
    for number in gone + outward + owners + [entity.number] { _ = claim(number) }
    let isNamed = !random.oneIn(5)
    let own = names(entity.number)
    if isNamed { model.removed.append(entity.name) }
    if !isNamed, !own.isEmpty { refuseLoss("\(entity.name) has objects and is not named") }
    // Inverses of relationships to an ancestor become one-way, because they are not the entity's.
    for relationship in entity.relationships {
      guard let inverse = relationship.inverse, !gone.contains(inverse),
        !outward.contains(inverse)
      else { continue }
      model.change(relationship: inverse) { $0.inverse = nil }
    }
    for number in outward.sorted() {
      let name = "\(model.entity(model.owner(number)).name).\(model.name(number))"
      if isNamed { model.removed.append(name) }
      if !isNamed, hasData(number) { refuseLoss("\(name) has links and is not named") }
      drop(number)
    }
    for number in gone { drop(number) }
    model.entities.removeAll { $0.number == entity.number }
    for name in own { state.objects[name] = nil }
    forget(Set(own))
    note("remove \(entity.name)\(isNamed ? "" : " without naming it")")
  }

  /// Removes the references to removed objects.
  private mutating func forget(_ names: Set<WideName>) {
    for (name, object) in state.objects {
      for (property, value) in object.values {
        switch value {
        case .toOne(let target?) where names.contains(target):
          state.objects[name]?.values[property] = .toOne(nil)
          openVersions.insert(name)
        case .toMany(let members) where members.contains(where: names.contains):
          state.objects[name]?.values[property] = .toMany(members.filter { !names.contains($0) })
          openVersions.insert(name)
          if (model.relationship(property)?.minimumCount ?? 0) > 0 {
            leaveOpen("\(name) may have too few members")
          }
        default: break
        }
      }
    }
  }

  /// Adds a parent to an entity that has none, with some of its attributes.
  private mutating func addParent(over entity: WideEntity) {
    guard entity.parent == nil, claim(entity.number) else { return }
    let parent = generator.add(entity: generator.newName("Gnu"), parent: nil)
    _ = claim(parent)
    model.entities[model.index(entity.number)].parent = parent
    model.entities[model.index(parent)].isAbstract = random.oneIn(2)
    if random.oneIn(2) {
      let sibling = generator.add(entity: generator.newName("Hen"), parent: parent)
      _ = claim(sibling)
    }
    for attribute in entity.attributes
    where attribute.derived == nil && !attribute.isMember && entity.identity != attribute.number
      && random.oneIn(2)
      && claim(attribute.number)
    {
      model.entities[model.index(entity.number)].attributes.removeAll {
        $0.number == attribute.number
      }
      generator.append(attribute, to: parent)
    }
    note("add the parent \(model.entity(parent).name) of \(entity.name)")
  }

  /// Gives an entity without a family a parent that exists.
  private mutating func join(_ entity: WideEntity) {
    let roots = model.entities.filter { $0.parent == nil && $0.number != entity.number }
    guard entity.parent == nil, !roots.isEmpty else { return }
    let parent = random.pick(roots)
    let identities = [entity, parent].flatMap { model.descendants($0.number) }.filter {
      $0.identity != nil
    }
    guard identities.isEmpty, claim(entity.number, parent.number) else { return }
    // P-118a refuses entities with objects. The store refuses only those whose numbers are in one
    // range, which depends on where the entities were before.
    leaveOpen("\(entity.name) joins \(parent.name)")
    for attribute in model.attributes(parent.number) {
      fillNew(attribute, names(entity.number))
      openVersions.formUnion(names(entity.number))
    }
    for relationship in parent.relationships {
      for name in names(entity.number) {
        state.objects[name]?.values[relationship.number] =
          relationship.toMany ? .toMany([]) : .toOne(nil)
      }
    }
    model.entities[model.index(entity.number)].parent = parent.number
    note("make \(parent.name) the parent of \(entity.name)")
  }

  private mutating func changeAbstract(_ entity: WideEntity) {
    guard claim(entity.number) else { return }
    let isAbstract = !entity.isAbstract
    let own = names(entity.number).filter { $0.entity == entity.number }
    if isAbstract, !own.isEmpty { refuse("\(entity.name) has objects of its own") }
    model.entities[model.index(entity.number)].isAbstract = isAbstract
    note("make \(entity.name) abstract: \(isAbstract)")
  }

  // MARK: Sets

  mutating func changeSets() {
    let entity = random.pick(model.entities)
    let index = model.index(entity.number)
    switch random.below(5) {
    case 0:
      generator.addIndex(entity.number)
      model.entities[model.index(entity.number)].transientCount = random.below(3)
      note("add an index to \(entity.name)")
    case 1:
      model.entities[index].indexes = []
      note("remove the indexes of \(entity.name)")
    case 2:
      model.entities[index].unique = []
      note("remove the unique sets of \(entity.name)")
    case 3:
      guard entity.identity != nil else { return }
      model.entities[index].identity = nil
      note("remove the identity of \(entity.name)")
    default: addUnique(entity)
    }
  }

  /// Makes properties unique whose values may repeat.
  private mutating func addUnique(_ entity: WideEntity) {
    let places = model.attributes(entity.number).filter {
      $0.derived == nil && ![.double, .float, .json, .binary].contains($0.type)
    }
    guard !places.isEmpty else { return }
    let attribute = random.pick(places)
    let identities = model.entities.compactMap(\.identity)
    guard !identities.contains(attribute.number), claim(attribute.number) else { return }
    model.entities[model.index(entity.number)].unique.append([attribute.number])
    model.change(attribute: attribute.number) {
      $0.isDistinct = true
      $0.rule = .none
      $0.spelled = nil
    }
    note("make \(entity.name).\(attribute.name) unique")
  }
}
