import JSON

/// Updates of a state, applied strictly by the contract.
extension SubscriptionState {
  /// Applies an update of a subscription.
  ///
  /// - Parameters:
  ///   - update: The joined update.
  ///   - request: The request of the subscription.
  /// - Throws: `ObservationMismatch`, also where the update changes nothing.
  mutating func apply(_ update: JSONValue, of request: OracleRequest) throws {
    let old = self
    switch request.form {
    case .history:
      let more = try ObservationMismatch.require(
        update["transactions"]?.array,
        "An update of a history has no transactions"
      )
      transactions += more
      return try ObservationMismatch.check(!more.isEmpty, "An update has no transactions")
    case .count: count = try Self.number("count", of: update)
    case .values:
      if let rows = update["rows"]?.array { self.rows = rows }
      count = try Self.number("count", of: update)
      try ObservationMismatch.check(count == rows.count, "count is \(count) of \(rows.count) rows")
    case .ids: try applyNamed(update, request)
    case .objects: try applySequence(update, request)
    }
    try applyAdditions(update, request)
    first = nil
    try ObservationMismatch.check(
      differs(from: old),
      "An update changes nothing"
    )
  }

  /// Whether any member of the state differs.
  private func differs(from old: SubscriptionState) -> Bool {
    objects != old.objects || count != old.count || rows != old.rows || sections != old.sections
      || total != old.total || included != old.included
  }

  private static func number(_ name: String, of element: JSONValue) throws -> Int {
    let number = element[name]?.integer.map { Int($0) }
    return try ObservationMismatch.require(number, "An update has no \(name): \(element.text)")
  }

  private static func id(of element: JSONValue) throws -> String {
    try ObservationMismatch.require(element["id"]?.string, "No id in \(element.text)")
  }

  /// The object of an element, which has the form of the result.
  private static func object(
    of element: JSONValue,
    _ request: OracleRequest
  ) throws -> JSONValue {
    let object = element["object"]
    guard !request.returnsIDs else {
      try ObservationMismatch.check(object == nil, "An object in mode ids: \(element.text)")
      return ["id": element["id"] ?? .null]
    }
    return try ObservationMismatch.require(object, "No object in \(element.text)")
  }

  // MARK: By IDs

  private mutating func applyNamed(_ update: JSONValue, _ request: OracleRequest) throws {
    for element in update["objects"]?.array ?? [] {
      let id = try Self.id(of: element)
      let change = element["change"]?.string ?? ""
      if request.mode == .ids {
        try applyID(id, change, request)
        continue
      }
      var slots = request.ids.indices.filter { request.ids[$0] == id }
      if slots.isEmpty { slots = objects.indices.filter { objects[$0]["id"]?.string == id } }
      try ObservationMismatch.check(!slots.isEmpty, "\(id) was not requested: \(element.text)")
      for slot in slots {
        let old = objects[slot]
        switch change {
        case "insert":
          try ObservationMismatch.check(old.isNull, "\(id) is inserted, and it was present")
          objects[slot] = try Self.object(of: element, request)
        case "delete":
          try ObservationMismatch.check(!old.isNull, "\(id) is deleted, and it was absent")
          try ObservationMismatch.check(element["object"] == nil, "\(id) is deleted with an object")
          objects[slot] = .null
        case "update":
          try ObservationMismatch.check(!old.isNull, "\(id) is updated, and it was absent")
          objects[slot] = try Self.object(of: element, request)
          try Self.checkUpdate(element, from: old, to: objects[slot], request)
        default: throw ObservationMismatch("\(change) is not a change: \(element.text)")
        }
      }
    }
  }

  /// Applies a change in mode `ids`, where the present IDs are in the order of the request.
  private mutating func applyID(
    _ id: String,
    _ change: String,
    _ request: OracleRequest
  ) throws {
    var present = Set(objects.compactMap { $0["id"]?.string })
    try ObservationMismatch.check(request.ids.contains(id), "\(id) was not requested")
    switch change {
    case "insert":
      try ObservationMismatch.check(present.insert(id).inserted, "\(id) was present already")
    case "delete":
      try ObservationMismatch.check(present.remove(id) != nil, "\(id) was absent already")
    default: throw ObservationMismatch("\(change) of \(id) in mode ids")
    }
    objects = request.ids.filter(present.contains).map { ["id": .string($0)] }
    count = objects.count
  }

  // MARK: By fetch

  private mutating func applySequence(_ update: JSONValue, _ request: OracleRequest) throws {
    let old = objects
    let removes = update["remove"]?.array ?? []
    let inserts = update["insert"]?.array ?? []
    let updates = update["update"]?.array ?? []
    var last = Int.max
    for element in removes {
      let offset = try Self.number("offset", of: element)
      try ObservationMismatch.check(offset < last, "remove does not descend at \(element.text)")
      last = offset
      try checkHolds(element, offset)
      objects.remove(at: offset)
    }
    last = -1
    for element in inserts {
      let offset = try Self.number("offset", of: element)
      try ObservationMismatch.check(offset > last, "insert does not ascend at \(element.text)")
      last = offset
      try ObservationMismatch.check(offset <= objects.count, "A gap before \(element.text)")
      objects.insert(try Self.object(of: element, request), at: offset)
      try checkHolds(element, offset)
    }
    try ObservationMismatch.check(updates.isEmpty || !request.returnsIDs, "An update in mode ids")
    for element in updates {
      let offset = try Self.number("offset", of: element)
      try checkHolds(element, offset)
      let before = objects[offset]
      objects[offset] = try Self.object(of: element, request)
      try checkHolds(element, offset)
      try Self.checkUpdate(element, from: before, to: objects[offset], request)
    }
    count = try Self.number("count", of: update)
    try ObservationMismatch.check(
      count == objects.count,
      "count is \(count), and \(objects.count) objects remain"
    )
    try checkMoves(removes, inserts, from: old)
  }

  /// Checks that the object at an offset has the ID of an element.
  private func checkHolds(_ element: JSONValue, _ offset: Int) throws {
    let id = try Self.id(of: element)
    let found = objects.indices.contains(offset) ? objects[offset]["id"]?.string : nil
    try ObservationMismatch.check(
      found == id,
      "The object at \(offset) is \(found ?? "absent"), and the element is \(element.text)"
    )
  }

  private func checkMoves(
    _ removes: [JSONValue],
    _ inserts: [JSONValue],
    from old: [JSONValue]
  ) throws {
    let inserted = Set(inserts.compactMap { $0["id"]?.string })
    let removed = Set(removes.compactMap { $0["id"]?.string })
    for (elements, name, others, target) in [
      (removes, "movedTo", inserted, objects), (inserts, "movedFrom", removed, old),
    ] {
      for element in elements {
        let id = try Self.id(of: element)
        // An identity may name another object after the update, which was not moved.
        if !id.hasPrefix("Tag/") {
          try ObservationMismatch.check(
            (element[name] != nil) == others.contains(id),
            "\(name) does not report whether \(id) moved: \(element.text)"
          )
        }
        guard let offset = element[name]?.integer.map({ Int($0) }) else { continue }
        try ObservationMismatch.check(
          target.indices.contains(offset) && target[offset]["id"]?.string == id,
          "\(name) is not the offset of \(id): \(element.text)"
        )
      }
    }
  }

  // MARK: Updated objects

  /// Checks `properties` and `before` of an element that replaces an object.
  private static func checkUpdate(
    _ element: JSONValue,
    from old: JSONValue,
    to new: JSONValue,
    _ request: OracleRequest
  ) throws {
    try ObservationMismatch.check(!new.hasSameContent(as: old), "No change in \(element.text)")
    let names = try ObservationMismatch.require(
      element["properties"]?.array,
      "An update has no properties: \(element.text)"
    ).compactMap(\.string)
    for member in new["values"]?.members ?? []
    where !member.value.hasSameContent(as: old["values"]?[member.name]) {
      try ObservationMismatch.check(
        names.contains(member.name),
        "properties lacks \(member.name): \(element.text)\nbefore: \(old.text)"
      )
    }
    for name in names {
      try ObservationMismatch.check(
        new["values"]?[name] != nil,
        "properties has \(name), which was not requested: \(element.text)"
      )
    }
    let before = element["before"]
    try ObservationMismatch.check(
      (before != nil) == request.hasBefore,
      "before is \(before == nil ? "absent" : "present"): \(element.text)"
    )
    guard let before else { return }
    try ObservationMismatch.check(
      Set((before.members ?? []).map(\.name)) == Set(names),
      "before does not have the names of properties: \(element.text)"
    )
    for member in before.members ?? [] {
      try ObservationMismatch.check(
        member.value.hasSameContent(as: old["values"]?[member.name]),
        "before has another value of \(member.name): \(element.text)\nbefore: \(old.text)"
      )
    }
  }

  // MARK: Sections, total and included objects

  /// Applies the members beside the rows.
  ///
  /// In mode `ids`, an update is sent only when the sequence of IDs changes, so that the client's
  /// sections and total may be older than its position.
  private mutating func applyAdditions(_ update: JSONValue, _ request: OracleRequest) throws {
    if let sections = update["sections"] {
      try ObservationMismatch.check(
        request.parameter("sectionBy") != nil
          && (request.returnsIDs || !sections.hasSameContent(as: self.sections)),
        "sections is sent without a difference"
      )
      self.sections = sections
    }
    if let total = update["total"] {
      try ObservationMismatch.check(
        request.parameter("total") == true && (request.returnsIDs || total != self.total),
        "total is sent without a difference"
      )
      self.total = total
    }
    for member in update["included"]?.members ?? [] {
      let differs = !member.value.hasSameContent(as: included[member.name])
      try ObservationMismatch.check(
        request.parameter("include") != nil && differs,
        "included has \(member.name) without a difference"
      )
      included[member.name] = member.value
    }
    for id in update["excluded"]?.array ?? [] {
      try ObservationMismatch.check(
        included.removeValue(forKey: id.string ?? "") != nil,
        "excluded has \(id.text), which was not included"
      )
    }
  }
}
