import JSON

/// One save carried out on plain objects, as section 6 of the contract says.
///
/// The changes are applied in the order given; what is required, counts and uniqueness are checked
/// once, on the state that the whole save leaves.
struct PlainSave {
  let model: PlainModel
  let before: PlainState
  /// The commits before the save, oldest first.
  let past: [PlainCommit]
  let policy: String
  var state: PlainState
  var nextKey: Int

  // MARK: What is refused

  /// Problems that an answer has to report.
  var problems: [PlainProblem] = []
  /// Problems that an answer may report: the contract does not decide.
  var possible: [PlainProblem] = []
  var conflicts: Set<PlainConflict> = []
  /// Values that were refused before they were written, so that nothing else is wrong with them.
  var refusedValues: Set<PlainProperty> = []

  // MARK: What is not compared

  /// The features that a store needs to answer as the contract says.
  var needs: Set<ModelFeature> = []
  /// What the contract leaves open: the request is not sent, and counted.
  var open: Set<String> = []
  /// Orders that the contract leaves open; the store's is taken, if its members are right.
  var openOrders: Set<PlainProperty> = []
  /// Owners of which the contract leaves open whether a changed order increments the version.
  var openVersions: Set<Int> = []

  // MARK: What is answered

  /// The objects of the IDs of inserts.
  var ids: [String: Int] = [:]
  var inserted: [Int] = []
  /// The stored objects that the request deletes: the identity of one may be a new object's.
  private var deleted: Set<Int> = []
  /// The state before the deletes, which a rule may deny.
  private var undeleted: PlainState?
  /// The inserts of new objects.
  private(set) var newInserts: [PlainInsert] = []
  /// The objects of all inserts, in the order of the request; nil for one that is a problem.
  var insertKeys: [Int?] = []
  /// The objects of the answer's `objects`.
  var answered: [Int] = []
  /// The decisions of `merged`; nil where any is right.
  var merged: [Int: [String: String?]] = [:]
  var mergedDeletes: [Int: String] = [:]
  var removed: [Int] = []
  /// The whole lists that were merged with what other saves did.
  var mergedLists: Set<PlainProperty> = []
  /// Unique values that stay as they are stored, and may be reported as such.
  var mayBeKept: Set<PlainProperty> = []
  var matched: [Int] = []
  /// What some of several reverted groups changed: it counts, whatever becomes of it in the end.
  var reverted: Set<Int> = []
  var count = 0

  // MARK: What today's store gets wrong on the way

  private var temporaryCollisions: Set<Int> = []
  private var temporarilyCleared: Set<PlainProperty> = []
  /// The properties that values were sent for.
  private var sentProperties: Set<PlainProperty> = []
  private var temporarilyLost: Set<PlainProperty> = []
  private var temporarilyInvalid: Set<PlainProperty> = []
  /// Objects that the save wrote, even if their values ended as they were.
  private var everWritten: Set<Int> = []
  private var writtenProperties: Set<PlainProperty> = []
  /// Those of them whose unique values were not compared since.
  private var writtenSince: Set<Int> = []
  /// The object and the property that are being changed.
  var changing = 0
  var changingProperty = ""
  /// To-ones that changes of other objects wrote.
  var writtenFromOtherEnd: Set<PlainProperty> = []

  init(_ store: PlainStore, policy: String) {
    model = store.model
    before = store.state
    past = store.commits
    self.policy = policy
    state = store.state
    nextKey = store.nextKey
  }

  /// Carries a save out.
  mutating func run(_ params: JSONValue) {
    let updates = params["update"]?.array ?? []
    let deletes = params["delete"]?.array ?? []
    let named = (updates + deletes).compactMap { ($0["id"] ?? $0).string }
    deleted = Set(deletes.compactMap { ($0["id"] ?? $0).string.flatMap(before.key) })
    let resolved = (params["insert"]?.array ?? []).map { resolve($0) }
    var inserts = resolved.compactMap(\.self)
    meet(&inserts, deleted: deleted, named: Set(named.compactMap(before.key)))
    newInserts = inserts.filter { !$0.isMet }
    var keys = inserts.map(\.key)[...]
    insertKeys = resolved.map { $0 == nil ? nil : keys.popFirst() }
    checkTwice(updates, deletes)
    let merges = updates.compactMap { update -> (key: Int, members: [JSONMember])? in
      guard let id = update["id"]?.string, let key = existing(id) else { return nil }
      return (key, merge(update, key))
    }
    let doomed = deletes.compactMap { keep($0) }
    insert(inserts)
    for (key, members) in merges where state.exists(key) {
      answered.append(key)
      apply(members, to: key)
      noteCollisions(key)
    }
    leaveUniqueValues(merges.map(\.key), besides: doomed)
    undeleted = state
    delete(doomed)
    end()
  }

  /// Checks the end state, and increments versions.
  mutating func end() {
    let violations = state.violations().filter { problem in
      !refusedValues.contains { $0.key == problem.key && $0.name == problem.property }
    }
    let isKnown = !problems.contains { $0.isOfResolution || $0.rule == "twice" }
    if !isKnown {
      // The contract does not say what of such a change still takes part in the checks.
      possible += violations
    } else if problems.contains(where: { $0.code == 1106 }) {
      possible += violations + (undeleted?.violations() ?? [])
    } else {
      problems += violations
    }
    noteNeeds(violations)
    countVersions()
    guard !ModelFeatures.has(.insertOrder) else { return }
    for key in inserted where state.exists(key) {
      for relationship in state.entity(key).toManys where relationship.ordered {
        openOrders.insert(PlainProperty(key: key, name: relationship.name))
      }
    }
  }

  private mutating func countVersions() {
    for key in state.objects.keys {
      guard let old = before[key] else { continue }
      let change = PlainChange(key, from: before, to: state)
      if change.countsVersion || reverted.contains(key) {
        state.objects[key]?.version = old.version + 1
      }
      if !change.placed.isEmpty { openVersions.insert(key) }
      if !change.countsVersion, everWritten.contains(key), !ModelFeatures.has(.netVersions) {
        openVersions.insert(key)
      }
    }
  }

  // MARK: On the way

  mutating func noteCollisions(_ key: Int) {
    let sets = state.entity(key).unique
    if sets.contains(where: { !state.sharers($0, with: key).isEmpty }) {
      temporaryCollisions.insert(key)
    }
  }

  mutating func noteSent(_ name: String, of key: Int) {
    sentProperties.insert(PlainProperty(key: key, name: name))
  }

  mutating func noteWritten(_ name: String, of key: Int) {
    everWritten.insert(key)
    writtenProperties.insert(PlainProperty(key: key, name: name))
    writtenSince.insert(key)
    if key != changing { writtenFromOtherEnd.insert(PlainProperty(key: key, name: name)) }
  }

  /// Whether the save wrote a property that ended as it was.
  var writesUnchangedValues: Bool {
    writtenProperties.contains { property in
      guard let old = before[property.key], let new = state[property.key] else { return false }
      return old.values[property.name] == new.values[property.name]
        && old.toOnes[property.name] == new.toOnes[property.name]
    }
  }

  /// Compares the unique values of what was written since the last time.
  mutating func noteCollisions() {
    for key in writtenSince where state.exists(key) { noteCollisions(key) }
    writtenSince = []
  }

  mutating func noteCleared(_ name: String, of key: Int) {
    temporarilyCleared.insert(PlainProperty(key: key, name: name))
  }

  /// Another object's claim ended a to-one.
  mutating func noteLost(_ name: String, of key: Int) {
    temporarilyLost.insert(PlainProperty(key: key, name: name))
  }

  mutating func noteInvalid(_ name: String, of key: Int) {
    temporarilyInvalid.insert(PlainProperty(key: key, name: name))
  }

  private mutating func noteNeeds(_ violations: [PlainProblem]) {
    let collisions = violations.filter { $0.code == 1105 }
    for problem in collisions {
      let keys = problem.others.union(problem.key.map { [$0] } ?? [])
      let entities = Set(keys.compactMap { state[$0]?.entity })
      let names = (problem.property ?? "").split(separator: ",").map(String.init)
      let hasToOne = names.contains {
        state.entity(problem.key ?? 0).relationship($0) != nil
      }
      if entities.count > 1 || hasToOne { needs.insert(.uniqueOverFamily) }
    }
    for problem in violations {
      let property = PlainProperty(key: problem.key ?? 0, name: problem.property ?? "")
      if problem.rule == "count", !sentProperties.contains(property) {
        needs.insert(.countsOfOtherEnd)
      }
      if temporarilyLost.contains(property) { needs.insert(.requiredOneToOne) }
    }
    let colliding = Set(collisions.flatMap { $0.others.union($0.key.map { [$0] } ?? []) })
    if !temporaryCollisions.subtracting(colliding).isEmpty { needs.insert(.swaps) }
    for property in temporarilyCleared {
      let isReported = violations.contains {
        $0.key == property.key && $0.property == property.name
      }
      if !isReported { needs.insert(.requiredFromOtherEnd) }
    }
    for property in temporarilyInvalid {
      let isReported = violations.contains {
        $0.key == property.key && $0.property == property.name
      }
      if !isReported { open.insert("an invalid value that does not last") }
    }
  }

  // MARK: Resolution

  /// The stored object that an ID names.
  mutating func existing(_ id: String) -> Int? {
    guard isWellFormed(id) else { return nil }
    if let key = before.key(id) { return key }
    guard !id.contains("/t") else {
      problems.append(PlainProblem(code: 1104, rule: "identifier", id: id))
      return nil
    }
    if ids[id] != nil { open.insert("an update or delete of an object that the save inserts") }
    problems.append(PlainProblem(code: 1101, rule: "exists", id: id))
    return nil
  }

  mutating func isWellFormed(_ id: String) -> Bool {
    let parts = id.split(separator: "/", maxSplits: 1).map(String.init)
    guard parts.count == 2, let form = parts[1].first, "piust".contains(form) else {
      problems.append(PlainProblem(code: 1104, rule: "identifier", id: id))
      return false
    }
    guard model.isKnown(parts[0]) else {
      problems.append(PlainProblem(code: 1002, rule: "entity", id: id))
      return false
    }
    return true
  }

  /// The object that a relationship's value names: one of the store or of this save.
  mutating func target(_ value: JSONValue) -> Int? {
    guard let id = value.string else { return nil }
    if isWellFormed(id) {
      if let key = ids[id] ?? before.key(id, besides: deleted) ?? newKey(id) ?? state.key(id) {
        return key
      }
      let isTemporary = id.contains("/t")
      problems.append(
        PlainProblem(
          code: isTemporary ? 1104 : 1101,
          rule: isTemporary ? "identifier" : "exists",
          id: id
        )
      )
    }
    if let last = problems.indices.last {
      problems[last].holder = PlainProperty(key: changing, name: changingProperty)
    }
    return nil
  }

  /// The new object whose identity an ID names.
  private func newKey(_ id: String) -> Int? {
    let parts = id.split(separator: "/", maxSplits: 1).map(String.init)
    guard parts.count == 2, let form = parts[1].first,
      let value = PlainState.identity(form, String(parts[1].dropFirst()))
    else { return nil }
    return newInserts.first { insert in
      guard let name = insert.entity.identity, model.isKind(insert.entity.name, of: parts[0]) else {
        return false
      }
      return insert.members.last { $0.name == name }?.value == value
    }?.key
  }

  /// A merge policy leaves values out before they are checked.
  mutating func noteLeftOut(_ members: [JSONMember], of entity: PlainModel.Entity) {
    let isValid = members.allSatisfy { member in
      if let attribute = entity.attribute(member.name) {
        guard attribute.derived == nil else { return false }
        return !before.isInvalid(attribute, member.value)
          && (member.value.isNull || Self.isOfType(member.value, attribute.type))
      }
      guard let relationship = entity.relationship(member.name) else { return false }
      if member.value.isNull { return relationship.optional && !relationship.toMany }
      return Self.texts(member.value).allSatisfy { id in
        guard let key = ids[id] ?? before.key(id) else { return false }
        guard let target = before[key]?.entity else { return true }
        return model.isKind(target, of: relationship.destination)
      }
    }
    if !isValid { open.insert("invalid values that a merge policy leaves out") }
  }

  /// All texts in a value.
  static func texts(_ value: JSONValue) -> [String] {
    switch value {
    case .string(let text): [text]
    case .array(let elements): elements.flatMap(texts)
    case .object(let members): members.flatMap { texts($0.value) }
    default: []
    }
  }

  /// An object is named once (P-063).
  mutating func checkTwice(_ updates: [JSONValue], _ deletes: [JSONValue]) {
    let changed = updates.compactMap { $0["id"]?.string.flatMap(before.key) }
    let gone = deletes.compactMap { ($0["id"] ?? $0).string.flatMap(before.key) }
    let all = changed + gone
    for key in Set(all) where all.count(where: { $0 == key }) > 1 {
      problems.append(PlainProblem(code: 1102, rule: "twice", key: key))
    }
  }

  /// Whether the save is refused, and with which codes that the contract allows.
  var codes: Set<Int> {
    if !conflicts.isEmpty { return [1103] }
    let certain = Set(problems.map(\.code))
    let all = certain.union(possible.map(\.code))
    switch (certain.count, all.count) {
    case (0, _): return []
    case (1, 1): return certain
    case (1, _): return certain.union([1102])
    default: return [1102]
    }
  }
}

/// A property of an object.
struct PlainProperty: Hashable {
  let key: Int
  let name: String
}

/// A property that another save changed; nil where the object as a whole is in conflict.
struct PlainConflict: Hashable {
  let key: Int
  let name: String?
}
