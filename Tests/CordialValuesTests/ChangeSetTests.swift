import CordialValues
import TestSeeds
import Testing

@Suite struct `A change set combines commits` {
  private static let key = ObjectKey(entity: 1, object: 17)

  private static func change(_ kind: ObjectChange.Kind, _ properties: String...) -> ObjectChange {
    ObjectChange(key: key, kind: kind, properties: Set(properties))
  }

  private static let insert = change(.insert)
  private static let delete = change(.delete)

  private func check(
    _ changes: [ObjectChange],
    _ expected: ObjectChange?,
    sourceLocation: SourceLocation = #_sourceLocation
  ) {
    var set = ChangeSet(from: 3, through: 9)
    for change in changes { set.add(change) }
    #expect(set.changes[Self.key] == expected, sourceLocation: sourceLocation)
    #expect(set.changes.count == (expected == nil ? 0 : 1), sourceLocation: sourceLocation)
  }

  /// Absent to present is an insert, present to absent a delete, present to present an update,
  /// absent to absent nothing.
  @Test func `two changes of one object are the difference of its states`() {
    let (insert, delete) = (Self.insert, Self.delete)
    let title = Self.change(.update, "title")
    let group = Self.change(.update, "group")
    check([], nil)
    check([insert], insert)
    check([title], title)
    check([delete], delete)
    check([insert, title], insert)
    check([insert, delete], nil)
    check([title, title], title)
    check([title, group], Self.change(.update, "title", "group"))
    check([title, delete], delete)
    check([delete, insert], Self.change(.update, ChangeSet.everyProperty))
  }

  @Test func `an object inserted again may differ in all properties`() {
    let (insert, delete) = (Self.insert, Self.delete)
    let title = Self.change(.update, "title")
    let every = ChangeSet.everyProperty
    check([delete, insert, title], Self.change(.update, every, "title"))
    check([title, delete, insert], Self.change(.update, every))
    check([delete, insert, delete], delete)
    check([delete, insert, delete, insert], Self.change(.update, every))
    check([insert, delete, insert], insert)
    check([insert, title, delete, insert, title], insert)
    check([insert, delete, insert, delete], nil)
  }

  @Test func `changes of different objects are independent`() {
    let other = ObjectKey(entity: 2, object: 17)
    var set = ChangeSet(from: 0, through: 2)
    set.add(Self.insert)
    set.add(ObjectChange(key: other, kind: .update, properties: ["title"]))
    set.add(Self.delete)
    #expect(set.changes == [other: ObjectChange(key: other, kind: .update, properties: ["title"])])
  }

  /// A table that lives through the commits one by one, and what `add` makes of them.
  @Test(arguments: Seeds.first(50))
  func `a sequence is the difference between its two ends`(seed: UInt64) {
    var random = SplitMix64(seed: seed)
    for _ in 0..<20 {
      let keys = (1...4).map { ObjectKey(entity: 1 + $0 % 2, object: Int64($0)) }
      let before = Set(keys.filter { _ in random.oneIn(2) })
      var present = before
      var written: [ObjectKey: Set<String>] = [:]
      var replaced: Set<ObjectKey> = []
      var set = ChangeSet(from: 0, through: 1)
      for _ in 0..<random.below(16) {
        let key = random.pick(keys)
        if !present.contains(key) {
          present.insert(key)
          set.add(ObjectChange(key: key, kind: .insert))
        } else if random.oneIn(2) {
          present.remove(key)
          written[key] = nil
          replaced.insert(key)
          set.add(ObjectChange(key: key, kind: .delete))
        } else {
          let name = random.pick(["title", "group", "priority"])
          written[key, default: []].insert(name)
          set.add(ObjectChange(key: key, kind: .update, properties: [name]))
        }
      }
      var expected: [ObjectKey: ObjectChange] = [:]
      for key in keys {
        switch (before.contains(key), present.contains(key)) {
        case (false, false): break
        case (false, true): expected[key] = ObjectChange(key: key, kind: .insert)
        case (true, false): expected[key] = ObjectChange(key: key, kind: .delete)
        case (true, true):
          var names = written[key] ?? []
          if replaced.contains(key) { names.insert(ChangeSet.everyProperty) }
          if !names.isEmpty {
            expected[key] = ObjectChange(key: key, kind: .update, properties: names)
          }
        }
      }
      #expect(set.changes == expected, "\(Seeds.repeating(seed))")
    }
  }
}
