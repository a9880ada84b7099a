package import CordialValues
import JSON
import ObjectModel
import PersistentHistory

/// The first stage of a save: converts names, temporary IDs and identities to keys, and JSON values
/// to typed values.
///
/// A change that names an unknown entity, a malformed ID or a missing object causes one problem and
/// takes no further part in the save.
package struct Resolver {
  let layout: SaveLayout
  let stored: any StoredObjects
  let request: SaveRequest
  /// The problems of the request.
  package private(set) var problems = ProblemList()
  /// The request in keys and typed values.
  package var resolved = ResolvedSave()
  /// The objects by the IDs that name them: IDs of inserts, and IDs of stored objects that the save
  /// has looked up.
  var named: [String: Target] = [:]
  /// The object that holds each combination of unique values because of an earlier insert.
  ///
  /// The object is nil if an earlier insert replaced these values in a stored object. Only merge
  /// policies that adopt inserts need this dictionary.
  var insertedValues: [UniqueValues: ObjectKey?] = [:]
  /// The unique values that inserts give to the objects that they match, by property.
  var adoptedValues: [ObjectKey: [String: AttributeValue]] = [:]
  /// The range of the new objects' numbers, by entity number.
  var newNumbers: [Int: ClosedRange<Int64>] = [:]
  /// The IDs of inserts that the request also updates or deletes.
  private var insertedTexts: Set<String> = []
  /// The objects that the save deletes; inserts do not match these objects.
  var deletedKeys: Set<ObjectKey> = []
  /// The parts of the request that the save skips because they have problems.
  package var skippedParts = SkippedParts()
  /// The new objects by their identity values; nil until an ID is looked up.
  var insertedIdentities: [UniqueValues: ObjectKey]?
  /// Whether the merge policy can adopt an insert that matches an existing object, as an update.
  let adopts: Bool

  /// The result of looking up an ID.
  enum Target {
    case object(ObjectKey)
    /// An ID whose problem is already reported.
    case failed
  }

  /// Prepares the resolution of a request.
  package init(_ request: SaveRequest, _ layout: SaveLayout, _ stored: any StoredObjects) {
    self.request = layout.hasComposites ? request.expandingInserts(in: layout.model) : request
    self.layout = layout
    self.stored = stored
    switch request.mergePolicy {
    case .error, .named: adopts = false
    case .objectTrump, .overwrite, .storeTrump, .rollback: adopts = true
    }
  }

  var model: Model { layout.model }

  /// The IDs that the request uses for objects, by object.
  package var labels: [ObjectKey: String] {
    var labels: [ObjectKey: String] = [:]
    for (text, target) in named {
      if case .object(let key) = target, !isInserted(key) { labels[key] = text }
    }
    for delete in resolved.deletes { labels[delete.key] = delete.label }
    for update in resolved.updates { labels[update.key] = update.label }
    return labels
  }

  mutating func add(_ problem: SaveProblem) { problems.add(problem) }

  /// Records that the save skips a change of the request.
  mutating func skipChange() { skippedParts.isWholeChange = true }

  /// Resolves the whole request.
  ///
  /// - Throws: `StoreError` for a request that is not well-formed; `SQLiteError`.
  package mutating func resolve() throws {
    if !request.inserts.isEmpty { try findDeletedKeys() }
    try assignKeys()
    for id in request.updates.map(\.id) + request.deletes.map(\.id) where named[id] != nil {
      insertedTexts.insert(id)
    }
    try readInserts()
    try readUpdates()
    try readDeletes()
    checkRepetitions()
    try reportUniqueConflicts()
  }

  // MARK: Inserts

  struct NewObject {
    let index: Int
    let key: ObjectKey
    let id: ObjectID?
    let isAdopted: Bool
    /// Whether the identities of the insert and of the object that it matches differ.
    let hasOtherIdentity: Bool
  }

  /// An insert, with an object that has its unique values and prevents its adoption.
  struct UniqueConflict {
    let index: Int
    let key: ObjectKey
    let set: UniqueSet
  }

  var uniqueConflicts: [UniqueConflict] = []

  /// The objects of the inserts without problems, in the order of the request.
  var newObjects: [NewObject] = []

  private mutating func findDeletedKeys() throws {
    for delete in request.deletes {
      do {
        if case .object(let key)? = try storedTarget(delete.id) { deletedKeys.insert(key) }
      } catch is StoreError {
        // `readDeletes` reports the invalid ID later.
        continue
      }
    }
  }

  private mutating func readInserts() throws {
    resolved.inserts.reserveCapacity(newObjects.count)
    for object in newObjects {
      let insert = request.inserts[object.index]
      let label = label(of: object.index)
      if object.isAdopted {
        try readAdoption(insert, object, label)
      } else {
        try readInsert(insert, object, label)
      }
    }
  }

  private mutating func readInsert(
    _ insert: SaveRequest.Insert,
    _ object: NewObject,
    _ label: String
  ) throws {
    let entity = layout.entity(object.key)
    var read = ResolvedInsert(
      index: object.index,
      key: object.key,
      label: label,
      row: entity.defaults,
      given: Array(repeating: false, count: entity.defaults.count),
      links: [],
      sent: insert.values
    )
    var identity: AttributeValue?
    if let id = object.id, let value = IdentityResolver.value(id, entity.entity),
      let attribute = entity.entity.identity, let column = entity.columns[attribute.name]
    {
      read.row[column] = value
      read.given[column] = true
      identity = value
    }
    for (index, member) in insert.values.enumerated() {
      if let columns = refusedColumns(of: member, entity, label) {
        for column in columns {
          read.row[column] = .refused
          read.given[column] = true
        }
        continue
      }
      guard let property = property(member, at: index, entity, label) else { continue }
      if let relationship = property.relationship {
        guard let link = try link(member.value, relationship, label) else {
          skippedParts.add(relationship)
          // The placeholder prevents validation from also reporting the invalid value as missing.
          if property.column >= 0 { read.row[property.column] = .refused }
          continue
        }
        if property.column >= 0 { read.given[property.column] = true }
        // If a property is sent twice, the last value applies.
        read.links.removeAll { $0.relationship === relationship }
        read.links.append(RelationshipChange(relationship: relationship, link: link))
        continue
      }
      guard let value = value(member, property, label) else {
        read.row[property.column] = .refused
        read.given[property.column] = true
        continue
      }
      if let identity, property.name == entity.entity.identity?.name, identity != value {
        add(.invalid(label, member.name, "identity", "The value differs from the one in the ID"))
      }
      read.row[property.column] = value
      read.given[property.column] = true
    }
    for (column, form, source) in entity.derivedTexts {
      read.row[column] = form.applied(to: read.row[source])
    }
    resolved.inserts.append(read)
  }

  private mutating func readAdoption(
    _ insert: SaveRequest.Insert,
    _ object: NewObject,
    _ label: String
  ) throws {
    let entity = layout.entity(object.key)
    resolved.adoptions.append(
      Adoption(
        index: object.index,
        key: object.key,
        label: label,
        names: insert.values.map(\.name),
        otherIdentity: object.hasOtherIdentity ? entity.entity.identity?.name : nil
      )
    )
    var update = ResolvedUpdate(
      origin: .insert(object.index),
      key: object.key,
      label: label,
      known: nil,
      asOf: nil,
      version: try stored.version(of: object.key) ?? 0,
      columns: [],
      links: []
    )
    try read(insert.values, entity, &update)
    // If the policy stores the insert's values, `read` has already compared the sent identity with
    // the identity of the object.
    if !storesInserts, let identity = entity.entity.identity, let own = object.id,
      let value = IdentityResolver.value(own, entity.entity),
      let sent = insert.values.last(where: { $0.name == identity.name })?.value,
      case .value(let other) = identity.decode(sent), other != value
    {
      add(.invalid(label, identity.name, "identity", "The value differs from the one in the ID"))
    }
    if !storesInserts {
      update.columns = []
      update.links = []
    } else if request.mergePolicy == .overwrite {
      let sent = Set(insert.values.map(\.name))
      for (column, _) in entity.written
      where !sent.contains(entity.entity.attributes[column].name)
        && entity.entity.attributes[column].name != entity.entity.identity?.name
      {
        update.columns.set(column, to: entity.entity.attributes[column].defaultValue)
      }
      for (_, relationship) in entity.toOnes where !sent.contains(relationship.name) {
        update.links.append(RelationshipChange(relationship: relationship, link: .toOne(nil)))
      }
      entity.addDerivedTexts(to: &update.columns)
    }
    resolved.updates.append(update)
  }

  // MARK: Updates and deletes

  private mutating func readUpdates() throws {
    for (index, update) in request.updates.enumerated() {
      guard let (key, version) = try existingObject(update.id) else { continue }
      guard update.asOf == nil || update.version != nil else {
        throw StoreError(.invalidRequest, "An update with asOf names a version too")
      }
      if let known = update.version, known > version {
        add(
          .invalid(
            update.id,
            nil,
            "version",
            "Version \(known) is ahead of the store's \(version)"
          )
        )
      }
      var read = ResolvedUpdate(
        origin: .update(index),
        key: key,
        label: update.id,
        known: update.version,
        asOf: update.asOf,
        version: version,
        columns: [],
        links: []
      )
      try self.read(update.values, layout.entity(key), &read)
      resolved.updates.append(read)
    }
  }

  /// Decodes the values that were sent for an update into columns and links.
  mutating func read(
    _ values: [JSONMember],
    _ entity: EntityLayout,
    _ update: inout ResolvedUpdate
  ) throws {
    update.sent = entity.entity.expanded(values)
    for (index, member) in update.sent.enumerated() {
      if let columns = refusedColumns(of: member, entity, update.label) {
        for column in columns { update.columns.set(column, to: .refused) }
        continue
      }
      guard let property = property(member, at: index, entity, update.label) else { continue }
      if let relationship = property.relationship {
        guard let link = try link(member.value, relationship, update.label) else {
          skippedParts.add(relationship)
          continue
        }
        update.links.removeAll { $0.relationship === relationship }
        update.links.append(RelationshipChange(relationship: relationship, link: link))
      } else if let value = value(member, property, update.label) {
        if property.name == entity.entity.identity?.name {
          guard try isIdentity(value, of: update.key, property.column) else {
            // The identities of the insert and the matched object differ, and the policy keeps the
            // stored values.
            if case .insert = update.origin, !storesInserts { continue }
            add(.invalid(update.label, member.name, "identity", "An identity cannot be changed"))
            continue
          }
        }
        update.columns.set(property.column, to: value)
      } else if !property.isDerived {
        update.columns.set(property.column, to: .refused)
      }
    }
    entity.addDerivedTexts(to: &update.columns)
  }

  /// Returns whether a value is the identity of an object, either stored or from the object's
  /// insert.
  private mutating func isIdentity(
    _ value: AttributeValue,
    of key: ObjectKey,
    _ column: Int
  ) throws -> Bool {
    guard isInserted(key) else { return try stored.value(column, of: key) == value }
    guard let set = layout.entity(key).uniqueSets.first(where: \.isIdentity) else { return true }
    if insertedIdentities == nil { insertedIdentities = try identities() }
    return insertedIdentities?[
      UniqueValues(set, [value])
    ] == key
  }

  /// Returns whether an object is new in this save.
  func isInserted(_ key: ObjectKey) -> Bool {
    newNumbers[key.entity]?.contains(key.object) ?? false
  }

  private mutating func readDeletes() throws {
    for delete in request.deletes {
      guard let (key, version) = try existingObject(delete.id, allowsNew: true) else { continue }
      if let known = delete.version, known > version {
        add(
          .invalid(
            delete.id,
            nil,
            "version",
            "Version \(known) is ahead of the store's \(version)"
          )
        )
      }
      resolved.deletes.append(
        ResolvedDelete(key: key, label: delete.id, known: delete.version, version: version)
      )
    }
  }

  /// Returns the object to which the ID of an update or delete refers; nil if the ID is invalid, or
  /// if the object does not exist.
  ///
  /// - Parameters:
  ///   - text: The ID.
  ///   - allowsNew: Whether the ID may refer to an object that the same save inserts.
  /// - Returns: The object with its stored version.
  /// - Throws: `SQLiteError`.
  private mutating func existingObject(
    _ text: String,
    allowsNew: Bool = false
  ) throws -> (ObjectKey, version: Int64)? {
    // The ID names the stored object even if an insert of the save has the same identity.
    if insertedTexts.contains(text) || !deletedKeys.isEmpty, isIdentity(text) {
      do {
        if case .object(let key)? = try storedTarget(text),
          let version = try stored.version(of: key)
        {
          return (key, version)
        }
      } catch is StoreError {
        // `target` reports the invalid ID.
      }
    }
    switch try target(text) {
    case .failed, nil:
      skipChange()
      return nil
    case .object(let key):
      if let version = try stored.version(of: key) { return (key, version) }
      if isInserted(key) {
        if allowsNew { return (key, 1) }
        add(.invalid(text, nil, "once", "An object is inserted or updated, not both in a save"))
        return nil
      }
      add(SaveProblem(.objectNotFound(text), rule: "exists", id: text))
      named[text] = .failed
      skipChange()
      return nil
    }
  }

  private func isIdentity(_ text: String) -> Bool {
    switch ObjectID(text)?.key {
    case .integer, .uuid, .string: true
    case .temporary, .object, nil: false
    }
  }

  private mutating func checkRepetitions() {
    guard request.updates.count + request.deletes.count > 0,
      resolved.updates.count + resolved.deletes.count > 1
    else { return }
    var seen = Set(resolved.adoptions.map(\.key).filter { !isInserted($0) })
    func isRepeated(_ key: ObjectKey) -> Bool { !seen.insert(key).inserted }
    var repeated: [String] = []
    for update in resolved.updates {
      if case .update = update.origin, isRepeated(update.key) { repeated.append(update.label) }
    }
    for delete in resolved.deletes where isRepeated(delete.key) { repeated.append(delete.label) }
    for id in repeated {
      add(
        .invalid(
          id,
          nil,
          "once",
          "An object appears once in update, delete and the inserts that meet it"
        )
      )
    }
  }
}
