import JSON

/// The state that a client keeps for one subscription.
struct SubscriptionState {
  /// The objects, null where a requested object does not exist; in mode `ids`, objects that have
  /// an `id` only.
  var objects: [JSONValue] = []
  var count = 0
  var rows: [JSONValue] = []
  var sections: JSONValue?
  var total: JSONValue?
  var included: [String: JSONValue] = [:]
  /// The transactions since the base position of the subscription.
  var transactions: [JSONValue] = []
  /// The first objects of a result in mode `ids`, before the first update.
  var first: [JSONValue]?

  /// Creates the state of a subscription without a result.
  init() {}

  /// Creates the state of a whole result that `observe` or `changes` has.
  ///
  /// - Parameters:
  ///   - result: The result; nil in mode `signal`.
  ///   - request: The request.
  /// - Throws: `ObservationMismatch`.
  init(result: JSONValue?, of request: OracleRequest) throws {
    if request.mode == .signal {
      self.init()
      try ObservationMismatch.check(result == nil, "A signal has a result: \(result?.text ?? "")")
      return
    }
    let result = try ObservationMismatch.require(result, "A fresh response has no result")
    if request.form == .history {
      self.init()
      try ObservationMismatch.check(
        result["transactions"] == [],
        "The result of an observed history is not empty: \(result.text)"
      )
      return
    }
    let announced = result["count"]?.integer.map { Int($0) }
    let count = try ObservationMismatch.require(announced, "A result has no count")
    self.init(members: result, of: request)
    if request.form == .count { self.count = count }
    try ObservationMismatch.check(
      self.count == count,
      "count is \(count), and the result has \(self.count) elements"
    )
    try checkFirst(result, request)
    try checkMissing(result, request)
  }

  /// Creates the state of the answer to the fetch of the same request.
  ///
  /// - Parameters:
  ///   - answer: The answer.
  ///   - request: The request.
  init(fetched answer: JSONValue, of request: OracleRequest) {
    self.init(members: answer, of: request)
    if request.form == .count { count = Int(answer["count"]?.integer ?? -1) }
    guard request.mode == .ids, request.form == .ids else { return }
    objects = objects.filter { !$0.isNull }
    count = objects.count
  }

  /// Creates a state from the members of a result or of an answer.
  private init(members: JSONValue, of request: OracleRequest) {
    if request.returnsIDs, let ids = members["ids"]?.array {
      objects = ids.map { ["id": $0] }
    } else {
      objects = members["objects"]?.array ?? []
      if request.returnsIDs {
        objects = objects.map { $0.isNull ? .null : ["id": $0["id"] ?? .null] }
      }
    }
    rows = members["rows"]?.array ?? []
    transactions = members["transactions"]?.array ?? []
    count = request.form == .values ? rows.count : objects.count
    sections = members["sections"]
    total = members["total"]
    for member in members["included"]?.members ?? [] { included[member.name] = member.value }
  }

  /// Checks the first objects of a result in mode `ids`.
  private mutating func checkFirst(_ result: JSONValue, _ request: OracleRequest) throws {
    guard let wanted = request.first else { return }
    let first = try ObservationMismatch.require(
      result["objects"]?.array,
      "A result with first has no objects"
    )
    try ObservationMismatch.check(
      first.map { $0["id"] } == objects.prefix(wanted).map { $0["id"] },
      "The objects of first are not the first \(wanted) of the result: \(result.text)"
    )
    self.first = first
  }

  /// Checks that a result by IDs names the missing objects.
  private func checkMissing(_ result: JSONValue, _ request: OracleRequest) throws {
    guard request.form == .ids, request.mode == .values else { return }
    try ObservationMismatch.check(
      objects.count == request.ids.count,
      "The result has \(objects.count) objects for \(request.ids.count) IDs"
    )
    let absent = zip(request.ids, objects).filter { $0.1.isNull }.map(\.0)
    let missing = (result["missing"]?.members ?? []).map(\.name)
    try ObservationMismatch.check(
      Set(absent) == Set(missing),
      "missing names \(missing), and the null objects are \(absent)"
    )
  }

  // MARK: Comparing

  /// Whether the state equals another one of the same request.
  ///
  /// `transactions` are not compared for fetches, and neither are the sections and the total of
  /// IDs: an update in mode `ids` is sent only when the sequence of IDs changes.
  func equals(_ other: SubscriptionState, of request: OracleRequest) -> Bool {
    if request.form == .history {
      return Self.areSame(transactions, other.transactions)
    }
    guard Self.areSame(objects, other.objects), Self.areSame(rows, other.rows) else { return false }
    guard count == other.count, included.count == other.included.count else { return false }
    for (id, object) in included where !object.hasSameContent(as: other.included[id]) {
      return false
    }
    guard !request.returnsIDs else { return true }
    return Self.areSame(sections.map { [$0] } ?? [], other.sections.map { [$0] } ?? [])
      && total == other.total
  }

  private static func areSame(_ first: [JSONValue], _ second: [JSONValue]) -> Bool {
    first.count == second.count && zip(first, second).allSatisfy { $0.hasSameContent(as: $1) }
  }

  /// The state as a text, for messages.
  var text: String {
    var members = [JSONMember("count", .integer(Int64(count)))]
    if !objects.isEmpty { members.append(JSONMember("objects", .array(objects))) }
    if !rows.isEmpty { members.append(JSONMember("rows", .array(rows))) }
    if let sections { members.append(JSONMember("sections", sections)) }
    if let total { members.append(JSONMember("total", total)) }
    if !included.isEmpty {
      let objects = included.sorted { $0.key < $1.key }.map { JSONMember($0.key, $0.value) }
      members.append(JSONMember("included", .object(objects)))
    }
    if !transactions.isEmpty {
      members.append(JSONMember("transactions", .array(transactions)))
    }
    return JSONValue.object(members).text
  }

  /// Whether the difference to a later state may have more elements than that state has rows.
  ///
  /// A removed, an inserted and an updated row are one element each. Where the order of the common
  /// rows differs, each of them may be removed and inserted. So may each row whose ID is that of an
  /// identity value, which may name another object by now.
  func mayExceed(_ later: SubscriptionState, of request: OracleRequest) -> Bool {
    switch request.form {
    case .count, .values, .history: return false
    case .ids where request.mode == .values:
      let changed = zip(objects, later.objects).count { !$0.hasSameContent(as: $1) }
      return changed > later.objects.count { !$0.isNull }
    case .ids, .objects:
      var before: [String: JSONValue] = [:]
      for object in objects { before[object["id"]?.string ?? ""] = object }
      var common: [String] = []
      var elements = 0
      for object in later.objects {
        let id = object["id"]?.string ?? ""
        guard let old = before[id] else {
          elements += 1
          continue
        }
        common.append(id)
        if id.contains("/s") {
          elements += 2
        } else if !object.hasSameContent(as: old) {
          elements += 1
        }
      }
      elements += objects.count - common.count
      let isCommon = Set(common)
      let order = objects.compactMap { $0["id"]?.string }.filter(isCommon.contains)
      if order != common { elements += 2 * common.count }
      return elements > later.objects.count
    }
  }
}
