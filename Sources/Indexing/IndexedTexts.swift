package import CordialValues
import JSON
import ObjectModel
package import PersistentHistory
package import PersistentStore
package import Spotlight

/// The indexed content of a store's objects, in one snapshot of the store.
package struct IndexedTexts {
  /// The rules of each indexed concrete entity, by entity number.
  private let entityRules: [Int: EntityRules]
  private let delegate: IndexDelegate?
  private let snapshot: StoreSnapshot

  /// The maximum number of objects that an advance indexes again because related objects changed.
  private static let relatedMax = 100_000

  /// Prepares to read the texts of a snapshot.
  ///
  /// - Parameters:
  ///   - snapshot: The snapshot.
  ///   - rules: The index rules of the snapshot's store.
  /// - Throws: `StoreError` for a predicate that the store cannot evaluate.
  package init(_ snapshot: StoreSnapshot, _ rules: IndexRules) throws(StoreError) {
    self.snapshot = snapshot
    delegate = rules.delegate
    entityRules = try rules.entities(snapshot)
  }

  /// The numbers of the entities whose objects are indexed, ascending.
  package var entities: [Int] { entityRules.keys.sorted() }

  /// Returns the content of the given objects that exist and are indexed.
  ///
  /// - Parameters:
  ///   - objects: The object numbers.
  ///   - entity: The entity number of the objects.
  ///   - withExcluded: Whether to include objects that the entity's predicate or the program's
  ///     delegate excludes.
  /// - Returns: The content by object number. The texts at a key path over a to-many are sorted,
  ///   with one text a line.
  /// - Throws: `SQLiteError`, and the errors of the delegate.
  /// - Complexity: A few look-ups for each object.
  package func content(
    _ objects: [Int64],
    of entity: Int,
    withExcluded: Bool = false
  ) throws -> [Int64: DocumentContent] {
    guard let rules = entityRules[entity] else { return [:] }
    let exclusion = withExcluded ? nil : rules.exclusion
    let excluded = try exclusion.map { try snapshot.matching(objects, $0) } ?? []
    var all: [Int64: DocumentContent] = [:]
    for object in objects where !excluded.contains(object) {
      let key = ObjectKey(entity: entity, object: object)
      guard let own = try snapshot.texts(key, rules.attributes) else { continue }
      var paths = try rules.paths.map { try values(of: object, $0) } ?? []
      let domain = rules.hasDomain ? paths.popLast() ?? nil : nil
      let declared = DocumentContent(
        texts: own + paths,
        boosts: try values(rules.boosts, of: key),
        domain: domain
      )
      all[object] =
        try decided(declared, rules, object) ?? (withExcluded ? declared : nil)
    }
    return all
  }

  /// Returns the content that the delegate decides on.
  ///
  /// Without a delegate, returns the content that the model declares.
  private func decided(
    _ declared: DocumentContent,
    _ rules: EntityRules,
    _ object: Int64
  ) throws -> DocumentContent? {
    guard let whole = rules.whole, let delegate else { return declared }
    var writer = JSONWriter()
    let key = ObjectKey(entity: rules.entity.number, object: object)
    guard try snapshot.write(object, as: whole, to: &writer) else { return nil }
    let candidate = IndexCandidate(
      entity: rules.entity.name,
      id: try snapshot.wrappedID(key),
      values: try JSONParser.parse(writer.bytes.span)["values"] ?? .object([]),
      fields: rules.fields,
      content: declared
    )
    return try delegate.content(candidate)
  }

  /// Returns why an object of an indexed entity is not indexed.
  ///
  /// - Parameter key: The object, which exists.
  /// - Returns: The reason, or nil for an object that is indexed.
  /// - Throws: `SQLiteError`, and the errors of the delegate.
  package func exclusion(of key: ObjectKey) throws -> IndexExclusion? {
    if let exclusion = entityRules[key.entity]?.exclusion,
      try snapshot.matching([key.object], exclusion).contains(key.object)
    {
      return .exclude
    }
    return try content([key.object], of: key.entity)[key.object] == nil ? .delegate : nil
  }

  /// Returns the values of an object's attributes as numbers; nil for a value that is no number.
  private func values(_ names: [String], of key: ObjectKey) throws -> [Double?] {
    guard !names.isEmpty, let values = try snapshot.columns(names, of: key) else {
      return names.map { _ in nil }
    }
    return names.map { name in
      switch values[name] {
      case .integer(let number), .date(let number): Double(number)
      case .double(let number): number
      case .decimal(let text), .string(let text): Double(text)
      default: nil
      }
    }
  }

  /// Returns the texts of an object at the key paths of a plan.
  private func values(of object: Int64, _ plan: FetchPlan) throws -> [String?] {
    var writer = JSONWriter()
    let names = (plan.request.select ?? []).map(\.name)
    guard try snapshot.write(object, as: plan, to: &writer) else { return names.map { _ in nil } }
    let row = try JSONParser.parse(writer.bytes.span)["values"] ?? .null
    return names.map { name in
      guard let list = row[name]?.array else {
        return row[name]?.string ?? row[name]?.integer.map { "\($0)" }
      }
      return list.isEmpty ? nil : list.compactMap(\.string).sorted().joined(separator: "\n")
    }
  }

  /// The objects whose texts may differ after changes.
  package struct Concerned {
    /// The objects, including deleted objects, each with the first and last commit that may have
    /// altered its texts.
    package var objects: [ObjectKey: ClosedRange<Int64>] = [:]
    /// The commits at which the texts of an entity's objects may be unknown, by entity number.
    ///
    /// The texts are unknown if related objects changed at more than one commit.
    package var entities: [Int: Range<Int64>] = [:]
  }

  /// Returns the objects whose texts may differ after changes.
  ///
  /// - Parameters:
  ///   - changes: Changes that end at the snapshot or before it.
  ///   - spans: The first and last commit that changed each object.
  ///   - position: The position at which the changes begin; the log must reach back to it.
  /// - Returns: The objects; nil if there are too many.
  /// - Throws: `SQLiteError`.
  /// - Complexity: Linear in the changes and in the objects that they concern.
  package func concerned(
    by changes: ChangeSet,
    spans: [ObjectKey: ClosedRange<Int64>],
    since position: LogPosition
  ) throws -> Concerned? {
    var concerned = Concerned()
    for (key, span) in spans {
      guard let rules = entityRules[key.entity] else { continue }
      // An object that was inserted and deleted again has a span but no change, and is also
      // concerned.
      if changes.changes[key].map({ Self.touches($0, rules.reads) }) ?? true {
        concerned.objects[key] = span
      }
    }
    for rules in entityRules.values {
      guard try add(rules, changes, spans, position, to: &concerned) else { return nil }
    }
    return concerned
  }

  /// Adds the objects of an entity whose related objects changed.
  ///
  /// - Returns: Whether the number of objects is within `relatedMax`.
  private func add(
    _ rules: EntityRules,
    _ changes: ChangeSet,
    _ spans: [ObjectKey: ClosedRange<Int64>],
    _ position: LogPosition,
    to concerned: inout Concerned
  ) throws -> Bool {
    var (found, commits): (Set<ObjectKey>, ClosedRange<Int64>?) = ([], nil)
    for (path, properties) in rules.related {
      let reached = spans.filter { key, _ in
        guard let read = properties[key.entity] else { return false }
        return changes.changes[key].map { Self.touches($0, read) } ?? true
      }
      guard !reached.isEmpty else { continue }
      for span in reached.values { commits = commits.map { $0.union(span) } ?? span }
      let origins = try snapshot.origins(
        of: Set(reached.keys.map(\.object)),
        on: path,
        changes,
        since: position,
        max: Self.relatedMax
      )
      guard let origins else { return false }
      for object in origins {
        let key = snapshot.model.key(rules.entity.number, object)
        if key.entity == rules.entity.number { found.insert(key) }
      }
    }
    guard let commits else { return true }
    // The relationships are read from the snapshot. If the snapshot is of a later commit, the texts
    // at the commits before it are unknown.
    let last = changes.through < snapshot.head.number ? snapshot.head.number : commits.upperBound
    if commits.lowerBound < last {
      concerned.entities[rules.entity.number] = commits.lowerBound..<last
    }
    // An object that itself changed may have been related to the changed objects before its change.
    found.formUnion(concerned.objects.keys.filter { $0.entity == rules.entity.number })
    for key in found {
      concerned.objects[key] = concerned.objects[key]?.union(commits) ?? commits
    }
    return true
  }

  private static func touches(_ change: ObjectChange, _ properties: Set<String>) -> Bool {
    change.kind != .update || properties.contains(ChangeSet.everyProperty)
      || change.properties.contains(ChangeSet.everyProperty)
      || !change.properties.isDisjoint(with: properties)
  }
}

extension ClosedRange<Int64> {
  /// Returns the smallest range that contains both ranges.
  fileprivate func union(_ other: Self) -> Self {
    Swift.min(lowerBound, other.lowerBound)...Swift.max(upperBound, other.upperBound)
  }
}
