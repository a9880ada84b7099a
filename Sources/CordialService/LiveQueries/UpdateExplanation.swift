import CordialProtocol
import CordialValues
import JSON
import ObjectModel
import PersistentHistory
import PersistentStore

/// The explanation of an update: the changes that caused it, and the predicate terms that they
/// altered.
struct UpdateExplanation {
  let observation: Observation
  let snapshot: StoreSnapshot
  /// The position of the earlier result.
  let from: LogPosition
  let changes: ChangeSet
  /// The rows of the changed objects; rows that were not read are missing.
  let rows: [ObjectKey: ChangedRow]
  /// The changed objects that may concern the observation; nil if all changed objects may.
  let candidates: Set<ObjectKey>?

  private static let elementsMax = 100

  /// Returns the explanation of an update as a JSON array.
  ///
  /// - Parameter difference: The difference of the results.
  /// - Returns: The elements, ordered by object.
  /// - Throws: `SQLiteError`.
  func json(_ difference: ResultDifference) throws -> JSONValue {
    let terms = try store.map { try snapshot.terms(of: $0) } ?? []
    let related = observation.interest.related
    let sorted = changes.changes.values.sorted { $0.key < $1.key }
    let relevant = sorted.lazy.filter { isOwn($0, difference) || isCounted($0, difference) }
      .prefix(Self.elementsMax)
    let values = try values(of: terms, Array(relevant))
    var elements: [JSONValue] = []
    for change in sorted where elements.count < Self.elementsMax {
      if isOwn(change, difference) {
        elements += try own(change, terms, values[change.key] ?? [:], otherwise: written)
        continue
      }
      let isCounted = isCounted(change, difference)
      let counted =
        isCounted ? try own(change, terms, values[change.key] ?? [:], otherwise: section) : []
      elements += counted
      if counted.isEmpty, let read = related[change.key.entity] {
        elements += try self.related(change, read, terms, difference)
      }
    }
    if elements.isEmpty { elements = try shifts(sorted, terms, difference) }
    return .array(Array(elements.prefix(Self.elementsMax)))
  }

  /// Explains a shift of a window's rows by objects outside the window that were inserted, deleted
  /// or moved.
  private func shifts(
    _ sorted: [ObjectChange],
    _ terms: [FetchTerm],
    _ difference: ResultDifference
  ) throws -> [JSONValue] {
    guard let entities = observation.query.windowEntities else { return [] }
    let outside = sorted.lazy.filter { change in
      isCandidate(change, entities) && !isOwn(change, difference)
    }
    let relevant = Array(outside.prefix(Self.elementsMax))
    let values = try values(of: terms, relevant)
    return try relevant.flatMap { change in
      try own(change, terms, values[change.key] ?? [:]) { self.reading("sort", $0) }
    }
  }

  private var store: FetchRequest? { observation.query.explainedFetch }

  /// Returns whether a change concerns one of the result's own objects.
  private func isOwn(_ change: ObjectChange, _ difference: ResultDifference) -> Bool {
    observation.query.isExplained(by: change, difference) { isCandidate(change, $0) }
  }

  /// Returns whether an object outside the rows of a window may have altered the sections or the
  /// total.
  private func isCounted(_ change: ObjectChange, _ difference: ResultDifference) -> Bool {
    guard let entities = observation.query.windowEntities,
      difference.sectionsDiffer || difference.totalDiffers
    else { return false }
    return !difference.objects.contains(change.key.object) && isCandidate(change, entities)
  }

  private func isCandidate(_ change: ObjectChange, _ entities: [Int]) -> Bool {
    entities.contains(change.key.entity) && candidates?.contains(change.key) != false
  }

  // MARK: The result's own objects

  /// The value of a term before and after the changes.
  private struct TermValue {
    let was: Bool
    let `is`: Bool
    let isDecidedByRow: Bool
  }

  /// Explains a change of an object in the result, or of an object that only the sections or the
  /// total of the result count.
  ///
  /// `other` explains a change that alters no term.
  private func own(
    _ change: ObjectChange,
    _ terms: [FetchTerm],
    _ values: [Int: TermValue],
    otherwise other: (ObjectChange) -> [JSONMember]?
  ) throws -> [JSONValue] {
    guard change.kind == .update else { return try existence(of: change) }
    let elements = try elements(of: change, terms, values)
    guard elements.isEmpty, let members = other(change) else { return elements }
    return [try element(change.key, members)]
  }

  /// Names a written property, preferably a property that the request reads.
  private func written(_ change: ObjectChange) -> [JSONMember] {
    let named = change.properties.subtracting([ChangeSet.everyProperty]).sorted()
    let read = named.first { part($0) != nil } ?? named.first
    // If no part of the fetch reads the property, the change is still visible, because every row
    // has the object's version.
    let reads = read.flatMap(part) ?? "select"
    return [JSONMember(.path, .string(read ?? "SELF")), JSONMember(.reads, .string(reads))]
  }

  /// Names the written property that divides the rows into sections.
  private func section(_ change: ObjectChange) -> [JSONMember]? { reading("section", change) }

  /// Names the first written property that the given part of the fetch reads; returns nil if there
  /// is none.
  private func reading(_ name: String, _ change: ObjectChange) -> [JSONMember]? {
    change.properties.filter { part($0) == name }.min().map { property in
      [JSONMember(.path, .string(property)), JSONMember(.reads, .string(name))]
    }
  }

  /// Explains the insertion of an object that matches, or the deletion of an object that matched.
  private func existence(of change: ObjectChange) throws -> [JSONValue] {
    guard let isDecidedByRow = try isMember(change) else { return [] }
    var members: [JSONMember] = [JSONMember(.path, "SELF")]
    if let store {
      members.append(JSONMember(.term, .string(store.predicate ?? "TRUEPREDICATE")))
    }
    members += [
      JSONMember(.was, .bool(change.kind == .delete)),
      JSONMember(.is, .bool(change.kind == .insert)),
      JSONMember(.decidedBy, isDecidedByRow ? "memory" : "sql"),
    ]
    return [try element(change.key, members)]
  }

  /// Returns an element for each term whose value a change has altered.
  private func elements(
    of change: ObjectChange,
    _ terms: [FetchTerm],
    _ values: [Int: TermValue]
  ) throws -> [JSONValue] {
    try terms.enumerated().compactMap { index, term -> JSONValue? in
      guard let value = values[index], value.was != value.is,
        let property = term.properties.intersection(change.properties).min()
      else { return nil }
      return try element(change.key, Self.members(property, term, value))
    }
  }

  /// Returns whether a row, instead of SQL, decides that an inserted or deleted object is relevant.
  ///
  /// - Returns: Whether the row decides; nil if an inserted object does not match, or a deleted
  ///   object did not match.
  private func isMember(_ change: ObjectChange) throws -> Bool? {
    guard let condition = observation.query.explainedCondition else { return true }
    let row = rows[change.key].flatMap { change.kind == .insert ? $0.after : $0.before }
    if let decided = condition.constant ?? row.flatMap(condition.evaluate) {
      return decided ? true : nil
    }
    guard let store else { return nil }
    let objects = [change.key.object]
    let matching =
      change.kind == .insert
      ? try snapshot.matching(objects, snapshot.plan(store))
      : try snapshot.earlier(from) { try $0.matching(objects, $0.plan(store)) }
    return matching.isEmpty ? nil : false
  }

  /// Returns the values of the terms that read changed properties, by object and by the term's
  /// index.
  private func values(
    of terms: [FetchTerm],
    _ changes: [ObjectChange]
  ) throws -> [ObjectKey: [Int: TermValue]] {
    var values: [ObjectKey: [Int: TermValue]] = [:]
    var undecided: [Int: [ObjectKey]] = [:]
    for change in changes where change.kind == .update {
      for (index, term) in terms.enumerated()
      where !term.properties.isDisjoint(with: change.properties) {
        if let row = rows[change.key], let before = row.before, let after = row.after,
          let was = term.condition.evaluate(before), let present = term.condition.evaluate(after)
        {
          values[change.key, default: [:]][index] = TermValue(
            was: was,
            is: present,
            isDecidedByRow: true
          )
        } else {
          undecided[index, default: []].append(change.key)
        }
      }
    }
    guard !undecided.isEmpty else { return values }
    func fulfilling(_ snapshot: StoreSnapshot) throws -> [Int: Set<Int64>] {
      try Dictionary(
        uniqueKeysWithValues: undecided.map { index, keys in
          (index, try snapshot.fulfilling(keys.map(\.object), terms[index]))
        }
      )
    }
    let present = try fulfilling(snapshot)
    let past = try snapshot.earlier(from, fulfilling)
    for (index, keys) in undecided {
      for key in keys {
        values[key, default: [:]][index] = TermValue(
          was: past[index]?.contains(key.object) == true,
          is: present[index]?.contains(key.object) == true,
          isDecidedByRow: false
        )
      }
    }
    return values
  }

  private static func members(
    _ path: String,
    _ term: FetchTerm,
    _ value: TermValue
  ) -> [JSONMember] {
    [
      JSONMember(.path, .string(path)), JSONMember(.term, .string(term.text)),
      JSONMember(.was, .bool(value.was)), JSONMember(.is, .bool(value.is)),
      JSONMember(.decidedBy, value.isDecidedByRow ? "memory" : "sql"),
    ]
  }

  /// Returns the part of the fetch that reads a property of the result's own objects.
  private func part(_ property: String) -> String? {
    observation.query.part(property, observation.inclusion)
  }

  // MARK: Other objects

  private func related(
    _ change: ObjectChange,
    _ read: Set<String>,
    _ terms: [FetchTerm],
    _ difference: ResultDifference
  ) throws -> [JSONValue] {
    let entity = change.key.entity
    /// Returns a changed property that a part of the fetch reads.
    func changed(_ properties: Set<String>?) -> String? {
      properties?.intersection(change.properties).min()
    }
    let isWhole = change.kind != .update || read.contains(ChangeSet.everyProperty)
    guard isWhole || changed(read) != nil else { return [] }
    let deciding = terms.first { term in
      term.related[entity].map { isWhole || changed($0) != nil } == true
    }
    let order = observation.query.orderReads(of: entity)
    let sorts = order.map { properties in
      change.kind != .update || properties.contains(ChangeSet.everyProperty)
        || changed(properties) != nil
    }
    let property = changed(deciding?.related[entity]) ?? changed(order) ?? changed(read)
    let path = property.map(self.path) ?? "SELF"
    // Only an object that enters or leaves shows that the value of the term has changed.
    let enters = difference.sequence.insertions.contains { $0.movedFrom == nil }
    let leaves = difference.sequence.removals.contains { $0.movedTo == nil }
    if let deciding, enters != leaves {
      let value = TermValue(was: leaves, is: enters, isDecidedByRow: false)
      return [try element(change.key, Self.members(path, deciding, value))]
    }
    return [
      try element(
        change.key,
        [
          JSONMember(.path, .string(path)),
          JSONMember(.reads, .string(part(of: change, deciding, sorts: sorts == true))),
        ]
      )
    ]
  }

  /// Returns the first key path of the request that ends with a property; the property itself if no
  /// key path ends with it.
  private func path(_ property: String) -> String {
    var texts = store.map { [$0.predicate ?? ""] + $0.sort } ?? []
    if let section = store?.sectionBy { texts.append(section) }
    texts += store?.select?.map(\.path) ?? []
    texts += store?.groupBy ?? []
    for text in texts {
      for match in text.matches(of: /[\p{L}_][\p{L}\p{N}_]*(\.@?[\p{L}_][\p{L}\p{N}_]*)+/) {
        if match.output.0.split(separator: ".").last.map(String.init) == property {
          return String(match.output.0)
        }
      }
    }
    return property
  }

  /// Returns the part of the fetch that a change of a related object concerns.
  private func part(of change: ObjectChange, _ deciding: FetchTerm?, sorts: Bool) -> String {
    if observation.inclusion.entities.contains(change.key.entity) { return "include" }
    if deciding != nil { return "predicate" }
    return sorts ? "sort" : "select"
  }

  private func element(_ key: ObjectKey, _ members: [JSONMember]) throws -> JSONValue {
    .object([JSONMember(.id, .string(try snapshot.wrappedID(key).description))] + members)
  }
}
