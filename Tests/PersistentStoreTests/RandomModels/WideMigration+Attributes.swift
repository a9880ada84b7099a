import JSON
import ObjectModel
import TestSeeds

/// Changes of attributes.
extension WideMigration {
  mutating func changeAttribute() {
    let entity = random.pick(model.entities)
    let plain = entity.attributes.filter { $0.derived == nil }
    guard !plain.isEmpty, !random.oneIn(5) else { return addAttribute(entity) }
    let attribute = random.pick(plain)
    switch random.below(15) {
    case 0: rename(attribute, of: entity)
    case 1: passName(of: attribute, to: random.pick(plain), entity)
    case 2: remove(attribute, of: entity)
    case 3...6: changeType(attribute, of: entity)
    case 7, 8: changeOptional(attribute, of: entity)
    case 9: loosen(attribute, of: entity)
    case 10: changeDerived(entity)
    case 11: computeInstead(attribute, of: entity)
    case 12: renameComposite(of: attribute, entity)
    case 13: moveDown(attribute, of: entity)
    default: moveUp(attribute, of: entity)
    }
  }

  private mutating func addAttribute(_ entity: WideEntity) {
    var attribute = generator.attribute()
    // The former name of another property is free.
    let former = entity.attributes.compactMap(\.renamedFrom)
    let taken = model.entities.flatMap(\.attributes).map(\.name)
    if let name = former.first(where: { !taken.contains($0) }), random.oneIn(2) {
      attribute.name = name
    }
    guard claim(attribute.number) else { return }
    generator.append(attribute, to: entity.number)
    fillNew(attribute, names(entity.number))
    note("add \(entity.name).\(attribute.name)")
  }

  /// Gives objects an attribute that is new to them.
  ///
  /// The contract speaks of the defaults of required attributes only. The store fills in those of
  /// optional ones too, which is what a new object would have.
  mutating func fillNew(_ attribute: WideAttribute, _ names: [WideName]) {
    let value = attribute.defaultValue.map { WideDerivedValues.canonical($0, attribute.type) }
    for name in names {
      state.objects[name]?.values[attribute.number] = .attribute(value ?? .null)
    }
  }

  private mutating func rename(_ attribute: WideAttribute, of entity: WideEntity) {
    guard claim(attribute.number) else { return }
    let name = attribute.prefix + generator.newName("n")
    model.change(attribute: attribute.number) {
      $0.renamedFrom = attribute.name
      $0.name = name
    }
    note("rename \(entity.name).\(attribute.name) to \(name)")
  }

  /// Renames an attribute, and gives its name to another; or lets the two exchange their names.
  private mutating func passName(
    of one: WideAttribute,
    to two: WideAttribute,
    _ entity: WideEntity
  ) {
    guard one.number != two.number, one.prefix == two.prefix, claim(one.number, two.number) else {
      return
    }
    let isExchange = random.oneIn(4)
    let name = isExchange ? two.name : one.prefix + generator.newName("n")
    model.change(attribute: one.number) {
      $0.renamedFrom = one.name
      $0.name = name
    }
    model.change(attribute: two.number) {
      $0.renamedFrom = two.name
      $0.name = one.name
    }
    if isExchange { refuse("\(one.name) and \(two.name) exchange their names") }
    note("name \(entity.name).\(two.name) \(one.name), which becomes \(name)")
  }

  private mutating func remove(_ attribute: WideAttribute, of entity: WideEntity) {
    guard !model.isDerivedFrom(attribute.number), entity.identity != attribute.number,
      claim(attribute.number), claim(entity.number)
    else { return }
    let isNamed = !random.oneIn(5)
    if isNamed { model.removed.append("\(entity.name).\(attribute.name)") }
    if !isNamed, hasData(attribute.number) {
      refuseLoss("\(entity.name).\(attribute.name) has values and is not named")
    }
    drop(attribute.number)
    note("remove \(entity.name).\(attribute.name)\(isNamed ? "" : " without naming it")")
  }

  /// Removes a property with the sets that name it, and its values.
  mutating func drop(_ property: Int) {
    for index in model.entities.indices {
      model.entities[index].attributes.removeAll { $0.number == property }
      model.entities[index].relationships.removeAll { $0.number == property }
      model.entities[index].unique.removeAll { $0.contains(property) }
      model.entities[index].indexes.removeAll { $0.contains { $0.property == property } }
    }
    for name in state.objects.keys { state.objects[name]?.values[property] = nil }
  }

  private mutating func changeType(_ attribute: WideAttribute, of entity: WideEntity) {
    var types = WideConversion.targets(of: attribute.type)
    if attribute.type == .string, let spelled = attribute.spelled { types += [spelled, spelled] }
    let isIdentity = entity.identity == attribute.number
    if isIdentity { types.removeAll { ![.string, .int32, .int64, .uuid].contains($0) } }
    let isListed = !types.isEmpty && !random.oneIn(8)
    let others = AttributeType.allCases.filter { $0 != attribute.type && !types.contains($0) }
    guard isListed || !isIdentity, !model.isDerivedFrom(attribute.number),
      claim(attribute.number)
    else { return }
    let type = random.pick(isListed ? types : others)
    model.change(attribute: attribute.number) {
      $0.type = type
      $0.rule = .none
      $0.defaultValue = nil
      $0.isSorted = false
      $0.spelled = nil
    }
    for index in model.entities.indices {
      model.entities[index].indexes.removeAll {
        $0.contains { $0.property == attribute.number && $0.isLocalized }
      }
    }
    note("change \(entity.name).\(attribute.name) from \(attribute.type) to \(type)")
    if random.oneIn(3) {
      let name = attribute.prefix + generator.newName("n")
      model.change(attribute: attribute.number) {
        $0.renamedFrom = attribute.name
        $0.name = name
      }
      note("rename it to \(name)")
    }
    guard isListed else {
      if hasData(attribute.number) {
        refuse("\(attribute.type) does not become \(type)")
      } else {
        leaveOpen("\(attribute.type) does not become \(type), but there are no values")
      }
      return
    }
    for name in names(entity.number) {
      let value = value(attribute.number, of: name)
      guard let converted = WideConversion.convert(value, to: type) else {
        refuse("\(name).\(attribute.name) = \(value.text) does not survive")
        continue
      }
      state.objects[name]?.values[attribute.number] = .attribute(converted)
    }
  }

  private mutating func changeOptional(_ attribute: WideAttribute, of entity: WideEntity) {
    guard entity.identity != attribute.number, claim(attribute.number) else { return }
    let fallback: JSONValue? =
      attribute.optional && !random.oneIn(4) ? generator.defaultValue(attribute) : .none
    model.change(attribute: attribute.number) {
      $0.optional = !attribute.optional
      if attribute.optional { $0.defaultValue = fallback }
    }
    let what = attribute.optional ? "required, default \(fallback?.text ?? "none")" : "optional"
    note("make \(entity.name).\(attribute.name) \(what)")
  }

  /// Drops the rules of an attribute, or changes what has no effect on stored values.
  private mutating func loosen(_ attribute: WideAttribute, of entity: WideEntity) {
    guard claim(attribute.number) else { return }
    model.change(attribute: attribute.number) {
      $0.rule = .none
      $0.defaultValue = nil
      if $0.type == .string { $0.isSorted.toggle() }
    }
    note("loosen \(entity.name).\(attribute.name)")
  }

  /// Adds derived attributes, removes one, or makes a plain attribute derived.
  private mutating func changeDerived(_ entity: WideEntity) {
    let derived = entity.attributes.filter { $0.derived != nil }
    guard let first = derived.first, random.oneIn(2) else {
      generator.addDerived(entity.number)
      return note("derive in \(entity.name)")
    }
    guard claim(first.number) else { return }
    // What is computed is not lost.
    drop(first.number)
    note("remove derived \(entity.name).\(first.name)")
  }
}
