import JSON
import ObjectModel
import TestSeeds

/// Attributes that move to another entity of their family, or that the store computes from now on.
extension WideMigration {
  /// Makes an attribute derived, which loses what clients wrote.
  mutating func computeInstead(_ attribute: WideAttribute, of entity: WideEntity) {
    let texts = model.attributes(entity.number).filter {
      $0.type == .string && $0.derived == nil && $0.number != attribute.number
    }
    guard attribute.type == .string, !attribute.isMember, !texts.isEmpty,
      !model.isUsed(attribute.number),
      !isClaimed(entity.number)
    else { return }
    let text = random.pick(texts)
    guard !isClaimed(text.number), claim(attribute.number, text.number, entity.number) else {
      return
    }
    let form = random.pick(["canonical", "lowercase", "uppercase"])
    let isNamed = !random.oneIn(4)
    if isNamed { model.removed.append("\(entity.name).\(attribute.name)") }
    if !isNamed, hasData(attribute.number) {
      refuseLoss("\(entity.name).\(attribute.name) has values that it would not keep")
    }
    var computed = WideAttribute(number: attribute.number, name: attribute.name, type: .string)
    computed.derived = .form(form, text.number)
    model.change(attribute: attribute.number) { $0 = computed }
    for name in names(entity.number) { state.objects[name]?.values[attribute.number] = nil }
    note("derive \(entity.name).\(attribute.name) from \(text.name)\(isNamed ? "" : " unnamed")")
  }

  /// Moves an attribute to the parent of its entity.
  mutating func moveUp(_ attribute: WideAttribute, of entity: WideEntity) {
    guard let parent = entity.parent, !attribute.isMember, entity.identity != attribute.number,
      !isClaimed(entity.number), !isClaimed(parent), claim(attribute.number)
    else { return }
    model.entities[model.index(entity.number)].attributes.removeAll {
      $0.number == attribute.number
    }
    generator.append(attribute, to: parent)
    let others = names(parent).filter { state.objects[$0]?.values[attribute.number] == nil }
    fillNew(attribute, others)
    openVersions.formUnion(others)
    note("move \(entity.name).\(attribute.name) to \(model.entity(parent).name)")
  }

  /// Moves an attribute to a child of its entity; the objects of other entities lose it.
  mutating func moveDown(_ attribute: WideAttribute, of entity: WideEntity) {
    let children = model.entities.filter { $0.parent == entity.number && !isClaimed($0.number) }
    guard !children.isEmpty, !attribute.isMember, !model.isUsed(attribute.number),
      !isClaimed(entity.number),
      claim(attribute.number)
    else { return }
    let child = random.pick(children)
    let kept = Set(names(child.number))
    let lost = names(entity.number).filter { !kept.contains($0) }
    let hasValues = lost.contains { !value(attribute.number, of: $0).isNull }
    let isNamed = !random.oneIn(4)
    if isNamed { model.removed.append("\(entity.name).\(attribute.name)") }
    if !isNamed, hasValues {
      refuseLoss("\(entity.name).\(attribute.name) has values of other entities")
    }
    _ = claim(entity.number, child.number)
    model.entities[model.index(entity.number)].attributes.removeAll {
      $0.number == attribute.number
    }
    generator.append(attribute, to: child.number)
    for name in lost { state.objects[name]?.values[attribute.number] = nil }
    note("move \(entity.name).\(attribute.name) to \(child.name)\(isNamed ? "" : " unnamed")")
  }
}
