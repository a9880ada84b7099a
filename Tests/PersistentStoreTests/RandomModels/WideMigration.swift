import JSON
import ObjectModel
import TestSeeds

/// A random next version of a model, and what the contract says of the objects after a migration
/// to it.
///
/// Each change changes the model and the expected objects together. What the contract refuses is
/// noted as a refusal, and what it leaves open as an opening.
struct WideMigration {
  let before: WideModel
  /// The objects that the store has before the migration.
  let initial: WideState
  var generator: WideModelGenerator
  /// The objects that the store has after the migration.
  var state: WideState
  /// Why the store has to refuse the migration (P-117j, P-118a).
  private(set) var refusals: [String] = []
  /// What the contract does not decide: the store may refuse the migration, or not.
  private(set) var openings: [String] = []
  /// The to-manys whose order the contract leaves to the store.
  var openOrders: Set<Int> = []
  /// The objects whose versions the contract leaves to the store.
  var openVersions: Set<WideName> = []
  /// The entities and properties that have changed; each one changes once.
  private var changed: Set<Int> = []
  private(set) var steps: [String] = []
  /// Whether the store looks for names in `removed`; in a chain of versions it does not (P-117j).
  var namesLosses = true

  var model: WideModel {
    get { generator.model }
    set { generator.model = newValue }
  }

  var random: SplitMix64 {
    get { generator.random }
    set { generator.random = newValue }
  }

  /// Begins with a model and the objects of a store.
  init(_ model: WideModel, _ state: WideState, seed: UInt64) {
    before = model
    initial = state
    self.state = state
    var next = model
    next.version += 1
    next.removed = []
    next.map = [:]
    for index in next.entities.indices {
      next.entities[index].renamedFrom = nil
      for place in next.entities[index].attributes.indices {
        next.entities[index].attributes[place].renamedFrom = nil
      }
      for place in next.entities[index].relationships.indices {
        next.entities[index].relationships[place].renamedFrom = nil
      }
    }
    generator = WideModelGenerator(
      next,
      random: SplitMix64(seed: seed &* 15_485_863 &+ UInt64(next.version)),
      names: next.version * 1000
    )
  }

  /// Begins with what another migration leaves, as the next stage of a chain of versions.
  init(after former: WideMigration, seed: UInt64) {
    self.init(former.model, former.state, seed: seed)
    refusals = former.refusals
    openings = former.openings
    openOrders = former.openOrders
    openVersions = former.openVersions
    namesLosses = false
  }

  /// Whether the store has to migrate, and the objects are as expected then.
  var isCertain: Bool { refusals.isEmpty && openings.isEmpty }

  /// Makes some changes.
  mutating func run() {
    for _ in 0..<(1 + random.below(6)) {
      switch random.below(10) {
      case 0...3: changeAttribute()
      case 4...6: changeRelationship()
      case 7: changeSets()
      default: changeEntity()
      }
    }
    if random.oneIn(3) { mapValues() }
    finish()
  }

  // MARK: Notes

  mutating func refuse(_ why: String) { refusals.append(why) }
  mutating func refuseLoss(_ why: String) {
    if namesLosses { refuse(why) }
  }

  mutating func leaveOpen(_ why: String) { openings.append(why) }
  mutating func note(_ step: String) { steps.append(step) }

  /// Notes that parts of the model change; false if one has changed before.
  mutating func claim(_ numbers: Int...) -> Bool {
    guard changed.isDisjoint(with: numbers) else { return false }
    changed.formUnion(numbers)
    return true
  }

  func isClaimed(_ number: Int) -> Bool { changed.contains(number) }

  // MARK: Objects

  /// The objects that have the properties of an entity.
  func names(_ entity: Int) -> [WideName] { state.names(entity, model) }

  func value(_ property: Int, of name: WideName) -> JSONValue {
    guard case .attribute(let value)? = state.objects[name]?.values[property] else { return .null }
    return value
  }

  func links(_ property: Int, of name: WideName) -> [WideName] {
    state.objects[name]?.values[property]?.names ?? []
  }

  /// Whether an object has a value, or refers to another, by a property.
  func hasData(_ property: Int) -> Bool {
    state.objects.values.contains { object in
      switch object.values[property] {
      case .attribute(let value)?: !value.isNull
      case let value?: !value.names.isEmpty
      case nil: false
      }
    }
  }

  // MARK: What holds for the model as a whole

  /// Fills in defaults, computes derived values, and finds what the new model does not allow.
  private mutating func finish() {
    fillDefaults()
    for entity in model.concrete {
      for name in names(entity.number) where name.entity == entity.number {
        for relationship in model.relationships(entity.number)
        where !relationship.toMany && !relationship.optional {
          if links(relationship.number, of: name).isEmpty {
            refuse("\(name).\(relationship.name) is required")
          }
        }
      }
    }
    for entity in model.entities {
      for set in entity.unique + (entity.identity.map { [[$0]] } ?? [])
      where repeats(set, names(entity.number)) {
        refuse("\(entity.name) has a repeated \(set.map(model.name))")
      }
    }
    let former = Set(before.concrete.map(\.number))
    if !model.concrete.contains(where: { former.contains($0.number) }) {
      // P-118a speaks of entities; the store counts those that are not abstract.
      leaveOpen("the models have abstract entities in common at most")
    }
    WideDerivedValues.settle(&state, model)
  }

  private mutating func fillDefaults() {
    for entity in model.concrete {
      for attribute in model.attributes(entity.number)
      where attribute.derived == nil && !attribute.optional {
        for name in names(entity.number) where value(attribute.number, of: name).isNull {
          guard let fallback = attribute.defaultValue, !fallback.isNull else {
            refuse("\(name).\(attribute.name) is required")
            continue
          }
          state.objects[name]?.values[attribute.number] = .attribute(
            WideDerivedValues.canonical(fallback, attribute.type)
          )
          // What is new to an entity has no former value that a default could replace.
          if before.attribute(attribute.number) == nil { continue }
          counted.insert(name)
        }
      }
    }
    for name in counted { state.objects[name]?.version += 1 }
  }

  /// The objects whose version a default increments (P-117c).
  private var counted: Set<WideName> = []

  /// Whether two objects have the same values of a unique set.
  private func repeats(_ set: [Int], _ names: [WideName]) -> Bool {
    var seen: Set<String> = []
    for name in names {
      let values = set.map { (property) -> String? in
        switch state.objects[name]?.values[property] {
        case .attribute(let value)?: return value.isNull ? nil : value.text
        case let value?: return value.names.first?.description
        case nil: return nil
        }
      }
      if values.contains(nil) { continue }
      if !seen.insert(values.compactMap { $0 }.joined(separator: "\u{1}")).inserted { return true }
    }
    return false
  }
}
