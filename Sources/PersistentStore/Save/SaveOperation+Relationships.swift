import CordialValues
import JSON
import ObjectModel
import PersistentHistory

/// Keeping both ends of a relationship, from whichever end it is set.
extension SaveOperation {
  /// Counts a version of an object that changed through one of its relationships, once in a save.
  mutating func count(_ key: ObjectKey) throws {
    guard !isInserted(key), counted.insert(key).inserted else { return }
    try table(key).count(key.object)
  }

  /// Has the count of a to-many checked in the end that an object may be about to leave, seen from
  /// its to-one.
  mutating func touchOwner(_ relationship: RelationshipDescription, of key: ObjectKey) throws {
    guard let inverse = inverse(of: relationship), inverse.toMany, inverse.minimumCount > 0,
      !isInserted(key)
    else { return }
    let entity = model.entity(key.entity)
    let owners = try table(key).numbers(
      "SELECT \(SQLNames.quoted(relationship.name)) FROM \(SQLNames.quoted(entity.name)) "
        + "WHERE \"_id\" = ?",
      key.object
    )
    for owner in owners {
      touchedCounts.insert(
        CountedRelationship(
          object: model.key(relationship.destination, owner),
          relationship: inverse.name
        )
      )
    }
  }

  /// Whether both ends of a relationship lead to one object.
  func isOneToOne(_ relationship: RelationshipDescription) -> Bool {
    !relationship.toMany && inverse(of: relationship)?.toMany == false
  }

  /// Sets a to-one column of an object that is not the one being saved, or follows from another.
  mutating func set(
    _ relationship: RelationshipDescription,
    of key: ObjectKey,
    to target: Int64?,
    follows: Bool = true
  ) throws {
    if follows { followed[key, default: []].insert(relationship.name) }
    guard let place = table(key).places[relationship.name] else { return }
    let value: AttributeValue = target.map { .integer($0) } ?? .null
    let counts = !isInserted(key) && !counted.contains(key)
    if try table(key).update(key.object, [(place, value)], counting: counts) {
      counted.insert(key)
    }
  }

  /// Has the other end follow a to-one that was set, where its inverse is a to-one too.
  ///
  /// Whoever had that end before loses it: the later claim wins.
  mutating func claim(
    _ value: JSONValue,
    _ relationship: RelationshipDescription,
    of key: ObjectKey,
    _ label: String
  ) throws {
    let target = try target(value, relationship, label)
    let destination = model.entity(relationship.destination)
    guard let name = relationship.inverse,
      case .relationship(let inverse)? = destination.property(named: name)
    else { return }
    if !inverse.toMany, isInserted(key) {
      // Its row was written without it; a claim of before may have set it.
      try set(relationship, of: key, to: target?.object, follows: false)
    }
    guard !inverse.toMany else {
      if isInserted(key), followed[key]?.contains(relationship.name) == true {
        // The list of an insert before this one had put it elsewhere.
        try set(relationship, of: key, to: target?.object)
      }
      if let target {
        touchedCounts.insert(CountedRelationship(object: target, relationship: name))
      }
      return
    }
    let holders = try self.holders(of: inverse, to: key)
    for holder in holders where holder != target { try set(inverse, of: holder, to: nil) }
    guard let target else { return }
    for rival in try self.holders(of: relationship, to: target) where rival != key {
      try set(relationship, of: rival, to: nil)
    }
    if !holders.contains(target) { try set(inverse, of: target, to: key.object) }
  }

  /// The objects whose to-one leads to an object.
  func holders(of relationship: RelationshipDescription, to key: ObjectKey) throws -> [ObjectKey] {
    let owner = model.entity(relationship.owner)
    return try table(key).numbers(
      "SELECT \"_id\" FROM \(model.source(owner)) WHERE \(SQLNames.quoted(relationship.name)) = ?",
      key.object
    )
    .map { model.key(owner.number, $0) }
  }

  /// A to-many was sent: the whole list, or what to add and to remove.
  mutating func setToMany(
    _ value: JSONValue,
    _ relationship: RelationshipDescription,
    of key: ObjectKey,
    _ label: String
  ) throws {
    let present = isInserted(key) ? [] : try members(relationship, of: key)
    let current = Set(present)
    let sequence: [Int64]
    if let list = value.array {
      sequence = try numbers(list, relationship, label)
    } else if let changed = try changed(present, by: value, relationship, label) {
      sequence = changed
    } else {
      return
    }
    let wanted = Set(sequence)
    touchedCounts.insert(CountedRelationship(object: key, relationship: relationship.name))
    let added = sequence.filter { !current.contains($0) }
    // What comes new goes to the end, in the order in which it comes.
    for number in relationship.ordered ? added : added.sorted() {
      try join(number, relationship, key)
    }
    for number in current.subtracting(wanted).sorted() {
      try part(number, relationship, key)
    }
    if relationship.ordered { try place(sequence, relationship, key) }
  }

  /// The members after an addition and a removal; nil when the value is a problem, which is noted.
  private mutating func changed(
    _ present: [Int64],
    by value: JSONValue,
    _ relationship: RelationshipDescription,
    _ label: String
  ) throws -> [Int64]? {
    let known = relationship.ordered ? ["@add", "@remove", "@at"] : ["@add", "@remove"]
    guard let members = value.members, !members.isEmpty,
      members.allSatisfy({ known.contains($0.name) }),
      let add = (value["@add"] ?? []).array, let remove = (value["@remove"] ?? []).array,
      value["@at"] == nil || value["@at"]?.integer != nil
    else {
      problem(
        label,
        relationship.name,
        "type",
        "\(relationship.name) wants a list of wrapped IDs, or {\"@add\": […], \"@remove\": […]"
          + (relationship.ordered ? ", \"@at\": place}" : "}")
      )
      return nil
    }
    var sequence = present
    let added = try numbers(add, relationship, label)
    let gone = Set(try numbers(remove, relationship, label))
    let isPlaced = value["@at"] != nil
    sequence.removeAll { gone.contains($0) || isPlaced && added.contains($0) }
    let place = value["@at"]?.integer ?? Int64(sequence.count)
    guard 0...Int64(sequence.count) ~= place else {
      problem(
        label,
        relationship.name,
        "place",
        "\(relationship.name) has the places 0 to \(sequence.count), not \(place)"
      )
      return nil
    }
    let present = Set(sequence)
    sequence.insert(
      contentsOf: added.filter { !gone.contains($0) && !present.contains($0) },
      at: Int(place)
    )
    return sequence
  }

  /// The objects of a list, each once.
  private mutating func numbers(
    _ list: [JSONValue],
    _ relationship: RelationshipDescription,
    _ label: String
  ) throws -> [Int64] {
    var numbers: [Int64] = []
    var seen: Set<Int64> = []
    for element in list {
      if element.isNull {
        problem(label, relationship.name, "type", "\(relationship.name) has no null in its list")
      } else if let key = try target(element, relationship, label) {
        if seen.insert(key.object).inserted { numbers.append(key.object) }
      }
    }
    return numbers
  }

  /// The objects at the other end of a to-many, in its order where it has one.
  func members(_ relationship: RelationshipDescription, of key: ObjectKey) throws -> [Int64] {
    let destination = model.entity(relationship.destination)
    switch relationship.storage {
    case .column: return []
    case .inverseColumn:
      return try table(key).numbers(
        "SELECT \"_id\" FROM \(model.source(destination)) "
          + "WHERE \(SQLNames.quoted(relationship.inverse ?? "")) = ?" + order(relationship),
        key.object
      )
    case .pairs(let owner, let name, _) where relationship.isSymmetric:
      let pairs = SQLNames.quoted(SQLNames.pairs(model.entity(owner), name))
      return try table(key).numbers(
        "SELECT target FROM \(pairs) WHERE source = ?1 "
          + "UNION SELECT source FROM \(pairs) WHERE target = ?1",
        key.object
      )
    case .pairs(let owner, let name, let owns):
      let pairs = SQLNames.quoted(SQLNames.pairs(model.entity(owner), name))
      return try table(key).numbers(
        (owns
          ? "SELECT target FROM \(pairs) WHERE source = ?"
          : "SELECT source FROM \(pairs) WHERE target = ?") + order(relationship),
        key.object
      )
    }
  }

  /// Puts an object into a to-many.
  private mutating func join(
    _ number: Int64,
    _ relationship: RelationshipDescription,
    _ key: ObjectKey
  ) throws {
    let other = model.key(relationship.destination, number)
    switch relationship.storage {
    case .column: return
    case .inverseColumn:
      guard let inverse = inverse(of: relationship) else { return }
      try touchOwner(inverse, of: other)
      try set(inverse, of: other, to: key.object)
    case .pairs:
      try pair(.insert, relationship, key, number)
    }
  }

  /// Takes an object out of a to-many.
  mutating func part(
    _ number: Int64,
    _ relationship: RelationshipDescription,
    _ key: ObjectKey
  ) throws {
    let other = model.key(relationship.destination, number)
    touchedCounts.insert(CountedRelationship(object: key, relationship: relationship.name))
    if let inverse = inverse(of: relationship), inverse.toMany {
      touchedCounts.insert(CountedRelationship(object: other, relationship: inverse.name))
    }
    switch relationship.storage {
    case .column: return
    case .inverseColumn:
      guard let inverse = inverse(of: relationship) else { return }
      if !inverse.optional {
        problem(name(other), inverse.name, "required", "\(inverse.name) must have a value")
      }
      try set(inverse, of: other, to: nil)
    case .pairs:
      try pair(.delete, relationship, key, number)
    }
  }

  func inverse(of relationship: RelationshipDescription) -> RelationshipDescription? {
    guard let name = relationship.inverse,
      case .relationship(let inverse)? = model.entity(relationship.destination)
        .property(named: name)
    else { return nil }
    return inverse
  }

  /// Writes or removes a pair; it is a change of both sides where there is an inverse.
  mutating func pair(
    _ change: EntityTable.PairChange,
    _ relationship: RelationshipDescription,
    _ key: ObjectKey,
    _ number: Int64
  ) throws {
    guard case .pairs(let owner, let name, let owns) = relationship.storage else { return }
    let (source, target) = owns ? (key.object, number) : (number, key.object)
    let statement = try table(key).pairStatement(change, relationship, in: model)
    statement.bind(source, at: 1)
    statement.bind(target, at: 2)
    try statement.run()
    var written = statement.changes
    if relationship.isSymmetric, change == .delete {
      statement.bind(target, at: 1)
      statement.bind(source, at: 2)
      try statement.run()
      written += statement.changes
    }
    guard written > 0 else { return }
    // Of a symmetric pair either may be the source.
    let isTurned = relationship.isSymmetric && target < source
    let pair = PairName(
      entity: owner,
      relationship: name,
      source: isTurned ? target : source,
      target: isTurned ? source : target
    )
    let other = model.key(relationship.destination, number)
    let ends = relationship.inverse == nil ? [key] : [key, other]
    pairings[pair, default: (0, ends)].balance += change == .insert ? 1 : -1
  }

  /// Counts versions of the objects at the ends of pairs that came or went; one that did both did
  /// not change.
  mutating func countPairs() throws {
    let changed = pairings.values.filter { $0.balance != 0 }.flatMap(\.ends)
    pairings = [:]
    for key in Set(changed).sorted() { try count(key) }
  }

  /// Checks the counts of the to-manys that this save touched.
  mutating func checkCounts() throws {
    for touched in touchedCounts.sorted(by: {
      ($0.object, $0.relationship) < ($1.object, $1.relationship)
    }) {
      guard
        case .relationship(let relationship)? = model.entity(touched.object.entity)
          .property(named: touched.relationship), relationship.toMany,
        relationship.minimumCount > 0 || relationship.maximumCount != nil,
        try table(touched.object).version(of: touched.object.object) != nil
      else { continue }
      let count = try members(relationship, of: touched.object).count
      if count < relationship.minimumCount {
        problem(
          name(touched.object),
          relationship.name,
          "minimumCount",
          "\(relationship.name) has \(count), fewer than \(relationship.minimumCount)"
        )
      } else if let maximum = relationship.maximumCount, count > maximum {
        problem(
          name(touched.object),
          relationship.name,
          "maximumCount",
          "\(relationship.name) has \(count), more than \(maximum)"
        )
      }
    }
  }
}
