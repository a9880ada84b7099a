import CordialService
import CordialValues
import ObjectModel
import TestSeeds
import Testing

private let task = 1
private let group = 2
private let person = 3

private func key(_ entity: Int, _ object: Int64) -> ObjectKey {
  ObjectKey(entity: entity, object: object)
}

private func changes(_ changes: ObjectChange...) -> ChangeSet {
  var set = ChangeSet(from: 0, through: 1)
  for change in changes { set.add(change) }
  return set
}

private func update(_ entity: Int, _ object: Int64, _ properties: String...) -> ObjectChange {
  ObjectChange(key: key(entity, object), kind: .update, properties: Set(properties))
}

private func insert(_ entity: Int, _ object: Int64) -> ObjectChange {
  ObjectChange(key: key(entity, object), kind: .insert)
}

private func delete(_ entity: Int, _ object: Int64) -> ObjectChange {
  ObjectChange(key: key(entity, object), kind: .delete)
}

@Suite struct `What a change set means for a subscription` {
  private func check(
    _ interest: Interest,
    _ set: ChangeSet,
    _ expected: Verdict,
    sourceLocation: SourceLocation = #_sourceLocation
  ) {
    #expect(interest.verdict(on: set) == expected, sourceLocation: sourceLocation)
  }

  @Test func `an object subscription is notified of changes of its objects only`() {
    let interest = Interest.objects([key(task, 1), key(task, 2)])
    check(interest, changes(), .unaffected)
    check(interest, changes(update(task, 1, "title")), .values([key(task, 1)]))
    check(interest, changes(insert(task, 1)), .values([key(task, 1)]))
    check(interest, changes(delete(task, 2)), .values([key(task, 2)]))
    check(interest, changes(update(task, 3, "title"), insert(task, 4)), .unaffected)
    check(interest, changes(update(group, 1, "title")), .unaffected)
    check(
      interest,
      changes(update(task, 1, "a"), update(task, 2, "b"), delete(task, 3), update(group, 2, "c")),
      .values([key(task, 1), key(task, 2)])
    )
  }

  /// Whatever was written of an object counts its version, which every result has.
  @Test func `an object subscription is notified of each version`() {
    let interest = Interest.objects([key(task, 1)])
    check(interest, changes(update(task, 1, "title")), .values([key(task, 1)]))
    check(interest, changes(update(task, 1)), .values([key(task, 1)]))
    check(interest, changes(update(task, 1, ChangeSet.everyProperty)), .values([key(task, 1)]))
    check(interest, changes(delete(task, 1)), .values([key(task, 1)]))
    check(interest, changes(insert(task, 1)), .values([key(task, 1)]))
  }

  @Test func `an insert may create an awaited object of its entity`() {
    let interest = Interest.objects([key(task, 1)], awaited: [group])
    check(interest, changes(insert(group, 3)), .undecided)
    check(interest, changes(update(group, 3, "name")), .unaffected)
    check(interest, changes(delete(group, 3)), .unaffected)
    check(interest, changes(insert(task, 3)), .unaffected)
    check(interest, changes(update(task, 1, "title")), .values([key(task, 1)]))
  }

  @Test func `an object subscription is notified of changes behind its key paths`() {
    let interest = Interest.objects(
      [key(task, 1)],
      related: [group: ["name"]]
    )
    check(interest, changes(update(group, 7, "name")), .undecided)
    check(interest, changes(update(group, 7, ChangeSet.everyProperty)), .undecided)
    check(interest, changes(delete(group, 7)), .undecided)
    check(interest, changes(update(group, 7, "rank")), .unaffected)
    check(interest, changes(update(person, 7, "name")), .unaffected)
  }

  /// A task shows its parent's title: any task's title may be that of a parent.
  @Test func `a key path may return to its own entity`() {
    let objects = Interest.objects(
      [key(task, 1)],
      related: [task: ["title"]]
    )
    check(objects, changes(update(task, 9, "title")), .undecided)
    check(objects, changes(update(task, 9, "parent")), .unaffected)
    check(objects, changes(update(task, 1, "parent")), .values([key(task, 1)]))
    let fetch = Interest.fetch(
      entities: [task],
      Interest.Membership([]),
      related: [task: ["title"]]
    )
    check(fetch, changes(update(task, 9, "title")), .undecided)
    check(fetch, changes(update(task, 9, "due")), .values([key(task, 9)]))
  }

  @Test func `an interest may cover every property`() {
    let fetch = Interest.fetch(
      entities: [task],
      Interest.Membership([]),
      related: [group: [ChangeSet.everyProperty]]
    )
    check(fetch, changes(update(task, 1, "whatever")), .values([key(task, 1)]))
    check(fetch, changes(update(group, 1, "whatever")), .undecided)
    check(fetch, changes(insert(group, 1)), .undecided)
  }

  private let fetch = Interest.fetch(
    entities: [task],
    Interest.Membership(["priority", "group"]),
    related: [group: ["rank", "name"]]
  )

  @Test func `a fetch names the objects that may enter, leave or move`() {
    func members(_ match: Verdict.Match, values: Set<ObjectKey> = []) -> Verdict {
      .members([key(task, 1): match], values: values)
    }
    check(fetch, changes(insert(task, 1)), members(.init(before: false, after: nil)))
    check(fetch, changes(delete(task, 1)), members(.init(before: nil, after: false)))
    let unknown = Verdict.Match(before: nil, after: nil)
    check(fetch, changes(update(task, 1, "priority")), members(unknown))
    check(fetch, changes(update(task, 1, "title", "priority")), members(unknown))
    check(fetch, changes(update(task, 1, ChangeSet.everyProperty)), members(unknown))
    check(
      fetch,
      changes(update(task, 2, "title"), update(task, 1, "group")),
      members(unknown, values: [key(task, 2)])
    )
  }

  @Test func `a count differs by the objects that enter and leave`() {
    let condition = RowCondition.comparison(column: "priority", .less, .integer(3))
    let count = Interest.fetch(
      entities: [task],
      Interest.Membership(
        ["priority"],
        condition: condition,
        ignoresValues: true,
        isCount: true
      )
    )
    func row(_ object: Int64, _ before: Int64, _ after: Int64) -> (ObjectKey, ChangedRow) {
      let (before, after) = (
        RowValues(["priority": .integer(before)]), RowValues(["priority": .integer(after)])
      )
      return (key(task, object), ChangedRow(before: before, after: after))
    }
    let set = changes(
      update(task, 1, "priority"),
      update(task, 2, "priority"),
      update(task, 3, "priority")
    )
    func verdict(_ rows: (ObjectKey, ChangedRow)...) -> Verdict {
      count.verdict(on: set, Dictionary(uniqueKeysWithValues: rows))
    }
    #expect(
      verdict(row(1, 2, 5), row(2, 1, 7), row(3, 5, 0))
        == .count(difference: -1, of: key(task, 1))
    )
    #expect(verdict(row(1, 2, 5), row(2, 7, 1), row(3, 1, 2)) == .unaffected)
    #expect(verdict(row(1, 2, 5), row(2, 7, 1)) == .undecided)
  }

  @Test func `an effect on too many objects is undecided`() {
    let fetch = Interest.fetch(
      entities: [task],
      Interest.Membership(["priority"], condition: .constant(true))
    )
    let table = {
      var table = SubscriptionTable()
      table.set(fetch, for: 1)
      return table
    }()
    func verdict(_ names: String, _ limits: VerdictLimits) -> Verdict? {
      let set = changes(
        update(task, 1, names),
        update(task, 2, names),
        update(task, 3, names)
      )
      let comparison = ChangeComparison(set, [:], with: table)
      return comparison.concerned.first.map { comparison.verdict(on: $0, limits) }
    }
    #expect(verdict("priority", VerdictLimits(membersMax: 2)) == .undecided)
    #expect(verdict("priority", VerdictLimits(membersMax: 3)) != .undecided)
    #expect(verdict("title", VerdictLimits(valuesMax: 2)) == .undecided)
    #expect(verdict("title", VerdictLimits(valuesMax: 3)) != .undecided)
  }

  @Test func `the rows of an object decide whether it matches`() {
    let condition = RowCondition.comparison(column: "priority", .less, .integer(3))
    let fetch = Interest.fetch(
      entities: [task],
      Interest.Membership(["priority", "due"], order: ["due"], condition: condition)
    )
    func check(
      _ before: Int64?,
      _ after: Int64?,
      _ change: ObjectChange,
      _ expected: Verdict,
      sourceLocation: SourceLocation = #_sourceLocation
    ) {
      func row(_ priority: Int64?) -> RowValues? {
        priority.map { RowValues(["priority": .integer($0)]) }
      }
      let rows = [key(task, 1): ChangedRow(before: row(before), after: row(after))]
      #expect(fetch.verdict(on: changes(change), rows) == expected, sourceLocation: sourceLocation)
    }
    func members(_ before: Bool, _ after: Bool) -> Verdict {
      .members([key(task, 1): .init(before: before, after: after)], values: [])
    }
    check(5, 6, update(task, 1, "priority"), .unaffected)
    check(5, 5, update(task, 1, "title"), .unaffected)
    check(nil, 5, insert(task, 1), .unaffected)
    check(5, nil, delete(task, 1), .unaffected)
    check(5, 1, update(task, 1, "priority"), members(false, true))
    check(1, 5, update(task, 1, "priority"), members(true, false))
    check(nil, 1, insert(task, 1), members(false, true))
    check(1, nil, delete(task, 1), members(true, false))
    check(1, 2, update(task, 1, "priority"), .values([key(task, 1)]))
    check(1, 1, update(task, 1, "title"), .values([key(task, 1)]))
    check(1, 1, update(task, 1, "due"), members(true, true))
  }

  @Test func `a fetch with an unchanged sequence is notified of changed values`() {
    check(fetch, changes(update(task, 1, "title")), .values([key(task, 1)]))
    check(
      fetch,
      changes(update(task, 1, "title"), update(task, 2, "title"), update(task, 3, "state")),
      .values([key(task, 1), key(task, 2), key(task, 3)])
    )
    check(fetch, changes(update(task, 1, "state")), .values([key(task, 1)]))
    check(fetch, changes(update(person, 1, "title"), insert(person, 2)), .unaffected)
    check(fetch, changes(), .unaffected)
  }

  /// A related object counts when the fetch reads it: for its order as well as for its values.
  @Test func `a fetch is notified of related objects that it reads`() {
    check(fetch, changes(update(group, 7, "name")), .undecided)
    check(fetch, changes(update(group, 7, "rank")), .undecided)
    check(fetch, changes(update(group, 7, "colour")), .unaffected)
    check(fetch, changes(delete(group, 7)), .undecided)
    let ordered = Interest.fetch(
      entities: [task],
      Interest.Membership([]),
      related: [group: ["rank"]]
    )
    check(ordered, changes(update(group, 7, "rank")), .undecided)
    check(ordered, changes(update(group, 7, "name")), .unaffected)
  }

  @Test func `a fetch names the changed objects at the ends of its paths`() {
    let steps = [RelatedReads.Step(entity: task, relationship: "group")]
    let order = RelatedReads.Path(steps: steps, role: .order)
    let values = RelatedReads.Path(steps: steps, role: .values)
    var reads = RelatedReads()
    reads.insert(["rank"], of: group, at: order)
    reads.insert(["name"], of: group, at: values)
    reads.insert(["age"], of: person, at: nil)
    let fetch = Interest.fetch(
      entities: [task],
      Interest.Membership(["priority", "group"], reads: reads),
      related: [group: ["rank", "name"], person: ["age"]]
    )
    let own = Verdict.values([key(task, 1)])
    func reaching(
      _ paths: [RelatedReads.Path: Set<ObjectKey>],
      own: Verdict = .unaffected
    ) -> Verdict { .reaching(paths, own: own) }
    check(fetch, changes(update(group, 7, "name")), reaching([values: [key(group, 7)]]))
    check(
      fetch,
      changes(update(group, 7, "rank"), update(group, 8, "rank"), update(task, 1, "title")),
      reaching([order: [key(group, 7), key(group, 8)]], own: own)
    )
    check(
      fetch,
      changes(delete(group, 7)),
      reaching([order: [key(group, 7)], values: [key(group, 7)]])
    )
    check(fetch, changes(update(group, 7, "colour"), update(task, 1, "title")), own)
    // No path reaches the persons.
    check(fetch, changes(update(person, 1, "age")), .undecided)
    #expect(fetch.moving(in: changes(update(group, 7, "rank"))) == nil)
    #expect(fetch.moving(in: changes(update(group, 7, "name"))) == [])
  }

  @Test func `a fetch reads its included objects again, and no others`() {
    var reads = RelatedReads()
    reads.included = [group]
    let fetch = Interest.fetch(
      entities: [task],
      Interest.Membership(["group"], reads: reads),
      related: [group: [ChangeSet.everyProperty]]
    )
    check(fetch, changes(update(group, 7, "name")), .reaching([:], own: .unaffected))
    check(fetch, changes(update(person, 7, "name")), .unaffected)
  }
}

/// Tasks in groups, read by a fetch and by ids, before and after a random commit.
@Suite struct `No change is missed` {
  private struct State {
    var tasks: [Int64: (title: Int, priority: Int, group: Int64?)] = [:]
    var groups: [Int64: (name: Int, rank: Int)] = [:]

    /// Tasks of a priority below 3 in a group, by the group's rank, then number.
    var fetched: [(key: ObjectKey, value: [Int])] {
      tasks.compactMap { number, row -> (Int64, Int, [Int])? in
        guard row.priority < 3, let group = row.group.flatMap({ groups[$0] }) else { return nil }
        return (number, group.rank, [row.title, group.name])
      }
      .sorted { ($0.1, $0.0) < ($1.1, $1.0) }
      .map { (ObjectKey(entity: task, object: $0.0), $0.2) }
    }

    /// Titles of three tasks and their groups' names.
    var lookedUp: [[Int]?] {
      (1...3).map { number in
        tasks[number].map { [$0.title, $0.group.flatMap { groups[$0]?.name } ?? -1] }
      }
    }

    /// Names the tasks of changed groups instead of the groups.
    func resolved(_ verdict: Verdict) -> Verdict {
      guard case .reaching(let reached, let own) = verdict else { return verdict }
      var members: [ObjectKey: Verdict.Match] = [:]
      var values: Set<ObjectKey> = []
      switch own {
      case .members(let found, let touched): (members, values) = (found, touched)
      case .values(let touched): values = touched
      default: break
      }
      for (path, groups) in reached {
        for (number, row) in tasks where row.group.map({ groups.contains(key(group, $0)) }) == true
        {
          if path.role == .values {
            values.insert(key(task, number))
          } else {
            members[key(task, number)] = Verdict.Match(before: nil, after: nil)
          }
        }
      }
      return members.isEmpty ? .values(values) : .members(members, values: values)
    }

    mutating func change(_ random: inout SplitMix64) -> ObjectChange {
      let number = Int64(1 + random.below(5))
      if random.oneIn(2) {
        guard var row = tasks[number] else {
          tasks[number] = (random.below(3), random.below(5), random.oneIn(4) ? nil : 1)
          return insert(task, number)
        }
        switch random.below(5) {
        case 0:
          tasks[number] = nil
          return delete(task, number)
        case 1: row.title = random.below(3)
        case 2: row.priority = random.below(5)
        default: row.group = Int64(1 + random.below(3))
        }
        let changed =
          row.title != tasks[number]?.title
          ? "title" : row.priority != tasks[number]?.priority ? "priority" : "group"
        tasks[number] = row
        return update(task, number, changed)
      }
      guard var row = groups[number] else {
        groups[number] = (random.below(3), random.below(3))
        return insert(group, number)
      }
      switch random.below(4) {
      case 0:
        groups[number] = nil
        return delete(group, number)
      case 1:
        row.name = random.below(3)
        groups[number] = row
        return update(group, number, "name")
      default:
        row.rank = random.below(3)
        groups[number] = row
        return update(group, number, "rank")
      }
    }
  }

  private static let reads: RelatedReads = {
    let steps = [RelatedReads.Step(entity: task, relationship: "group")]
    var reads = RelatedReads()
    reads.insert(["rank"], of: group, at: RelatedReads.Path(steps: steps, role: .order))
    reads.insert(["name"], of: group, at: RelatedReads.Path(steps: steps, role: .values))
    return reads
  }()

  private let fetch = Interest.fetch(
    entities: [task],
    Interest.Membership(["priority", "group"], reads: reads),
    related: [group: ["rank", "name"]]
  )
  private let objects = Interest.objects(
    [key(task, 1), key(task, 2), key(task, 3)],
    related: [group: ["name"]]
  )

  @Test(arguments: Seeds.first(50))
  func `a change that alters a result is never judged unaffected`(seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    var state = State()
    for _ in 0..<200 {
      let before = state
      var set = ChangeSet(from: 0, through: 1)
      for _ in 0..<1 + random.below(3) { set.add(state.change(&random)) }

      let (old, new) = (before.fetched, state.fetched)
      switch state.resolved(fetch.verdict(on: set)) {
      case .undecided, .reaching: Issue.record("a path reaches every group that is read")
      case .count: Issue.record("a count of a fetch of objects")
      case .unaffected:
        try #require(old.map(\.key) == new.map(\.key), "\(set); \(Seeds.repeating(seed))")
        try #require(old.map(\.value) == new.map(\.value), "\(set); \(Seeds.repeating(seed))")
      case .members(let members, let values):
        let untouched = old.map(\.key).filter { members[$0] == nil }
        let comment: Comment = "\(set); \(Seeds.repeating(seed))"
        try #require(untouched == new.map(\.key).filter { members[$0] == nil }, comment)
        let known = Dictionary(uniqueKeysWithValues: old.map { ($0.key, $0.value) })
        for row in new where members[row.key] == nil && known[row.key] != row.value {
          try #require(values.contains(row.key), comment)
        }
      case .values(let keys):
        try #require(old.map(\.key) == new.map(\.key), "\(set); \(Seeds.repeating(seed))")
        for (first, second) in zip(old, new) where first.value != second.value {
          try #require(keys.contains(first.key), "\(set); \(Seeds.repeating(seed))")
        }
      }

      let altered = Set((0..<3).filter { before.lookedUp[$0] != state.lookedUp[$0] })
      switch objects.verdict(on: set) {
      case .undecided, .members, .count, .reaching: break
      case .unaffected: try #require(altered.isEmpty, "\(set); \(Seeds.repeating(seed))")
      case .values(let keys):
        let told = Set(keys.map { Int($0.object) - 1 })
        try #require(altered.isSubset(of: told), "\(set); \(Seeds.repeating(seed))")
      }
    }
  }
}

@Suite struct `The table of subscriptions` {
  /// The verdicts other than `unaffected`.
  private func affected(
    _ table: SubscriptionTable,
    _ set: ChangeSet,
    _ rows: [ObjectKey: ChangedRow] = [:]
  ) -> [(number: Int, verdict: Verdict)] {
    table.verdicts(on: set, rows).filter { $0.verdict != .unaffected }
  }

  @Test func `verdicts cover affected subscriptions in the order of their numbers`() {
    var table = SubscriptionTable()
    table.set(.objects([key(task, 1)]), for: 1)
    table.set(.fetch(entities: [task], Interest.Membership(["state"])), for: 2)
    table.set(.objects([key(task, 2)]), for: 3)
    table.set(.objects([key(group, 1)], awaited: [task]), for: 4)
    let verdicts = affected(table, changes(update(task, 1, "state")))
    #expect(verdicts.map(\.number) == [1, 2])
    let unknown = Verdict.Match(before: nil, after: nil)
    #expect(
      verdicts.map(\.verdict) == [
        .values([key(task, 1)]), .members([key(task, 1): unknown], values: []),
      ]
    )
    #expect(affected(table, changes(insert(task, 9))).map(\.number) == [2, 4])
    #expect(affected(table, changes(update(person, 1, "state"))).isEmpty)
    #expect(affected(table, changes()).isEmpty)
    #expect(table.count == 4)
  }

  @Test func `a replaced or removed interest no longer has an effect`() {
    var table = SubscriptionTable()
    table.set(.objects([key(task, 1)], related: [group: ["name"]]), for: 1)
    table.set(.fetch(entities: [group], Interest.Membership([])), for: 2)
    table.set(.objects([key(task, 2)]), for: 1)
    #expect(table.count == 2)
    #expect(affected(table, changes(update(task, 1, "title"))).isEmpty)
    #expect(affected(table, changes(insert(group, 1))).map(\.number) == [2])
    #expect(affected(table, changes(update(task, 2, "title"))).map(\.number) == [1])
    table.remove(1)
    table.remove(1)
    #expect(table.count == 1)
    #expect(affected(table, changes(update(task, 2, "title"))).isEmpty)
    table.remove(2)
    #expect(table.count == 0)
    #expect(affected(table, changes(insert(group, 1))).isEmpty)
  }

  /// The indexes only save work.
  @Test(arguments: Seeds.first(50))
  func `the table returns the verdicts of the single subscriptions`(seed: UInt64) {
    var random = SplitMix64(seed: seed)
    var table = SubscriptionTable()
    var interests: [Int: Interest] = [:]
    for _ in 0..<60 {
      let number = random.below(12)
      if random.oneIn(4) {
        table.remove(number)
        interests[number] = nil
      } else {
        let interest = interest(&random)
        table.set(interest, for: number)
        interests[number] = interest
      }
      var set = ChangeSet(from: 0, through: 1)
      for _ in 0..<random.below(4) {
        set.add(
          ObjectChange(
            key: key(1 + random.below(3), Int64(random.below(4))),
            kind: random.pick([.insert, .update, .update, .delete]),
            properties: [random.pick(["a", "b", "c"])]
          )
        )
      }
      var rows: [ObjectKey: ChangedRow] = [:]
      for change in set.changes.values where random.oneIn(2) {
        func row() -> RowValues {
          RowValues(["a": random.pick(Self.values), "b": random.pick(Self.values)])
        }
        rows[change.key] = ChangedRow(
          before: change.kind == .insert ? nil : row(),
          after: change.kind == .delete ? nil : row()
        )
      }
      let expected = interests.sorted { $0.key < $1.key }
        .map { (number: $0.key, verdict: $0.value.verdict(on: set, rows)) }
        .filter { $0.verdict != .unaffected }
      let verdicts = affected(table, set, rows)
      #expect(verdicts.map(\.number) == expected.map(\.number), "\(Seeds.repeating(seed))")
      #expect(verdicts.map(\.verdict) == expected.map(\.verdict), "\(Seeds.repeating(seed))")
      #expect(table.count == interests.count, "\(Seeds.repeating(seed))")
    }
  }

  private func interest(_ random: inout SplitMix64) -> Interest {
    func names() -> Set<String> {
      Set((0..<random.below(3)).map { _ in random.pick(["a", "b", "c"]) })
    }
    func properties() -> [Int: Set<String>] {
      var read: [Int: Set<String>] = [:]
      for _ in 0..<random.below(3) { read[1 + random.below(3)] = names() }
      return read
    }
    if random.oneIn(2) {
      let keys = (0..<random.below(4)).map { _ in
        key(1 + random.below(3), Int64(random.below(4)))
      }
      let awaited = Set((0..<random.below(2)).map { _ in 1 + random.below(3) })
      return .objects(SmallSet(keys), related: properties(), awaited: awaited)
    }
    let condition = condition(&random, 2)
    return .fetch(
      entities: [1 + random.below(3)],
      Interest.Membership(
        names().union(condition.columns),
        order: names(),
        condition: condition
      ),
      related: properties()
    )
  }

  private static let values: [AttributeValue] = [
    .null, .integer(1), .integer(2), .double(2), .string("x"), .string("X y"),
  ]

  private func condition(_ random: inout SplitMix64, _ depth: Int) -> RowCondition {
    let column = random.pick(["a", "b"])
    func value() -> AttributeValue { random.pick(Self.values) }
    switch random.below(depth > 0 ? 9 : 6) {
    case 0, 1: return .comparison(column: column, .equal, value())
    case 2: return .oneOf(column: column, [StorageKey(value()), StorageKey(value())])
    case 3: return .comparison(column: column, random.pick([.less, .notEqual]), value())
    case 4: return .text(column: column, .contains, folded: "x", flags: 1)
    case 5: return .unknown
    case 6: return .not(condition(&random, depth - 1))
    case 7: return .all((0..<2).map { _ in condition(&random, depth - 1) })
    default: return .any((0..<2).map { _ in condition(&random, depth - 1) })
    }
  }
}
