package import CordialValues
import JSON
package import ObjectModel
package import PersistentHistory

/// What a search index has of a store's objects, by the `spotlight` of their entities.
package struct IndexedTexts {
  /// What is indexed of one concrete entity.
  struct Content {
    let entity: EntityDescription
    /// The names of the indexed attributes, and of those whose values change scores.
    let attributes: [String]
    let boosts: [String]
    /// A fetch of the values at key paths: the keywords, then the domain; nil without both.
    let paths: FetchPlan?
    let hasDomain: Bool
    /// The names of the indexed texts.
    let fields: [String]
    /// The form of an object for the program's delegate; nil without one.
    let whole: FetchPlan?
    /// A fetch of the objects that are not indexed; nil where all are.
    let exclusion: FetchPlan?
    /// The properties of an object on which its texts depend.
    var reads: Set<String> = []
    /// The properties of related objects on which they depend.
    var related: [(path: [RelatedReads.Step], properties: [Int: Set<String>])] = []

    init(
      _ entity: EntityDescription,
      _ spotlight: SpotlightDescription,
      _ snapshot: StoreSnapshot
    )
      throws(StoreError)
    {
      self.entity = entity
      attributes = spotlight.weights.map(\.name)
      boosts = spotlight.boosts.map(\.attribute)
      do {
        hasDomain = spotlight.domain != nil
        fields = spotlight.fields
        whole =
          snapshot.reader.facts.indexDelegate == nil ? nil : try snapshot.plan(of: entity)
        paths = try IndexedTexts.request(spotlight.paths, of: entity).map(snapshot.plan)
        exclusion = try spotlight.exclude.map { predicate in
          try snapshot.plan(IndexedTexts.request(predicate, of: entity))
        }
      } catch {
        throw StoreError(any: error)
      }
      // A delegate may read every property of the object.
      reads = whole == nil ? Set(attributes + boosts) : [ChangeSet.everyProperty]
      for plan in [paths, exclusion].compactMap(\.self) {
        reads.formUnion(plan.membership)
        reads.formUnion(plan.valueNames.keys)
        for (path, properties) in plan.relatedReads.paths {
          related.append((path.steps, properties))
        }
      }
    }
  }

  /// The content of each indexed concrete entity, by number.
  private let contents: [Int: Content]
  private let snapshot: StoreSnapshot

  /// The maximum number of objects that changes of related objects concern.
  private static let relatedMax = 100_000

  /// Prepares to read the texts of a snapshot.
  ///
  /// - Parameter snapshot: The snapshot.
  /// - Throws: `StoreError` for a predicate that the store cannot evaluate.
  package init(_ snapshot: StoreSnapshot) throws(StoreError) {
    self.snapshot = snapshot
    if let known = snapshot.reader.indexedContents[snapshot.mayDangle] {
      contents = known
      return
    }
    var contents: [Int: Content] = [:]
    for entity in snapshot.model.entities where !entity.isAbstract {
      guard let spotlight = entity.spotlight else { continue }
      contents[entity.number] = try Content(entity, spotlight, snapshot)
    }
    self.contents = contents
    snapshot.reader.indexedContents[snapshot.mayDangle] = contents
  }

  /// The numbers of the entities whose objects are indexed, ascending.
  package var entities: [Int] { contents.keys.sorted() }

  /// Returns the content of those of some objects that exist and are to be indexed.
  ///
  /// - Parameters:
  ///   - objects: The numbers of the objects.
  ///   - entity: The number of their entity.
  ///   - withExcluded: Whether to include objects that the entity's predicate or the program's
  ///     delegate excludes.
  /// - Returns: The content of each object. The texts at a key path over a to-many are in their
  ///   order, a line each.
  /// - Throws: `SQLiteError`, and the errors of the delegate.
  /// - Complexity: A few look-ups for each object.
  package func content(
    _ objects: [Int64],
    of entity: Int,
    withExcluded: Bool = false
  ) throws -> [Int64: IndexedContent] {
    guard let content = contents[entity] else { return [:] }
    let exclusion = withExcluded ? nil : content.exclusion
    let excluded = try exclusion.map { try snapshot.matching(objects, $0) } ?? []
    var all: [Int64: IndexedContent] = [:]
    for object in objects where !excluded.contains(object) {
      let key = ObjectKey(entity: entity, object: object)
      guard let own = try snapshot.texts(key, content.attributes) else { continue }
      var paths = try content.paths.map { try values(of: object, $0) } ?? []
      let domain = content.hasDomain ? paths.popLast() ?? nil : nil
      let declared = IndexedContent(
        texts: own + paths,
        boosts: try values(content.boosts, of: key),
        domain: domain
      )
      all[object] =
        try decided(declared, content, object) ?? (withExcluded ? declared : nil)
    }
    return all
  }

  /// Returns the content of an object for which the program's delegate decides, if there is one.
  private func decided(
    _ declared: IndexedContent,
    _ content: Content,
    _ object: Int64
  ) throws -> IndexedContent? {
    guard let whole = content.whole, let delegate = snapshot.reader.facts.indexDelegate else {
      return declared
    }
    var writer = JSONWriter()
    let key = ObjectKey(entity: content.entity.number, object: object)
    guard try snapshot.write(object, as: whole, to: &writer) else { return nil }
    let candidate = IndexCandidate(
      entity: content.entity.name,
      id: try snapshot.wrappedID(key),
      values: try JSONParser.parse(writer.bytes.span)["values"] ?? .object([]),
      fields: content.fields,
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
    if let exclusion = contents[key.entity]?.exclusion,
      try snapshot.matching([key.object], exclusion).contains(key.object)
    {
      return .exclude
    }
    return try content([key.object], of: key.entity)[key.object] == nil ? .delegate : nil
  }

  /// Returns the values of numbers and dates of an object.
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

  /// Returns the texts at key paths.
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

  /// The objects whose texts changes may alter.
  package struct Concerned {
    /// The objects, deleted ones too, each with the first and last commit that may have altered its
    /// texts.
    package var objects: [ObjectKey: ClosedRange<Int64>] = [:]
    /// The entities of which any object may have had other texts at these commits, because its
    /// related objects changed more than once.
    package var entities: [Int: Range<Int64>] = [:]
  }

  /// Returns the objects whose texts changes may alter.
  ///
  /// - Parameters:
  ///   - changes: Changes that end at the snapshot or before it.
  ///   - spans: The first and last commit that changed each object.
  ///   - position: The position at which they begin, to which the log reaches back.
  /// - Returns: The objects; nil where there are too many.
  /// - Throws: `SQLiteError`.
  /// - Complexity: Linear in the changes and in the objects that they concern.
  package func concerned(
    by changes: ChangeSet,
    spans: [ObjectKey: ClosedRange<Int64>],
    since position: LogPosition
  ) throws -> Concerned? {
    var concerned = Concerned()
    for (key, span) in spans {
      guard let content = contents[key.entity] else { continue }
      // An object that was inserted and deleted again has no change.
      if changes.changes[key].map({ Self.touches($0, content.reads) }) ?? true {
        concerned.objects[key] = span
      }
    }
    for content in contents.values {
      guard try add(content, changes, spans, position, to: &concerned) else { return nil }
    }
    return concerned
  }

  /// Adds the objects of an entity that changes of related objects concern, and returns whether
  /// they are few enough.
  private func add(
    _ content: Content,
    _ changes: ChangeSet,
    _ spans: [ObjectKey: ClosedRange<Int64>],
    _ position: LogPosition,
    to concerned: inout Concerned
  ) throws -> Bool {
    var (found, commits): (Set<ObjectKey>, ClosedRange<Int64>?) = ([], nil)
    for (path, properties) in content.related {
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
        let key = snapshot.model.key(content.entity.number, object)
        if key.entity == content.entity.number { found.insert(key) }
      }
    }
    guard let commits else { return true }
    // The objects are related as in the snapshot, which may be of a later commit.
    let last = changes.through < snapshot.head.number ? snapshot.head.number : commits.upperBound
    if commits.lowerBound < last {
      concerned.entities[content.entity.number] = commits.lowerBound..<last
    }
    // An object that changed itself may have been related to the changed ones before.
    found.formUnion(concerned.objects.keys.filter { $0.entity == content.entity.number })
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

  /// Returns a fetch of the values at key paths, or nil without any.
  private static func request(
    _ paths: [String],
    of entity: EntityDescription
  ) -> FetchRequest? {
    guard !paths.isEmpty else { return nil }
    return FetchRequest(
      entity: entity.name,
      select: paths.enumerated().map { .init(name: "k\($0.offset)", path: $0.element) },
      subentities: false
    )
  }

  private static func request(_ predicate: String, of entity: EntityDescription) -> FetchRequest {
    FetchRequest(entity: entity.name, predicate: predicate, subentities: false)
  }

  /// Returns the faults of the predicates and key paths of a model's `spotlight`.
  ///
  /// - Parameter model: A model without other faults.
  /// - Returns: The faults, each with its path in the file.
  package static func problems(of model: Model) -> [ModelProblem] {
    model.entities.flatMap { entity -> [ModelProblem] in
      guard let spotlight = entity.spotlight else { return [] }
      let fetches = [
        ("keywords", request(spotlight.keywords, of: entity)),
        ("domain", request([spotlight.domain].compactMap(\.self), of: entity)),
        ("exclude", spotlight.exclude.map { request($0, of: entity) }),
      ]
      return fetches.compactMap { member, request in
        guard let message = request.flatMap({ objection(to: $0, model) }) else { return nil }
        return ModelProblem(path: "\(entity.name).spotlight.\(member)", message: message)
      }
    }
  }

  /// Returns why the index cannot depend on a fetch, or nil if it can.
  private static func objection(to request: FetchRequest, _ model: Model) -> String? {
    let plan: FetchPlan
    do throws(StoreError) {
      plan = try FetchCompiler.plan(request, model: model, mayDangle: true)
    } catch {
      return error.message
    }
    guard !plan.isVolatile, plan.relatedReads.elsewhere.isEmpty else {
      return "The predicate has to depend on the object and on related objects alone, "
        + "neither on the time nor on chance"
    }
    // A pattern that takes too long for one object would stop the index at its commit.
    guard !plan.matchSQL.contains("cordial_matches(") else {
      return "The predicate must not use MATCHES, which may take too long for one object; "
        + "use LIKE, BEGINSWITH, ENDSWITH or CONTAINS"
    }
    return nil
  }
}

extension ClosedRange<Int64> {
  /// Returns the smallest range that has both.
  fileprivate func union(_ other: Self) -> Self {
    Swift.min(lowerBound, other.lowerBound)...Swift.max(upperBound, other.upperBound)
  }
}
