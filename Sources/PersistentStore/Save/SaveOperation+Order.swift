import CordialValues
import ObjectModel
import PersistentHistory

/// Ordered to-manys.
extension SaveOperation {
  /// What stands behind a query for the members of a to-many.
  func order(_ relationship: RelationshipDescription) -> String {
    guard relationship.ordered else { return "" }
    return " ORDER BY \(SQLNames.quoted(placeColumn(relationship)))"
  }

  private func placeColumn(_ relationship: RelationshipDescription) -> String {
    switch relationship.storage {
    case .pairs(_, _, let owns):
      owns ? SQLNames.pairPlaces.ofTarget : SQLNames.pairPlaces.ofSource
    case .column, .inverseColumn: SQLNames.place(relationship.inverse ?? "")
    }
  }

  /// Puts the members of a to-many into an order, moving as few as that takes.
  mutating func place(
    _ sequence: [Int64],
    _ relationship: RelationshipDescription,
    _ key: ObjectKey
  ) throws {
    let present = try places(relationship, key)
    let wanted = OrderedPlaces.assign(sequence.map { present[$0] ?? nil }, gap: OrderSchema.gap)
    var moved = false
    for (number, place) in zip(sequence, wanted) where present[number] != .some(place) {
      moved = true
      try set(place, of: number, relationship, key)
    }
    if moved { try count(key) }
  }

  private func places(
    _ relationship: RelationshipDescription,
    _ key: ObjectKey
  ) throws -> [Int64: Int64?] {
    let place = SQLNames.quoted(placeColumn(relationship))
    let sql: String
    switch relationship.storage {
    case .pairs(let owner, let name, let owns):
      let pairs = SQLNames.quoted(SQLNames.pairs(model.entity(owner), name))
      sql =
        owns
        ? "SELECT target, \(place) FROM \(pairs) WHERE source = ?"
        : "SELECT source, \(place) FROM \(pairs) WHERE target = ?"
    case .column, .inverseColumn:
      let source = model.source(model.entity(relationship.destination))
      sql =
        "SELECT \"_id\", \(place) FROM \(source) "
        + "WHERE \(SQLNames.quoted(relationship.inverse ?? "")) = ?"
    }
    let rows = try table(key).query(sql)
    defer { rows.reset() }
    rows.bind(key.object, at: 1)
    var places: [Int64: Int64?] = [:]
    while try rows.step() { places[rows.integer(0)] = .some(rows.optionalInteger(1)) }
    return places
  }

  private func set(
    _ place: Int64,
    of number: Int64,
    _ relationship: RelationshipDescription,
    _ key: ObjectKey
  ) throws {
    let column = SQLNames.quoted(placeColumn(relationship))
    let statement: PreparedStatement
    switch relationship.storage {
    case .pairs(let owner, let name, let owns):
      let pairs = SQLNames.quoted(SQLNames.pairs(model.entity(owner), name))
      let (own, other) = owns ? ("source", "target") : ("target", "source")
      statement = try table(key).query(
        "UPDATE \(pairs) SET \(column) = ? WHERE \(other) = ? AND \(own) = ?"
      )
      statement.bind(key.object, at: 3)
    case .column, .inverseColumn:
      let member = model.key(relationship.destination, number)
      let name = SQLNames.quoted(model.entity(member.entity).name)
      statement = try table(member).query("UPDATE \(name) SET \(column) = ? WHERE \"_id\" = ?")
    }
    statement.bind(place, at: 1)
    statement.bind(number, at: 2)
    try statement.run()
  }
}

/// Places for the members of a sequence.
enum OrderedPlaces {
  /// Ascending places, most of them the present ones.
  ///
  /// - Parameters:
  ///   - present: The place that each member has now, nil for none.
  ///   - gap: How far apart new ones are where there is room.
  /// - Returns: A place for each.
  /// - Complexity: O(*n* log *n*).
  static func assign(_ present: [Int64?], gap: Int64) -> [Int64] {
    let kept = longestAscending(present)
    var places: [Int64] = []
    places.reserveCapacity(present.count)
    for (before, next) in zip([nil] + kept.map { Optional($0) }, kept.map { Optional($0) } + [nil])
    {
      let count = Int64((next ?? present.count) - (before.map { $0 + 1 } ?? 0))
      let lower = before.flatMap { present[$0] }
      let upper = next.flatMap { present[$0] }
      switch (lower, upper) {
      case (let lower?, let upper?):
        let step = (upper - lower) / (count + 1)
        // No room: everything is placed anew.
        guard step > 0 else { return present.indices.map { Int64($0 + 1) * gap } }
        places += (0..<count).map { lower + step * ($0 + 1) }
      case (let lower?, nil): places += (0..<count).map { lower + gap * ($0 + 1) }
      case (nil, let upper?): places += (0..<count).map { upper - gap * (count - $0) }
      case (nil, nil): places += (0..<count).map { gap * ($0 + 1) }
      }
      if let upper { places.append(upper) }
    }
    return places
  }

  /// The indices of as many places as possible that ascend.
  private static func longestAscending(_ places: [Int64?]) -> [Int] {
    /// For each length, the index of the smallest place with which such a run ends.
    var ends: [Int] = []
    var previous = Array(repeating: -1, count: places.count)
    for (index, place) in places.enumerated() {
      guard let place else { continue }
      var low = 0
      var high = ends.count
      while low < high {
        let middle = (low + high) / 2
        if (places[ends[middle]] ?? 0) < place { low = middle + 1 } else { high = middle }
      }
      previous[index] = low > 0 ? ends[low - 1] : -1
      if low == ends.count { ends.append(index) } else { ends[low] = index }
    }
    var run: [Int] = []
    var index = ends.last ?? -1
    while index >= 0 {
      run.append(index)
      index = previous[index]
    }
    return run.reversed()
  }
}
