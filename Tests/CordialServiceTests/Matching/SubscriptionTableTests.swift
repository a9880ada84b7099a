import CordialService
import CordialValues
import ObjectModel
import TestSeeds
import Testing

/// Random conditions in the table's indexes, against each of them on its own.
@Suite struct `The indexes of the table of subscriptions` {
  // Evidence: P-086d
  @Test(arguments: Seeds.first(100))
  func `find every request that a change concerns`(seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    var table = SubscriptionTable()
    var interests: [Int: Interest] = [:]
    for step in 0..<400 {
      switch random.below(6) {
      case 0...2:
        let number = random.oneIn(8) ? random.below(step + 1) : step
        let condition = Self.condition(&random, depth: 2)
        let interest = Interest.fetch(
          entities: [1],
          Interest.Membership(condition.columns, order: [], condition: condition)
        )
        interests[number] = interest
        table.set(interest, for: number)
      case 3:
        guard let number = interests.keys.sorted().randomElement(using: &random) else { continue }
        interests[number] = nil
        table.remove(number)
      default:
        let (set, rows) = Self.change(&random)
        let found = Dictionary(
          table.verdicts(on: set, rows).map { ($0.number, $0.verdict) },
          uniquingKeysWith: { first, _ in first }
        )
        for (number, interest) in interests {
          let verdict = interest.verdict(on: set, rows)
          try #require(
            (found[number] ?? .unaffected) == verdict,
            "\(interest) \(Seeds.repeating(seed))"
          )
        }
        #expect(found.keys.allSatisfy { interests[$0] != nil })
      }
    }
  }

  /// Lists of most changes are replaced by all changes.
  // Evidence: P-086d
  @Test(arguments: Seeds.first(10))
  func `find every request that a large change set concerns`(seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    var table = SubscriptionTable()
    var interests: [Int: Interest] = [:]
    for number in 0..<60 {
      let condition = Self.condition(&random, depth: 2)
      let isCount = random.oneIn(3)
      let interest = Interest.fetch(
        entities: [1],
        Interest.Membership(
          condition.columns,
          order: [],
          condition: condition,
          ignoresValues: isCount,
          isCount: isCount
        )
      )
      interests[number] = interest
      table.set(interest, for: number)
    }
    table.prepare()
    let (set, rows) = Self.change(&random, objects: 1000)
    let found = Dictionary(uniqueKeysWithValues: table.verdicts(on: set, rows).map { ($0, $1) })
    for (number, interest) in interests {
      try #require(
        (found[number] ?? .unaffected) == interest.verdict(on: set, rows),
        "\(interest) \(Seeds.repeating(seed))"
      )
    }
  }

  // Evidence: P-086d
  @Test func `name few requests of many`() throws {
    var table = SubscriptionTable()
    for number in 0..<1000 {
      let low = Int64(number * 10)
      let condition = RowCondition.all([
        .comparison(column: "n", .greaterOrEqual, .integer(low)),
        .comparison(column: "n", .less, .integer(low + 10)),
      ])
      let membership = Interest.Membership(["n"], order: [], condition: condition)
      table.set(.fetch(entities: [1], membership), for: number)
    }
    let key = ObjectKey(entity: 1, object: 1)
    var set = ChangeSet(from: 0, through: 1)
    set.add(ObjectChange(key: key, kind: .update, properties: ["n"]))
    let row = ChangedRow(
      before: RowValues(["n": .integer(55)]),
      after: RowValues(["n": .integer(7777)])
    )
    #expect(table.verdicts(on: set, [key: row]).map(\.number) == [5, 777])
  }

  /// A dry run asks which requests its changes may concern, without their rows.
  // Evidence: P-121b
  @Test(arguments: Seeds.first(50))
  func `find with a few changes what all of them concern`(seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    var table = SubscriptionTable()
    var counts: Set<Int> = []
    let names = ["a", "b", "c", "d"]
    for number in 0..<40 {
      let entity = random.below(3)
      let read = Set(names.filter { _ in random.oneIn(3) })
      let related = random.oneIn(4) ? [random.below(3): read] : [:]
      if random.oneIn(3) {
        let keys = (0..<3).map { _ in
          ObjectKey(entity: entity, object: Int64(random.below(60)))
        }
        let awaited: Set<Int> = random.oneIn(4) ? [entity] : []
        table.set(.objects(SmallSet(keys), related: related, awaited: awaited), for: number)
        continue
      }
      let isCount = random.oneIn(4)
      if isCount { counts.insert(number) }
      table.set(
        .fetch(
          entities: [entity],
          Interest.Membership(
            read,
            order: Set(read.filter { _ in random.oneIn(2) }),
            condition: random.oneIn(3) ? .constant(true) : Self.condition(&random, depth: 2),
            ignoresValues: random.oneIn(2),
            isCount: isCount
          ),
          related: related
        ),
        for: number
      )
    }
    var set = ChangeSet(from: 0, through: 1)
    let kinds = random.oneIn(2) ? [ObjectChange.Kind.update] : [.insert, .update, .delete]
    for _ in 0..<random.below(200) {
      set.add(
        ObjectChange(
          key: ObjectKey(entity: random.below(3), object: Int64(random.below(100))),
          kind: random.pick(kinds),
          properties: Set(names.filter { _ in random.oneIn(3) })
        )
      )
    }
    let few = table.representatives(of: set)
    #expect(few.changes.allSatisfy { set.changes[$0.key] == $0.value })
    func affected(_ set: ChangeSet, _ limits: VerdictLimits) -> Set<Int> {
      let comparison = ChangeComparison(set, [:], with: table)
      return Set(
        comparison.concerned.filter { comparison.verdict(on: $0, limits) != .unaffected }
          .map(\.number)
      )
    }
    let all = affected(set, VerdictLimits())
    let found = affected(few, VerdictLimits(membersMax: 0, valuesMax: 0))
    // A number stays the same where as many objects enter as leave.
    #expect(all.subtracting(found).isEmpty, "\(Seeds.repeating(seed))")
    #expect(found.subtracting(all).isSubset(of: counts), "\(Seeds.repeating(seed))")
  }

  private static func value(_ random: inout SplitMix64) -> AttributeValue {
    switch random.below(8) {
    case 0: .null
    case 1: .double(Double(random.below(20)) + 0.5)
    case 2: .string(random.pick(["a", "b", "c"]))
    default: .integer(Int64(random.below(20)))
    }
  }

  private static func condition(_ random: inout SplitMix64, depth: Int) -> RowCondition {
    let column = random.pick(["a", "b", "c"])
    switch random.below(depth > 0 ? 9 : 5) {
    case 0: return .comparison(column: column, .equal, value(&random))
    case 1, 2:
      let sign = random.pick([
        RowCondition.Operator.less, .lessOrEqual, .greater, .greaterOrEqual, .notEqual,
      ])
      return .comparison(column: column, sign, value(&random))
    case 3: return .between(column: column, value(&random), value(&random))
    case 4:
      let keys = (0..<1 + random.below(3)).map { _ in StorageKey(.integer(Int64(random.below(20))))
      }
      return .oneOf(column: column, Set(keys))
    case 5: return .not(condition(&random, depth: depth - 1))
    case 6, 7:
      return .all((0..<1 + random.below(3)).map { _ in condition(&random, depth: depth - 1) })
    default:
      return .any((0..<1 + random.below(3)).map { _ in condition(&random, depth: depth - 1) })
    }
  }

  private static func change(
    _ random: inout SplitMix64,
    objects: Int? = nil
  ) -> (ChangeSet, [ObjectKey: ChangedRow]) {
    var set = ChangeSet(from: 0, through: 1)
    var rows: [ObjectKey: ChangedRow] = [:]
    for object in 0..<(objects ?? 1 + random.below(3)) {
      let key = ObjectKey(entity: 1, object: Int64(object))
      let columns = ["a", "b", "c"]
      func row() -> RowValues {
        RowValues(Dictionary(uniqueKeysWithValues: columns.map { ($0, value(&random)) }))
      }
      let kind = random.pick([ObjectChange.Kind.insert, .update, .delete])
      set.add(ObjectChange(key: key, kind: kind, properties: Set(columns)))
      rows[key] = ChangedRow(
        before: kind == .insert ? nil : row(),
        after: kind == .delete ? nil : row()
      )
    }
    return (set, rows)
  }
}
