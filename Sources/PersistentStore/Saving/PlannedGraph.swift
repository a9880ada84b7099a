package import CordialValues
import ObjectModel
package import OrderedCollections

/// The object graph after a save: the stored objects, overlaid with the save's changes.
///
/// What always holds:
/// 1. A column or link row that returns to its stored value is not a change.
/// 2. The graph loads only what a save needs: it compares members of a to-many one by one.
package struct PlannedGraph {
  let layout: SaveLayout
  let stored: any StoredObjects
  /// The new objects, in the order of the request.
  package private(set) var inserts: [PlannedInsert] = []
  /// The indices in `inserts` of each entity's new objects, whose numbers are consecutive.
  private var insertIndices: [InsertIndices]
  /// The indices of restored objects in `inserts`.
  private var restoredIndices: [ObjectKey: Int] = [:]
  /// The stored objects with changed columns, in the order of their first change.
  package private(set) var updates: [PlannedUpdate] = []
  private var updateIndices: [ObjectKey: Int] = [:]
  /// The deleted objects in the order in which they are found: the named objects, then cascades.
  package private(set) var deletes: OrderedSet<ObjectKey> = []
  /// The link rows that are inserted (true) and deleted (false), in the order of their first
  /// change.
  package private(set) var links: OrderedDictionary<LinkRow, Bool> = [:]
  /// The changes of each list, compared with the stored list.
  ///
  /// `loadHolders` adds the changes that follow from planned to-ones.
  private var lists: [ListName: ListChange] = [:]
  /// Whether `lists` includes the changes that follow from planned to-ones.
  private var hasLoadedHolders = false

  private struct InsertIndices {
    var first: Int64 = 0
    var indices: [Int] = []
  }

  /// The identity of the list of objects that reference an object through a relationship.
  struct ListName: Hashable {
    /// The number of the relationship, which is negative for the opposite direction of link rows.
    ///
    /// - A to-one: the list has the objects that reference `object` through the to-one.
    /// - A relationship that link rows store: the list has the members of `object`.
    /// - The opposite direction: the list has the objects whose lists contain `object`.
    let relationship: Int
    let object: Int64
  }

  /// The members that joined and left a list, compared with the stored list.
  private struct ListChange {
    var joined = JoinedMembers()
    var left: Set<Int64> = []

    mutating func join(_ object: Int64) {
      if left.remove(object) == nil { joined.append(object) }
    }

    mutating func leave(_ object: Int64) {
      if !joined.remove(object) { left.insert(object) }
    }

    func applied(to members: [Int64]) -> [Int64] {
      (left.isEmpty ? members : members.filter { !left.contains($0) })
        + joined.inOrder
    }
  }

  init(_ layout: SaveLayout, _ stored: any StoredObjects) {
    self.layout = layout
    self.stored = stored
    insertIndices = Array(repeating: InsertIndices(), count: layout.entities.count)
  }

  // MARK: Objects

  mutating func insert(_ insert: PlannedInsert) {
    let entity = insert.key.entity - 1
    if insertIndices[entity].indices.isEmpty { insertIndices[entity].first = insert.key.object }
    // An insert with a problem has an object number but is not planned, so the numbers have gaps.
    let offset = Int(insert.key.object - insertIndices[entity].first)
    while insertIndices[entity].indices.count < offset { insertIndices[entity].indices.append(-1) }
    insertIndices[entity].indices.append(inserts.count)
    inserts.append(insert)
    if hasLoadedHolders { joinLists(insert) }
  }

  /// Adds an object that is restored.
  mutating func restore(_ insert: PlannedInsert) {
    if hasLoadedHolders { joinLists(insert) }
    restoredIndices[insert.key] = inserts.count
    inserts.append(insert)
  }

  /// The numbers of the restored objects, by the index of their entity.
  var restoredNumbers: [(entity: Int, numbers: [Int64])] {
    guard !restoredIndices.isEmpty else { return [] }
    var numbers: [Int: [Int64]] = [:]
    for index in inserts.indices where inserts[index].version != nil {
      numbers[inserts[index].key.entity - 1, default: []].append(inserts[index].key.object)
    }
    return numbers.sorted { $0.key < $1.key }.map { ($0.key, $0.value.sorted()) }
  }

  mutating func reserve(restored count: Int) {
    restoredIndices.reserveCapacity(count)
    inserts.reserveCapacity(count)
  }

  mutating func reserve(deletes count: Int) {
    deletes.reserveCapacity(count)
  }

  mutating func reserve(inserts count: Int) {
    inserts.reserveCapacity(count)
  }

  func insertIndex(of key: ObjectKey) -> Int? {
    let known = insertIndices[key.entity - 1]
    // A reference may contain any number, so the subtraction must not trap on overflow.
    let offset = key.object &- known.first
    guard offset >= 0, offset < known.indices.count else {
      return restoredIndices.isEmpty ? nil : restoredIndices[key]
    }
    let index = known.indices[Int(offset)]
    return index < 0 ? nil : index
  }

  func isInserted(_ key: ObjectKey) -> Bool { insertIndex(of: key) != nil }

  /// The runs of consecutive inserts of one entity, as ranges of indices.
  var runs: [Range<Int>] {
    var runs: [Range<Int>] = []
    var start = 0
    for index in inserts.indices
    where index + 1 == inserts.count
      || inserts[index + 1].key.entity != inserts[start].key.entity
    {
      runs.append(start..<index + 1)
      start = index + 1
    }
    return runs
  }

  /// The range of object numbers of each entity's inserts, by the entity's index.
  var insertedNumbers: [(entity: Int, numbers: ClosedRange<Int64>)] {
    insertIndices.enumerated().compactMap { entity, known in
      known.indices.isEmpty
        ? nil : (entity, known.first...known.first + Int64(known.indices.count) - 1)
    }
  }

  /// Returns whether an object exists after the save.
  func exists(_ key: ObjectKey) throws -> Bool {
    guard !deletes.contains(key) else { return false }
    return try isInserted(key) || stored.version(of: key) != nil
  }

  mutating func delete(_ key: ObjectKey) throws {
    guard deletes.append(key).inserted, hasLoadedHolders else { return }
    try removeFromCountedLists(key)
  }

  /// Removes a deleted object from the to-manys whose number of members the model limits.
  private mutating func removeFromCountedLists(_ key: ObjectKey) throws {
    for (_, toOne) in layout.entity(key).toOnes where toOne.inverse?.isCounted == true {
      guard let owner = try target(of: toOne, key) else { continue }
      lists[ListName(toOne, owner), default: ListChange()].leave(key.object)
    }
  }

  // MARK: Columns

  /// Returns the value of a column; null if the object does not exist.
  func value(_ column: Int, of key: ObjectKey) throws -> AttributeValue {
    if let index = insertIndex(of: key) { return inserts[index].row[column] }
    if let index = updateIndices[key], let value = updates[index].columns[column: column] {
      return value
    }
    return try stored.value(column, of: key) ?? .null
  }

  /// Returns the planned update of an object, or nil if there is none.
  func update(of key: ObjectKey) -> PlannedUpdate? { updateIndices[key].map { updates[$0] } }

  /// Sets columns of a stored object.
  ///
  /// Columns of to-ones may be set here only before the first call of `holders`. Later, only
  /// `set(_:of:to:)` may set them, because it also updates `lists`.
  mutating func set(_ columns: [ColumnChange], of key: ObjectKey) {
    guard !columns.isEmpty else { return }
    let index = index(ofUpdate: key)
    for column in columns { updates[index].columns.set(column.column, to: column.value) }
  }

  private mutating func index(ofUpdate key: ObjectKey) -> Int {
    if let index = updateIndices[key] { return index }
    updateIndices[key] = updates.count
    updates.append(PlannedUpdate(key: key, columns: []))
    return updates.count - 1
  }

  /// Sets a column of an insert.
  mutating func set(_ column: Int, to value: AttributeValue, ofInsert index: Int) {
    inserts[index].row[column] = value
  }

  // MARK: To-ones

  /// Returns the number of the object that a to-one references, or nil.
  func target(of toOne: RelationshipLayout, _ key: ObjectKey) throws -> Int64? {
    guard let column = layout.entity(key).column(of: toOne),
      case .integer(let number) = try value(column, of: key)
    else { return nil }
    return number
  }

  /// Sets a to-one, but not its inverse.
  mutating func set(_ toOne: RelationshipLayout, of key: ObjectKey, to target: Int64?) throws {
    guard let column = layout.entity(key).column(of: toOne) else { return }
    let value: AttributeValue = target.map { .integer($0) } ?? .null
    if hasLoadedHolders {
      let old = try self.target(of: toOne, key)
      guard old != target else { return }
      if let old { lists[ListName(toOne, old), default: ListChange()].leave(key.object) }
      if let target { lists[ListName(toOne, target), default: ListChange()].join(key.object) }
    }
    if let index = insertIndex(of: key) {
      inserts[index].row[column] = value
    } else {
      let index = index(ofUpdate: key)
      updates[index].columns.set(column, to: value)
    }
  }

  /// Adds the changes that follow from planned to-ones to `lists`, once.
  private mutating func loadHolders() throws {
    guard !hasLoadedHolders else { return }
    hasLoadedHolders = true
    for insert in inserts { joinLists(insert) }
    for update in updates {
      for (column, toOne) in layout.entity(update.key).toOnes {
        guard let value = update.columns[column: column] else { continue }
        let old = try stored.value(column, of: update.key)
        guard old != value else { continue }
        if case .integer(let target)? = old {
          lists[ListName(toOne, target), default: ListChange()].leave(update.key.object)
        }
        if case .integer(let target) = value {
          lists[ListName(toOne, target), default: ListChange()].join(update.key.object)
        }
      }
    }
    for key in deletes { try removeFromCountedLists(key) }
  }

  /// Adds a new object to the lists of the objects that its to-ones reference.
  private mutating func joinLists(_ insert: PlannedInsert) {
    for (column, toOne) in layout.entity(insert.key).toOnes {
      guard case .integer(let target) = insert.row[column] else { continue }
      lists[ListName(toOne, target), default: ListChange()].join(insert.key.object)
    }
  }

  /// Returns the objects whose to-one references an object, including deleted objects.
  mutating func holders(of toOne: RelationshipLayout, to key: ObjectKey) throws -> [ObjectKey] {
    try loadHolders()
    let known = isInserted(key) ? [] : try stored.holders(of: toOne, to: key.object)
    guard let change = lists[ListName(toOne, key.object)] else { return known }
    return change.applied(to: known.map(\.object)).map(toOne.holder)
  }

  // MARK: To-manys

  /// Returns the object numbers of a to-many's members: stored members first, then joined members.
  mutating func members(of toMany: RelationshipLayout, _ owner: ObjectKey) throws -> [Int64] {
    let known = isInserted(owner) ? [] : try stored.members(of: toMany, owner)
    return try change(of: toMany, owner)?.applied(to: known) ?? known
  }

  /// Returns the numbers of the owners that have an object as a member; the to-many has no inverse.
  func linkSources(of toMany: RelationshipLayout, to member: ObjectKey) throws -> [Int64] {
    let known = isInserted(member) ? [] : try stored.linkSources(of: toMany, to: member.object)
    return lists[ListName(backwards: toMany, member.object)]?.applied(to: known) ?? known
  }

  /// Returns the number of members of a to-many.
  ///
  /// If there are more members than the limit, the result may be too small, but is at least the
  /// limit.
  mutating func memberCount(
    of toMany: RelationshipLayout,
    _ owner: ObjectKey,
    upTo limit: Int = .max
  ) throws -> Int {
    let change = try change(of: toMany, owner)
    guard !isInserted(owner) else { return change?.joined.count ?? 0 }
    let left = change?.left.count ?? 0
    let counted = limit > .max - left ? .max : limit + left
    let known = try stored.memberCount(of: toMany, owner, upTo: counted)
    return known + (change?.joined.count ?? 0) - left
  }

  /// Returns whether an object is a member of a to-many.
  func contains(
    _ member: ObjectKey,
    in toMany: RelationshipLayout,
    of owner: ObjectKey
  ) throws
    -> Bool
  {
    if !toMany.isLinked {
      guard let inverse = toMany.inverse else { return false }
      return try target(of: inverse, member) == owner.object
    }
    if let planned = links[LinkRow(toMany, owner.object, member.object)] { return planned }
    guard !isInserted(owner), !isInserted(member) else { return false }
    return try stored.isLinked(toMany, owner, member.object)
  }

  private mutating func change(
    of toMany: RelationshipLayout,
    _ owner: ObjectKey
  ) throws -> ListChange? {
    guard !toMany.isLinked else { return lists[ListName(toMany, owner.object)] }
    guard let inverse = toMany.inverse else { return nil }
    try loadHolders()
    return lists[ListName(inverse, owner.object)]
  }

  /// Returns the rank, in the order of writing, of the row that stores a membership; -1 if the save
  /// does not write the row.
  func writingRank(
    of member: Int64,
    in toMany: RelationshipLayout,
    of owner: ObjectKey
  ) -> Int {
    if toMany.isLinked { return links.index(forKey: LinkRow(toMany, owner.object, member)) ?? -1 }
    let key = toMany.target(member)
    return insertIndex(of: key) ?? updateIndices[key].map { inserts.count + $0 } ?? -1
  }

  /// Returns the members that joined a to-many, in the order of joining.
  mutating func joined(_ toMany: RelationshipLayout, _ owner: ObjectKey) throws -> [Int64] {
    try change(of: toMany, owner)?.joined.inOrder ?? []
  }

  /// Adds a missing link row, or removes an existing link row.
  mutating func setLink(
    _ isLinked: Bool,
    _ toMany: RelationshipLayout,
    of owner: ObjectKey,
    to member: ObjectKey
  ) {
    let row = LinkRow(toMany, owner.object, member.object)
    if links.removeValue(forKey: row) == nil { links[row] = isLinked }
    note(member.object, isLinked, in: ListName(toMany, owner.object))
    guard let inverse = toMany.inverse else {
      return note(owner.object, isLinked, in: ListName(backwards: toMany, member.object))
    }
    guard inverse !== toMany || owner.object != member.object else { return }
    note(owner.object, isLinked, in: ListName(inverse, member.object))
  }

  private mutating func note(_ member: Int64, _ isMember: Bool, in list: ListName) {
    if isMember {
      lists[list, default: ListChange()].join(member)
    } else {
      lists[list, default: ListChange()].leave(member)
    }
  }
}

extension PlannedGraph.ListName {
  init(_ relationship: RelationshipLayout, _ object: Int64) {
    self.init(relationship: relationship.number, object: object)
  }

  /// Creates the name of the list of owners of a member, for a to-many without an inverse.
  init(backwards relationship: RelationshipLayout, _ object: Int64) {
    self.init(relationship: -1 - relationship.number, object: object)
  }
}

/// A row of a link table, seen from the relationship that owns the table.
package struct LinkRow: Hashable {
  /// The number of the relationship that owns the table.
  package let relationship: Int
  /// The number of the object at the end that owns the link rows.
  package let source: Int64
  /// The number of the object at the other end.
  package let target: Int64

  /// Creates the row that links an object with a member of one of its to-manys.
  ///
  /// A symmetric link may be stored in either direction, but has one `LinkRow`.
  init(_ toMany: RelationshipLayout, _ owner: Int64, _ member: Int64) {
    relationship = toMany.linkNumber
    let isReversed = toMany.description.isSymmetric ? member < owner : !toMany.ownsLinks
    source = isReversed ? member : owner
    target = isReversed ? owner : member
  }
}

/// A new or restored object in the form in which it is stored.
package struct PlannedInsert {
  /// The new object.
  package let key: ObjectKey
  /// The object's name in problems: the ID that the client sent.
  package let label: String
  /// A value for each column.
  package var row: [AttributeValue]
  /// The version of a restored object; nil for a new object.
  var version: Int64?
}

/// The new values of columns of a stored object.
package struct PlannedUpdate {
  /// The changed object.
  package let key: ObjectKey
  /// The changed columns, each once with its last value.
  package var columns: [ColumnChange]
}
