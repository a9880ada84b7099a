import JSON

/// A store of plain objects with all that it has to remember.
struct PlainStore {
  let model: PlainModel
  var state: PlainState
  /// Every version that an object had, in their order.
  var past: [PlainKey: [PlainVersion]] = [:]
  var head = 0
  /// What every author can undo, the newest last; nil where something stood that is undone.
  var undoable: [String: [PlainUnit?]] = [:]
  /// What every author can do again, the next last.
  var redoable: [String: [PlainUnit]] = [:]
  /// What stands: everything but what is reverted, the reverts included.
  var standing: [PlainUnit] = []

  init(_ model: PlainModel) {
    self.model = model
    state = PlainState(model)
  }

  /// What a save does; nothing of it is kept before `keep`.
  func save(_ request: JSONValue) -> PlainTransaction {
    var transaction = PlainTransaction(state)
    transaction.policy = request["mergePolicy"]?.string ?? "error"
    var merges: [JSONValue] = []
    for update in request["update"]?.array ?? [] {
      merges.append(merge(update, &transaction))
    }
    let deletes = (request["delete"]?.array ?? []).filter { !isSpared($0, &transaction) }
    let named = ((request["update"]?.array ?? []) + (request["delete"]?.array ?? []))
      .compactMap { $0["id"]?.string.flatMap(state.key) }
    transaction.insert(request["insert"]?.array ?? [])
    let adopted = Set(transaction.answered).subtracting(transaction.inserted)
    if Set(named).count < named.count || !adopted.isDisjoint(with: named) {
      transaction.errors.insert("validationFailed")
    }
    for update in merges {
      guard let key = transaction.target(update["id"] ?? nil) else { continue }
      if transaction.inserted.contains(key) { transaction.errors.insert("validationFailed") }
      transaction.answered.append(key)
      transaction.update(key, update["values"]?.members ?? [])
    }
    updateMatching(request["updateMatching"], &transaction)
    var doomed = deletes.compactMap { transaction.target($0["id"] ?? $0) }
    if let matching = request["deleteMatching"] {
      doomed += matches(matching, transaction.state)
    }
    transaction.delete(doomed)
    transaction.count += transaction.matched.count
    transaction.end()
    return transaction
  }

  /// Keeps what a save did as a commit, if it did anything.
  mutating func keep(_ transaction: PlainTransaction, author: String?, context: String?) {
    let unit = enter(transaction, author: author, context: context, origin: nil)
    guard let unit else { return }
    undoable[author ?? "", default: []].append(unit)
    redoable[author ?? ""] = []
    standing.append(unit)
  }

  /// Makes the state of a transaction the store's.
  mutating func enter(
    _ transaction: PlainTransaction,
    author: String?,
    context: String?,
    origin: Int?
  ) -> PlainUnit? {
    let changes = PlainChange.changes(
      from: state,
      to: transaction.state,
      written: transaction.written
    )
    let came = transaction.inserted.contains { transaction.state.objects[$0] == nil }
    guard !changes.isEmpty || came || origin != nil else { return nil }
    head += 1
    for (key, object) in transaction.state.objects where state.objects[key] != object {
      let written = state.objects[key] == nil ? [] : changes[key]?.columns ?? []
      past[key, default: []].append(
        PlainVersion(object: object, written: written, isNew: state.objects[key] == nil)
      )
    }
    state = transaction.state
    return PlainUnit(
      number: head,
      place: 0,
      origin: origin ?? head,
      author: author,
      context: context,
      kind: .ordinary,
      changes: changes
    )
  }

  // MARK: Versions

  private func isSpared(_ delete: JSONValue, _ transaction: inout PlainTransaction) -> Bool {
    guard let known = delete["version"]?.integer, let key = state.key(delete["id"]?.string ?? ""),
      let version = state.objects[key]?.version
    else { return false }
    if known > version { transaction.errors.insert("validationFailed") }
    guard known < version else { return false }
    if transaction.policy == "error" { transaction.errors.insert("saveConflict") }
    return ["storeTrump", "rollback"].contains(transaction.policy)
  }

  /// The update that remains of one where others changed the object since the version it names.
  private func merge(_ update: JSONValue, _ transaction: inout PlainTransaction) -> JSONValue {
    guard let known = update["version"]?.integer, let key = state.key(update["id"]?.string ?? ""),
      let object = state.objects[key]
    else { return update }
    if known > object.version { transaction.errors.insert("validationFailed") }
    guard known < object.version else { return update }
    let policy = transaction.policy
    guard policy != "error" else {
      transaction.errors.insert("saveConflict")
      return update
    }
    var values = update["values"]?.members ?? []
    var outcome: [String: String] = [:]
    for (property, base) in changed(key, object, since: known) {
      let sent = values.last { $0.name == property }?.value
      let isToMany = model.relationship(property, of: key.entity)?.toMany == true
      switch policy {
      case "rollback": outcome[property] = "store"
      case "overwrite":
        if sent == nil { values.append(JSONMember(property, base)) }
        outcome[property] = sent == nil ? "base" : "client"
      case "storeTrump" where !isToMany || sent == nil:
        values.removeAll { $0.name == property }
        outcome[property] = "store"
      default:
        outcome[property] = sent == nil ? "store" : "client"
        guard isToMany, let list = sent?.array, let members = base.array else { continue }
        values.removeAll { $0.name == property }
        let gone = members.filter { !list.contains($0) && !isGone($0) }
        let added = list.filter { !members.contains($0) }
        values.append(JSONMember(property, ["@add": .array(added), "@remove": .array(gone)]))
      }
    }
    if policy == "rollback" {
      for member in values { outcome[member.name] = "store" }
      values = []
    }
    if !outcome.isEmpty { transaction.merged.append((key, outcome)) }
    return ["id": update["id"] ?? nil, "values": .object(values)]
  }

  private func isGone(_ id: JSONValue) -> Bool {
    id.string.flatMap(state.key).flatMap { state.objects[$0] } == nil
  }

  /// What changed since a version, with what it was then: the IDs are those of today.
  private func changed(
    _ key: PlainKey,
    _ object: PlainObject,
    since version: Int64
  ) -> [(String, JSONValue)] {
    guard let known = past[key]?.first(where: { $0.object.version == version }) else { return [] }
    var then = state
    then.objects[key] = known.object
    let later = (past[key] ?? []).filter { $0.object.version > version }
    var columns: Set<String> = []
    var previous = known.object
    for step in later {
      if !step.isNew {
        columns.formUnion(step.written)
        columns.formUnion(
          state.columns(key.entity).filter {
            previous.values[$0] != step.object.values[$0]
              || previous.toOnes[$0] != step.object.toOnes[$0]
          }
        )
      }
      previous = step.object
    }
    // What was gone and came back may be other in all it has.
    columns.formUnion(
      state.columns(key.entity).filter {
        known.object.values[$0] != object.values[$0] || known.object.toOnes[$0] != object.toOnes[$0]
      }
    )
    var changes = columns.sorted().map { ($0, then.wire($0, of: key)) }
    for relationship in model.entity(key.entity).relationships where model.isPairs(relationship) {
      let base = known.object.pairs[relationship.name] ?? []
      guard base != object.pairs[relationship.name] ?? [] else { continue }
      changes.append(
        (relationship.name, .array(base.sorted().map { .string(state.id($0)) }))
      )
    }
    return changes
  }

  // MARK: Predicates

  /// The objects that match `goals > 2`: an attribute or to-one, a sign, and a constant.
  private func matches(_ fetch: JSONValue, _ state: PlainState) -> [PlainKey] {
    let words = (fetch["predicate"]?.string ?? "").split(separator: " ").map(String.init)
    guard words.count == 3 else { return state.keys(fetch["entity"]?.string ?? "") }
    let constant: JSONValue =
      words[2] == "nil"
      ? .null : Int64(words[2]).map { .integer($0) } ?? .string(words[2].replacing("\"", with: ""))
    return state.keys(fetch["entity"]?.string ?? "").filter { key in
      let value = state.wire(words[0], of: key)
      switch words[1] {
      case "==": return value == constant
      case "!=": return value != constant
      default:
        guard let first = value.integer, let second = constant.integer else { return false }
        return words[1] == ">" ? first > second : first < second
      }
    }
  }

  private func updateMatching(_ request: JSONValue?, _ transaction: inout PlainTransaction) {
    guard let request else { return }
    transaction.matched = matches(request, transaction.state)
    let required = model.entity(request["entity"]?.string ?? "").required
    for member in request["set"]?.members ?? [] where member.value.isNull {
      if required.contains(member.name) { transaction.errors.insert("validationFailed") }
    }
    let now = transaction.state
    for key in transaction.matched {
      let members = (request["set"]?.members ?? []).map { member -> JSONMember in
        guard let text = member.value["@expression"]?.string else { return member }
        let words = text.split(separator: " ").map(String.init)
        let sum = now.wire(words[0], of: key).integer.map { $0 + (Int64(words[2]) ?? 0) }
        return JSONMember(member.name, sum.map { .integer($0) } ?? .null)
      }
      transaction.update(key, members)
    }
  }
}
