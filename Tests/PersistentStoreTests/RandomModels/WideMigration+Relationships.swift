import JSON
import TestSeeds

/// Changes of relationships.
extension WideMigration {
  mutating func changeRelationship() {
    guard !model.relationships.isEmpty, !random.oneIn(6) else { return addRelationship() }
    let relationship = random.pick(model.relationships)
    let entity = model.entity(model.owner(relationship.number))
    switch random.below(9) {
    case 8: changeDestination(relationship, of: entity)
    case 0: rename(relationship, of: entity)
    case 1: removeEnd(relationship, of: entity)
    case 2, 3: changeCount(relationship, of: entity)
    case 4: changeOrder(relationship, of: entity)
    case 5: changeOptional(relationship, of: entity)
    case 6: addInverse(relationship, of: entity)
    default: loosen(relationship, of: entity)
    }
  }

  private mutating func addRelationship() {
    let former = Set(model.relationships.map(\.number))
    generator.addRelationship()
    for relationship in model.relationships where !former.contains(relationship.number) {
      _ = claim(relationship.number)
      // The contract does not say what becomes of a minimum that no object can have.
      model.change(relationship: relationship.number) { $0.minimumCount = 0 }
      let owner = model.owner(relationship.number)
      for name in names(owner) { setLinks(relationship, of: name, []) }
      note("add \(model.entity(owner).name).\(relationship.name)")
    }
  }

  private mutating func setLinks(
    _ relationship: WideRelationship,
    of name: WideName,
    _ links: [WideName]
  ) {
    state.objects[name]?.values[relationship.number] =
      relationship.toMany ? .toMany(links) : .toOne(links.first)
  }

  private mutating func rename(_ relationship: WideRelationship, of entity: WideEntity) {
    guard claim(relationship.number) else { return }
    let name = generator.newName("n")
    model.change(relationship: relationship.number) {
      $0.renamedFrom = relationship.name
      $0.name = name
    }
    note("rename \(entity.name).\(relationship.name) to \(name)")
  }

  /// Removes a relationship; its inverse, if it has one, goes too or becomes one-way.
  private mutating func removeEnd(_ relationship: WideRelationship, of entity: WideEntity) {
    let inverse = relationship.isSymmetric ? nil : relationship.inverse.flatMap(model.relationship)
    let numbers = [relationship.number] + (inverse.map { [$0.number] } ?? [])
    guard !numbers.contains(where: { model.isDerivedFrom($0) || isClaimed($0) }),
      !isClaimed(entity.number), inverse.map({ !isClaimed(model.owner($0.number)) }) ?? true
    else { return }
    for number in numbers { _ = claim(number) }
    for number in Set(numbers.map(model.owner)) { _ = claim(number) }
    if let inverse, random.oneIn(2) {
      // The links remain at the other end.
      drop(relationship.number)
      model.change(relationship: inverse.number) { $0.inverse = nil }
      return note("remove \(entity.name).\(relationship.name), but not its inverse")
    }
    let isNamed = !random.oneIn(4)
    if !isNamed, hasData(relationship.number) {
      refuseLoss("\(entity.name).\(relationship.name) has links and is not named")
    }
    for number in numbers {
      let name = "\(model.entity(model.owner(number)).name).\(model.name(number))"
      if isNamed { model.removed.append(name) }
      note("remove \(name)\(isNamed ? "" : " without naming it")")
    }
    for number in numbers { drop(number) }
  }

  private mutating func changeCount(_ relationship: WideRelationship, of entity: WideEntity) {
    guard !relationship.isSymmetric, !model.isDerivedFrom(relationship.number),
      relationship.inverse.map({ !isClaimed($0) }) ?? true, claim(relationship.number)
    else { return }
    if let inverse = relationship.inverse { _ = claim(inverse) }
    let toMany = !relationship.toMany
    // The sets that name a to-one have no column for a to-many.
    for index in model.entities.indices where toMany {
      model.entities[index].unique.removeAll { $0.contains(relationship.number) }
      model.entities[index].indexes.removeAll {
        $0.contains { $0.property == relationship.number }
      }
    }
    model.change(relationship: relationship.number) {
      $0.toMany = toMany
      $0.ordered = false
      $0.minimumCount = 0
      $0.maximumCount = nil
      $0.optional = true
    }
    for name in names(entity.number) {
      let links = links(relationship.number, of: name)
      if !toMany, links.count > 1 { refuse("\(name).\(relationship.name) has several") }
      state.objects[name]?.values[relationship.number] =
        toMany ? .toMany(links) : .toOne(links.first)
    }
    note("make \(entity.name).\(relationship.name) a to-\(toMany ? "many" : "one")")
  }

  private mutating func changeOrder(_ relationship: WideRelationship, of entity: WideEntity) {
    guard relationship.toMany, !relationship.isSymmetric, claim(relationship.number) else { return }
    model.change(relationship: relationship.number) { $0.ordered.toggle() }
    openOrders.insert(relationship.number)
    note("order \(entity.name).\(relationship.name): \(!relationship.ordered)")
  }

  private mutating func changeOptional(_ relationship: WideRelationship, of entity: WideEntity) {
    guard !relationship.toMany, claim(relationship.number) else { return }
    model.change(relationship: relationship.number) { $0.optional.toggle() }
    note("make \(entity.name).\(relationship.name) optional: \(!relationship.optional)")
  }

  /// Adds an inverse to a one-way relationship.
  private mutating func addInverse(_ relationship: WideRelationship, of entity: WideEntity) {
    guard relationship.inverse == nil, claim(relationship.number) else { return }
    var inverse = WideRelationship(
      number: model.newNumber(),
      name: generator.newName("r"),
      destination: entity.number,
      toMany: !random.oneIn(3)
    )
    _ = claim(inverse.number)
    inverse.inverse = relationship.number
    inverse.ordered = inverse.toMany && random.oneIn(3)
    if inverse.ordered { openOrders.insert(inverse.number) }
    model.change(relationship: relationship.number) { $0.inverse = inverse.number }
    model.entities[model.index(relationship.destination)].relationships.append(inverse)
    for target in names(relationship.destination) {
      let sources = names(entity.number).filter {
        links(relationship.number, of: $0).contains(target)
      }
      if !inverse.toMany, sources.count > 1 { refuse("\(target).\(inverse.name) has several") }
      setLinks(inverse, of: target, sources)
    }
    note("add the inverse \(inverse.name) of \(entity.name).\(relationship.name)")
  }

  /// Lets a one-way relationship refer to an ancestor of its destination, or to a descendant.
  private mutating func changeDestination(
    _ relationship: WideRelationship,
    of entity: WideEntity
  ) {
    let former = relationship.destination
    let family = model.lineage(former) + model.descendants(former)
    let others = family.filter { $0.number != former && before.has($0.number) }
    guard relationship.inverse == nil, !others.isEmpty,
      !model.isDerivedFrom(relationship.number), claim(relationship.number)
    else { return }
    let next = random.pick(others)
    model.change(relationship: relationship.number) { $0.destination = next.number }
    let kinds = Set(model.kinds(next.number).map(\.number))
    for name in names(entity.number)
    where links(relationship.number, of: name).contains(where: { !kinds.contains($0.entity) }) {
      refuse("\(name).\(relationship.name) refers to objects that are no \(next.name)")
    }
    note("let \(entity.name).\(relationship.name) refer to \(next.name)")
  }

  /// Changes what has no effect on stored links.
  private mutating func loosen(_ relationship: WideRelationship, of entity: WideEntity) {
    guard claim(relationship.number) else { return }
    let rule = random.pick(["nullify", "cascade", "deny"])
    model.change(relationship: relationship.number) {
      $0.minimumCount = 0
      $0.maximumCount = nil
      $0.deleteRule = rule
    }
    note("loosen \(entity.name).\(relationship.name)")
  }
}
