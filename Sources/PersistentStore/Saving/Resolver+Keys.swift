import CordialValues
import JSON
import ObjectModel

/// The assignment of keys to inserts.
///
/// An insert matches an object that has its identity or its unique values: a stored object, or the
/// object of an earlier insert. The insert gets the key of that object, and otherwise a new key.
extension Resolver {
  /// An insert whose entity is known, but whose key is not assigned yet.
  private struct Draft {
    let index: Int
    let id: ObjectID?
    let entity: EntityLayout
    /// Whether the insert has a temporary ID or no ID.
    var isTemporary: Bool { id == nil || id?.isTemporary == true }
    /// The object that the insert matches; nil for none.
    var existing: ObjectKey?
    /// The objects that have the insert's unique values and prevent its adoption, each with the
    /// unique set.
    var uniqueConflicts: [(set: UniqueSet, key: ObjectKey)] = []
  }

  /// Gives all inserts their keys, in the order of the request.
  mutating func assignKeys() throws {
    newObjects.reserveCapacity(request.inserts.count)
    resolved.keys = Array(repeating: nil, count: request.inserts.count)
    if !request.inserts.isEmpty { named.reserveCapacity(request.inserts.count) }
    var drafts: [Draft] = []
    // An insert usually has the same entity as the preceding insert.
    var last: EntityLayout?
    for (index, insert) in request.inserts.enumerated() {
      guard let draft = try draft(insert, index, last) else { continue }
      last = draft.entity
      // Two inserts must not have the same temporary ID. Two inserts with the same identity are
      // allowed here: the second insert is adopted, or it violates uniqueness.
      if let text = insert.id, named[text] != nil, draft.isTemporary {
        add(.invalid(text, nil, "unique", "Two inserts have this ID"))
        skipChange()
        continue
      }
      if adopts {
        // An insert that matches no object gets its object number below, in the order of the
        // request.
        if let text = insert.id { named[text] = .object(provisionalKey(of: draft)) }
        drafts.append(draft)
      } else {
        try finish(draft, newKey(of: draft.entity))
      }
    }
    guard adopts else { return }
    try findExisting(&drafts)
    var keys: [ObjectKey: ObjectKey] = [:]
    for draft in drafts where draft.existing == nil {
      keys[provisionalKey(of: draft)] = try newKey(of: draft.entity)
    }
    for draft in drafts {
      let key = draft.existing ?? provisionalKey(of: draft)
      let isOther = try draft.existing.map { existing in
        try !hasIdentity(of: existing, request.inserts[draft.index], draft.id)
      }
      finish(draft, keys[key] ?? key, hasOtherIdentity: isOther ?? false)
      for conflict in draft.uniqueConflicts {
        uniqueConflicts.append(
          UniqueConflict(
            index: draft.index,
            key: keys[conflict.key] ?? conflict.key,
            set: conflict.set
          )
        )
      }
    }
  }

  /// Reports the inserts that have unique values of other objects and cannot be adopted.
  mutating func reportUniqueConflicts() throws {
    guard !uniqueConflicts.isEmpty else { return }
    let labels = labels
    var inserts: [ObjectKey: Int] = [:]
    for object in newObjects where !object.isAdopted { inserts[object.key] = object.index }
    for conflict in uniqueConflicts {
      let insert = inserts[conflict.key]
      add(
        .violation(
          of: conflict.set,
          by: label(of: conflict.index),
          existing: try insert.map(label) ?? labels[conflict.key]
            ?? stored.name(of: conflict.key),
          isStored: insert == nil
        )
      )
    }
  }

  /// Returns the name of an insert in problems.
  func label(of index: Int) -> String { request.inserts[index].id ?? "insert[\(index)]" }

  /// Returns the key that represents a new object until all inserts are compared.
  private func provisionalKey(of draft: Draft) -> ObjectKey {
    ObjectKey(entity: draft.entity.entity.number, object: Int64(-1 - draft.index))
  }

  /// Returns the index of the insert that a provisional key represents; nil for other keys.
  func index(ofProvisional key: ObjectKey) -> Int? {
    key.object < 0 ? Int(-1 - key.object) : nil
  }

  private mutating func finish(
    _ draft: Draft,
    _ key: ObjectKey,
    hasOtherIdentity: Bool = false
  ) {
    newObjects.append(
      NewObject(
        index: draft.index,
        key: key,
        id: draft.id,
        isAdopted: draft.existing != nil,
        hasOtherIdentity: hasOtherIdentity
      )
    )
    resolved.keys[draft.index] = key
    if let text = request.inserts[draft.index].id { named[text] = .object(key) }
  }

  private mutating func newKey(of entity: EntityLayout) throws -> ObjectKey {
    let number = try stored.nextNumber(of: entity)
    let first = newNumbers[entity.entity.number]?.lowerBound ?? number
    newNumbers[entity.entity.number] = first...number
    return ObjectKey(entity: entity.entity.number, object: number)
  }

  // MARK: Inserts that meet an object

  /// The maximum number of comparisons of inserts in one save.
  private static let comparisonsMax = 2_000_000

  /// Finds the objects that inserts match: stored objects, or the objects of earlier inserts.
  ///
  /// An insert's unique to-ones may reference earlier or later inserts of the request. The result
  /// for such an insert depends on the results for the inserts that it references. All inserts are
  /// therefore compared again until no result changes.
  private mutating func findExisting(_ drafts: inout [Draft]) throws {
    guard drafts.contains(where: { hasUniqueToOnes($0.entity) }) else {
      return try compare(&drafts, keepsConflicts: false)
    }
    var pass = 0
    while pass * drafts.count <= Self.comparisonsMax {
      let known = drafts.map(\.existing)
      insertedValues = [:]
      adoptedValues = [:]
      // A chain of references needs one pass for each insert in the chain. If more passes are
      // needed, the references form a cycle: each new match of an insert changes the references
      // that determine the match.
      try compare(&drafts, keepsConflicts: pass > drafts.count)
      if drafts.map(\.existing) == known || pass > 2 * drafts.count { return }
      pass += 1
    }
    throw StoreError(
      .limitExceeded,
      "The inserts reference one another in too long a chain of unique to-ones",
      hint: "Insert an object before the objects that reference it",
      data: [
        JSONMember("limit", "insertComparisons"),
        JSONMember("max", .integer(Int64(Self.comparisonsMax))),
      ]
    )
  }

  /// Compares each insert with the stored objects and the inserts before it.
  ///
  /// - Parameters:
  ///   - drafts: The inserts.
  ///   - keepsConflicts: Whether an insert with unique conflicts is not compared again, so that its
  ///     conflicts stay.
  /// - Throws: `SQLiteError`.
  private mutating func compare(_ drafts: inout [Draft], keepsConflicts: Bool) throws {
    for (index, draft) in drafts.enumerated() {
      let insert = request.inserts[draft.index]
      if keepsConflicts, !draft.uniqueConflicts.isEmpty { continue }
      drafts[index].existing = nil
      drafts[index].uniqueConflicts = []
      switch try match(insert, draft.id, draft.entity) {
      case .object(let key):
        drafts[index].existing = key
        try noteValues(insert, draft.id, ofExisting: key)
      case .uniqueConflicts(let found):
        // The insert already has a problem, so its unique values are not recorded for later
        // inserts.
        drafts[index].uniqueConflicts = found
      case .noObject:
        try noteValues(insert, draft.id, draft.entity, of: provisionalKey(of: draft))
      }
      if let text = insert.id {
        named[text] = .object(drafts[index].existing ?? provisionalKey(of: draft))
      }
    }
  }

  private func hasUniqueToOnes(_ entity: EntityLayout) -> Bool {
    let count = entity.entity.attributes.count
    return entity.uniqueSets.contains { $0.columns.contains { $0 >= count } }
  }

  // MARK: Entities

  /// Reads the entity of an insert; returns nil for an invalid insert, which is reported.
  private mutating func draft(
    _ insert: SaveRequest.Insert,
    _ index: Int,
    _ last: EntityLayout?
  ) throws -> Draft? {
    if let last, let text = insert.id, insert.entity == nil,
      ObjectID.isTemporary(text, of: last.entity.name)
    {
      return Draft(index: index, id: nil, entity: last)
    }
    var id: ObjectID?
    if let text = insert.id {
      id = ObjectID(text)
      if id == nil {
        fail(insert, .invalidIdentifier(text, "it is malformed"), "identifier", index)
        return nil
      }
    }
    guard let entity = try entity(of: insert, id) else {
      let error = StoreError.unknownEntity(id?.entity ?? insert.entity ?? "", in: model)
      fail(insert, error, "entity", index)
      return nil
    }
    if let id, let text = insert.id, let error = Self.refusal(of: id, text, entity.entity) {
      fail(insert, error, "identifier", index)
      return nil
    }
    return Draft(index: index, id: id, entity: entity)
  }

  /// Reports an insert that takes no further part in the save.
  private mutating func fail(
    _ insert: SaveRequest.Insert,
    _ error: StoreError,
    _ rule: String,
    _ index: Int
  ) {
    add(SaveProblem(error, rule: rule, id: label(of: index)))
    skipChange()
    if let text = insert.id { named[text] = .failed }
  }

  /// Returns the error for an ID that an insert cannot have; nil for a valid ID.
  private static func refusal(
    of id: ObjectID,
    _ text: String,
    _ entity: EntityDescription
  ) -> StoreError? {
    switch id.key {
    case .temporary: return nil
    case .object:
      return .invalidIdentifier(text, "the store gives these IDs; insert with a temporary ID")
    case .integer, .uuid, .string:
      return IdentityResolver.value(id, entity) == nil
        ? .invalidIdentifier("\(id)", "\(entity.name) has no identity of that form") : nil
    }
  }

  /// Returns the entity that an insert or its ID names; nil for an unknown entity.
  private func entity(
    of insert: SaveRequest.Insert,
    _ id: ObjectID?
  ) throws(StoreError) -> EntityLayout? {
    guard let name = id?.entity ?? insert.entity else {
      throw StoreError(.invalidRequest, "An insert must have an id or an entity")
    }
    if let id, let entity = insert.entity, entity != id.entity {
      throw StoreError(
        .invalidRequest,
        "An insert has the id \(insert.id ?? "") and the entity \(entity), which differ"
      )
    }
    guard let entity = model.entity(named: name) else { return nil }
    guard !entity.isAbstract else {
      throw StoreError(
        .invalidRequest,
        "\(entity.name) is abstract: insert one of "
          + entity.familyPosition.concreteEntities.map { model.entity($0).name }.joined(
            separator: ", "
          ),
        data: [JSONMember("entity", .string(entity.name))]
      )
    }
    return layout.entities[entity.number - 1]
  }
}
