import JSON

/// Comparing the newest commit of the history with what became of the plain objects.
extension ModelRun {
  func compareHistory(_ before: PlainState) throws {
    let after = plain.state
    let changes = PlainChange.changes(from: before, to: after)
    let logged = try stores[0].newestChanges()
    var reported: [Int: StoreChange] = [:]
    for change in logged {
      let key =
        after.key("\(change.entity)/p\(change.number)")
        ?? before.key("\(change.entity)/p\(change.number)")
      guard let key else {
        return expect(false, "the history has \(change), which no commit has")
      }
      reported[key] = change
    }
    for (key, change) in changes {
      guard let found = reported[key] else {
        return expect(false, "the history has nothing of \(after.id(key)) \(before.id(key))")
      }
      compare(found, change, key, before)
    }
    for (key, change) in reported where changes[key] == nil {
      // Derived attributes, and one-to-manys whose members changed places, count no version.
      expect(
        change.kind == "update"
          && (isCountedElsewhere(change, key)
            || plain.commits.last?.wavering.contains(key) == true
            || !ModelFeatures.has(.netVersions)),
        "the history has \(change) of \(after.id(key))"
      )
    }
  }

  private func isCountedElsewhere(_ change: StoreChange, _ key: Int) -> Bool {
    let entity = plain.state.entity(key)
    return change.properties.allSatisfy { name in
      entity.attribute(name)?.derived != nil || entity.relationship(name)?.ordered == true
    }
  }

  private func compare(
    _ found: StoreChange,
    _ change: PlainChange,
    _ key: Int,
    _ before: PlainState
  ) {
    expect(found.kind == change.kind.rawValue, "the history has \(found), not \(change.kind)")
    if change.kind == .update {
      let missing = change.properties.subtracting(found.properties)
      expect(missing.isEmpty, "the history lacks \(missing) of \(found)")
    }
    if change.kind != .insert {
      let missing = change.columns.subtracting(found.before.keys)
      expect(missing.isEmpty, "the history lacks the values before of \(missing): \(found)")
      for (name, value) in found.before {
        guard let old = logged(name, of: key, before) else { continue }
        expect(value == old, "the history has \(name) \(value.text), not \(old.text): \(found)")
      }
    }
    // An external client's delete leaves link rows.
    guard change.kind != .delete || log.last?.hasPrefix("DELETE") != true else { return }
    if ModelFeatures.has(.orderBefore) { compareOrders(found, change, key, before) }
    compare(links: found.linked, change.linked, before, found)
    compare(links: found.unlinked, change.unlinked, before, found)
  }

  /// A change of the order alone holds the former order.
  private func compareOrders(
    _ found: StoreChange,
    _ change: PlainChange,
    _ key: Int,
    _ before: PlainState
  ) {
    for name in change.moved {
      guard let relationship = before.entity(key).relationship(name) else { continue }
      let then = before.related(relationship, of: key)
      guard Set(then) == Set(plain.state.related(relationship, of: key)) else { continue }
      let order = JSONValue.array(then.map { .integer(before[$0]?.number ?? 0) })
      let actual = found.before[name] ?? .null
      expect(actual == order, "the history has \(name) \(actual.text), not \(order.text)")
    }
  }

  /// An attribute or to-one as the log has it; nil for a to-many.
  private func logged(_ name: String, of key: Int, _ state: PlainState) -> JSONValue? {
    let entity = state.entity(key)
    if let relationship = entity.relationship(name) {
      guard !relationship.toMany else { return nil }
      guard let target = state[key]?.toOnes[name] else { return .null }
      // The number of an object that an external client deleted is in the log.
      return state[target]?.number.map { .integer($0) }
    }
    guard let value = state[key].map({ _ in state.wire(name, of: key) }) else { return nil }
    if let flag = value.bool { return .integer(flag ? 1 : 0) }
    return value
  }

  private func compare(
    links found: [String: Set<String>],
    _ wanted: [String: Set<Int>],
    _ before: PlainState,
    _ change: StoreChange
  ) {
    func name(_ key: Int) -> String {
      let object = plain.state[key] ?? before[key]
      return "\(object?.entity ?? "") \(object?.number ?? 0)"
    }
    let expected = wanted.filter { !$0.value.isEmpty }.mapValues { Set($0.map(name)) }
    expect(
      found.filter { !$0.value.isEmpty } == expected,
      "the history has \(change), not \(expected)"
    )
  }
}
