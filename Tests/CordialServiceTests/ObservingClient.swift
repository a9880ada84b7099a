import JSON

/// What a client knows of one subscription, from the first result and the updates after it.
final class ObservedState {
  let request: JSONValue
  let name: String
  var mode: String { request["mode"]?.string ?? (isIDs ? "ids" : "values") }
  private var isIDs: Bool { request["fetch"]?["result"] == "ids" }
  /// The number of updates.
  private(set) var updates = 0
  private(set) var hasEnded = false
  private var rows: [JSONValue] = []
  private var others: [String: JSONValue] = [:]
  private var included: [String: JSONValue] = [:]
  /// A violation of the contract.
  private(set) var problem: String?

  init(_ request: JSONValue, name: String) {
    self.request = request
    self.name = name
  }

  /// The state in the form of `normalized`.
  var state: JSONValue {
    var members = others
    members[mode == "ids" ? "ids" : "objects"] = .array(rows)
    if request["fetch"]?["include"] != nil || request["include"] != nil {
      members["included"] = Self.object(included)
    }
    return Self.object(members)
  }

  private static func object(_ members: [String: JSONValue]) -> JSONValue {
    .object(members.sorted { $0.key < $1.key }.map { JSONMember($0.key, $0.value) })
  }

  /// Returns the result of a fetch as a state.
  static func normalized(_ result: JSONValue, mode: String) -> JSONValue {
    var members: [String: JSONValue] = [:]
    for member in result.members ?? []
    where ["objects", "ids", "rows", "count", "sections", "total"].contains(member.name) {
      members[member.name] = member.value
    }
    // Of an observed result, `count` is the number of elements.
    if members["rows"] != nil { members["objects"] = [] }
    if members["objects"] == nil, members["ids"] == nil { members["objects"] = [] }
    if let count = members["rows"]?.array?.count { members["count"] = .integer(Int64(count)) }
    if mode == "ids", let objects = members["objects"]?.array, members["ids"] == nil {
      members["ids"] = .array(objects.compactMap { $0.isNull ? nil : $0["id"] })
      members["objects"] = nil
    }
    if let included = result["included"]?.members {
      members["included"] = object(
        Dictionary(included.map { ($0.name, $0.value) }, uniquingKeysWith: { first, _ in first })
      )
    }
    return object(members)
  }

  /// Takes over the result of another subscription.
  func copy(_ other: ObservedState) {
    rows = other.rows
    others = other.others
    included = other.included
  }

  // MARK: Results and updates

  /// Starts over from a whole result.
  func start(_ result: JSONValue) {
    rows = (mode == "ids" ? result["ids"] : result["objects"] ?? result["hits"])?.array ?? []
    others = [:]
    for name in ["rows", "sections", "total"] { others[name] = result[name] }
    let isCounted = ["objects", "ids", "hits"].contains { result[$0] != nil }
    if !isCounted { others["count"] = result["count"] }
    if isCounted, mode != "ids" || request["fetch"] != nil {
      check(result["count"]?.integer == Int64(rows.count), "count of \(result.text)")
    }
    included = [:]
    for member in result["included"]?.members ?? [] { included[member.name] = member.value }
  }

  /// Applies one whole update.
  func apply(_ update: JSONValue) {
    updates += 1
    if update["error"] != nil {
      hasEnded = true
      return
    }
    if update["fresh"] == true {
      check(update["why"]?.string != nil, "no reason in \(update.text)")
      return start(update["result"] ?? .null)
    }
    let explains = request["explain"] == true
    check((update["index"] != nil) == (request["search"] != nil && mode != "signal"), "index")
    let isExplained = update["explanation"]?.array?.isEmpty == false
    check(isExplained == explains, "explanation of \(update.text)")
    guard update["signal"] == nil, update["transactions"] == nil else { return }
    if let objects = update["objects"]?.array { for object in objects { apply(object: object) } }
    for removal in update["remove"]?.array ?? [] { remove(removal) }
    for insertion in update["insert"]?.array ?? [] { insert(insertion) }
    for change in update["update"]?.array ?? [] { replace(change) }
    if update["remove"] != nil || update["insert"] != nil {
      check(update["count"]?.integer == Int64(rows.count), "count of \(update.text)")
    } else if let count = update["count"] {
      others["count"] = count
    }
    for name in ["rows", "sections", "total"] { others[name] = update[name] ?? others[name] }
    for member in update["included"]?.members ?? [] { included[member.name] = member.value }
    for id in update["excluded"]?.array ?? [] {
      check(included.removeValue(forKey: id.string ?? "") != nil, "\(id.text) was not included")
    }
  }

  /// Applies a change of an object that was named by ID.
  private func apply(object change: JSONValue) {
    let ids = (request["ids"]?.array ?? []).compactMap(\.string)
    let id = change["id"]?.string ?? ""
    if mode == "ids" {
      var present = Set(rows.compactMap(\.string))
      if change["change"] == "delete" { present.remove(id) } else { present.insert(id) }
      rows = ids.filter(present.contains).map { .string($0) }
      return
    }
    for (index, named) in ids.enumerated() where named == id {
      check(rows[index].isNull == (change["change"] == "insert"), "change of \(change.text)")
      compare(change, with: rows[index])
      rows[index] = change["object"] ?? .null
    }
  }

  private func remove(_ removal: JSONValue) {
    let offset = Int(removal["offset"]?.integer ?? -1)
    guard rows.indices.contains(offset), id(rows[offset]) == removal["id"]?.string else {
      return check(false, "removal \(removal.text)")
    }
    rows.remove(at: offset)
  }

  private func insert(_ insertion: JSONValue) {
    let offset = Int(insertion["offset"]?.integer ?? -1)
    guard (0...rows.count).contains(offset) else {
      return check(false, "insertion \(insertion.text)")
    }
    rows.insert((mode == "ids" ? insertion["id"] : insertion["object"]) ?? .null, at: offset)
  }

  private func replace(_ change: JSONValue) {
    let offset = Int(change["offset"]?.integer ?? -1)
    guard rows.indices.contains(offset), id(rows[offset]) == change["id"]?.string else {
      return check(false, "update \(change.text)")
    }
    compare(change, with: rows[offset])
    rows[offset] = change["object"] ?? .null
  }

  /// Checks `properties` and `before` of an update against the object that the client had.
  private func compare(_ change: JSONValue, with old: JSONValue) {
    guard let names = change["properties"]?.array?.compactMap(\.string) else { return }
    for member in change["object"]?["values"]?.members ?? []
    where member.value != old["values"]?[member.name] && id(old) == change["object"]?["id"]?.string
    {
      check(names.contains(member.name), "\(member.name) is not in \(change.text), had \(old.text)")
    }
    guard request["before"] == true else { return }
    for name in names {
      let before = change["before"]?[name]
      check(before == old["values"]?[name], "before.\(name) of \(change.text), had \(old.text)")
    }
  }

  private func id(_ row: JSONValue) -> String? { row.string ?? row["id"]?.string }

  private func check(_ holds: Bool, _ what: @autoclosure () -> String) {
    if !holds, problem == nil { problem = "\(what()); \(request.text)" }
  }
}

/// A connection that observes and applies every update.
final class ObservingClient {
  let peer: HostPeer
  /// The position of the connection.
  private(set) var position: String?
  private var states: [String: ObservedState] = [:]
  /// The subscriptions with mode `signal`, each with the one that has the values of its request.
  private(set) var twins: [(values: ObservedState, signal: ObservedState)] = []
  private var readCount = 0
  private var parts: [JSONValue] = []
  private var own: String?

  init(_ host: ServiceHost) {
    peer = HostPeer(host)
  }

  /// The subscriptions that have not ended.
  var live: [ObservedState] {
    states.values.filter { !$0.hasEnded }.sorted { $0.name < $1.name }
  }

  /// A violation of the contract.
  var problem: String? { own ?? states.values.compactMap(\.problem).first }

  /// Observes a request, and a twin of it in mode `signal` where it has values.
  func observe(_ request: JSONValue, key: String?, since: String?) throws {
    guard let values = try register(request, key: key, since: nil, from: nil), key == nil,
      values.mode == "values", request["before"] == nil, request["history"] == nil
    else { return }
    var members = request.members ?? []
    members.append(JSONMember("mode", "signal"))
    guard let signal = try register(.object(members), key: nil, since: nil, from: nil) else {
      return
    }
    update()
    twins.append((values, signal))
  }

  /// Observes a request again, from a position at which another client had a result.
  func observe(_ old: ObservedState, since: String) throws {
    _ = try register(old.request, key: nil, since: since, from: old)
  }

  private func register(
    _ request: JSONValue,
    key: String?,
    since: String?,
    from old: ObservedState?
  ) throws -> ObservedState? {
    var members = request.members ?? []
    if let key { members.append(JSONMember("key", .string(key))) }
    if let since { members.append(JSONMember("since", .string(since))) }
    let answer = try peer.call("observe", JSONValue.object(members).text)
    guard let name = answer["subscription"]?.string, let token = answer["token"]?.string else {
      own = "\(request.text) was refused: \(answer.text)"
      return nil
    }
    // The updates of the older subscriptions come before the response; others may come after it.
    let before = peer.messages.prefix { $0["id"]?.integer != Int64(peer.lastID) }
    update(through: before.count { $0["method"] == "changes" })
    twins.removeAll { $0.values.name == name || $0.signal.name == name }
    let state =
      old.map { ObservedState(copyOf: $0, name: name) }
      ?? ObservedState(request, name: name)
    if answer["fresh"] == true {
      state.start(answer["result"] ?? .null)
    } else if let update = answer["update"], update != [:] {
      state.apply(update)
    }
    states[name] = state
    position = token
    return state
  }

  /// Reads what has arrived.
  ///
  /// - Parameter count: The number of all `changes` that are read; nil for all.
  func update(through count: Int? = nil) {
    let changes = peer.changes.prefix(count ?? .max)
    defer { readCount = changes.count }
    for change in changes[readCount...] {
      if position != nil, change["from"]?.string != position {
        own = own ?? "from is \(change["from"]?.text ?? ""), the position is \(position ?? "")"
      }
      parts += change["updates"]?.array ?? []
      guard change["more"] == nil else { continue }
      for update in Self.joined(parts) {
        let name = update["subscription"]?.string ?? ""
        guard let state = states[name] else { continue }
        state.apply(update)
      }
      parts = []
      position = change["token"]?.string
    }
  }

  /// Joins the parts of each subscription.
  private static func joined(_ parts: [JSONValue]) -> [JSONValue] {
    var names: [String] = []
    var joined: [String: JSONValue] = [:]
    for part in parts {
      let name = part["subscription"]?.string ?? ""
      if let known = joined[name] {
        joined[name] = merged(known, part)
      } else {
        names.append(name)
        joined[name] = part
      }
    }
    return names.compactMap { joined[$0] }
  }

  private static func merged(_ first: JSONValue, _ second: JSONValue) -> JSONValue {
    var members = first.members ?? []
    for member in second.members ?? [] {
      guard let index = members.firstIndex(where: { $0.name == member.name }) else {
        members.append(member)
        continue
      }
      switch (members[index].value, member.value) {
      case (.array(let a), .array(let b)): members[index].value = .array(a + b)
      case (.object(let a), .object(let b)) where member.name == "included":
        members[index].value = .object(a + b)
      case (.object, .object):
        members[index].value = merged(members[index].value, member.value)
      default: members[index].value = member.value
      }
    }
    return .object(members)
  }
}

extension ObservedState {
  /// Creates the state of a subscription that resumes from the result of another one.
  convenience init(copyOf other: ObservedState, name: String) {
    self.init(other.request, name: name)
    copy(other)
  }
}
