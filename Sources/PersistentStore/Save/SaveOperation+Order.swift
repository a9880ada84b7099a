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

  /// Puts a member of a to-many where it stood, if it is one, and nobody put it there since.
  mutating func putBack(_ row: HistoryRow, _ obstacles: Obstacles) throws {
    let key = model.key(row.entity, row.object)
    guard let former = row.formerPlace,
      case .relationship(let relationship)? = model.entity(key.entity)
        .property(named: former.property), relationship.ordered, problems.isEmpty,
      case let member = model.key(relationship.destination, row.other),
      !obstacles.keep(member, in: relationship, of: key),
      let place = try place(of: row.other, relationship, key), place != former.place
    else { return }
    try set(former.place, of: row.other, relationship, key)
    let list = CountedRelationship(object: key, relationship: relationship.name)
    // Who left and returns is a change of its own only, as its leaving was.
    reordered[list] = reordered[list] ?? false || former.event == .moved
  }

  /// Gives members places of their own where some were put back to one place, and counts versions
  /// of the owners whose members moved.
  mutating func partPlaces() throws {
    for (list, moved) in reordered.sorted(by: {
      ($0.key.object, $0.key.relationship) < ($1.key.object, $1.key.relationship)
    }) {
      guard
        case .relationship(let relationship)? = model.entity(list.object.entity)
          .property(named: list.relationship)
      else { continue }
      let places = try places(relationship, list.object).compactMapValues { $0 }
      let clash = Set(places.values).count < places.count
      if clash {
        let sequence = places.sorted { ($0.value, $0.key) < ($1.value, $1.key) }.map(\.key)
        try place(sequence, relationship, list.object)
      }
      guard moved || clash else { continue }
      try count(list.object)
      movedOwners.insert(list.object)
    }
    reordered = [:]
  }

  /// The place of one member; nil where it is none.
  private func place(
    of member: Int64,
    _ relationship: RelationshipDescription,
    _ key: ObjectKey
  ) throws -> Int64? {
    let (source, own, other) = placeTable(relationship)
    let row = try table(key).query(
      "SELECT \(SQLNames.quoted(placeColumn(relationship))) FROM \(source) "
        + "WHERE \(other) = ? AND \(own) = ?"
    )
    defer { row.reset() }
    row.bind(member, at: 1)
    row.bind(key.object, at: 2)
    return try row.step() ? row.optionalInteger(0) : nil
  }

  /// Where the places of a to-many's members are kept: the table, the column of the owner, and that
  /// of the member.
  private func placeTable(
    _ relationship: RelationshipDescription
  ) -> (source: String, own: String, other: String) {
    switch relationship.storage {
    case .pairs(let owner, let name, let owns):
      let pairs = SQLNames.quoted(SQLNames.pairs(model.entity(owner), name))
      return owns ? (pairs, "source", "target") : (pairs, "target", "source")
    case .column, .inverseColumn:
      let source = model.source(model.entity(relationship.destination))
      return (source, SQLNames.quoted(relationship.inverse ?? ""), "\"_id\"")
    }
  }

  func places(
    _ relationship: RelationshipDescription,
    _ key: ObjectKey
  ) throws -> [Int64: Int64?] {
    let (source, own, other) = placeTable(relationship)
    let rows = try table(key).query(
      "SELECT \(other), \(SQLNames.quoted(placeColumn(relationship))) FROM \(source) "
        + "WHERE \(own) = ?"
    )
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
    if case .pairs = relationship.storage {
      let (pairs, own, other) = placeTable(relationship)
      statement = try table(key).query(
        "UPDATE \(pairs) SET \(column) = ? WHERE \(other) = ? AND \(own) = ?"
      )
      statement.bind(key.object, at: 3)
    } else {
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
