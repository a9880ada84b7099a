import JSON
import ObjectModel
import TestSeeds

/// Expressions of a map, which give an entity's objects values of new attributes.
extension WideMigration {
  /// Adds attributes with expressions to an entity that stays as it is otherwise.
  mutating func mapValues() {
    let entities = model.concrete.filter { entity in
      before.has(entity.number) && !before.entity(entity.number).isAbstract
        && !isClaimed(entity.number) && model.descendants(entity.number).count == 1
        && before.descendants(entity.number).count == 1
        && model.lineage(entity.number).map(\.number) == before.lineage(entity.number).map(\.number)
    }
    guard !entities.isEmpty else { return }
    let entity = random.pick(entities)
    guard claim(entity.number) else { return }
    for _ in 0..<(1 + random.below(3)) { mapValue(entity) }
    // Every object of the entity is written, and a default may count too.
    openVersions.formUnion(names(entity.number))
  }

  private mutating func mapValue(_ entity: WideEntity) {
    let old = before.attributes(entity.number).filter { $0.derived == nil }
    let numbers = old.filter { [.int16, .int32].contains($0.type) }
    let texts = old.filter { $0.type == .string }
    let lists = before.relationships(entity.number).filter(\.toMany)
    switch random.below(6) {
    case 0 where !numbers.isEmpty:
      let source = random.pick(numbers)
      add(entity, .int64, "\(source.name) + 1") {
        $0.number(source.number).map { .integer($0 + 1) }
      }
    case 1 where !numbers.isEmpty:
      let source = random.pick(numbers)
      add(entity, .int32, "TERNARY(\(source.name) == nil, -1, \(source.name))") {
        .integer($0.number(source.number) ?? -1)
      }
    case 2 where !texts.isEmpty:
      let source = random.pick(texts)
      add(entity, .string, source.name) { $0.json(source.number) }
    case 3 where !lists.isEmpty:
      let source = random.pick(lists)
      add(entity, .int64, "\(source.name).@count") {
        .integer(Int64($0.values[source.number]?.names.count ?? 0))
      }
    case 4 where !numbers.isEmpty:
      let source = random.pick(numbers)
      let fails = names(entity.number).contains {
        initial.objects[$0]?.number(source.number) != nil
      }
      guard random.oneIn(3), fails else { return }
      refuse("\(entity.name).\(source.name) is divided by zero")
      add(entity, .int64, "\(source.name) / 0") { _ in nil }
    default: add(entity, .int16, "7") { _ in .integer(7) }
    }
  }

  /// Adds an attribute with an expression, and the value that each object gets by it.
  private mutating func add(
    _ entity: WideEntity,
    _ type: AttributeType,
    _ expression: String,
    _ value: (WideObject) -> JSONValue?
  ) {
    let prefix = random.oneIn(3) ? generator.newName("c") + "." : ""
    let attribute = WideAttribute(
      number: model.newNumber(),
      name: prefix + generator.newName("m"),
      type: type
    )
    guard claim(attribute.number) else { return }
    generator.append(attribute, to: entity.number)
    model.map[entity.number, default: [:]][attribute.number] = expression
    for name in names(entity.number) {
      guard let object = initial.objects[name] else { continue }
      state.objects[name]?.values[attribute.number] = .attribute(value(object) ?? .null)
    }
    note("map \(entity.name).\(attribute.name) from \(expression)")
  }
}

extension WideObject {
  /// The value of an attribute; nil for null.
  fileprivate func json(_ property: Int) -> JSONValue? {
    if case .attribute(let value)? = values[property], !value.isNull { value } else { nil }
  }

  fileprivate func number(_ property: Int) -> Int64? { json(property)?.integer }
}
