import CordialProtocol
import CordialValues
import JSON
import ObjectModel
import PersistentHistory
import PersistentStore
import Subscriptions

/// A reader of the results of observed requests at one snapshot.
struct ResultReader {
  let snapshot: StoreSnapshot
  let limits: Limits

  // MARK: Compiling

  /// Compiles a request.
  ///
  /// - Parameter request: The request.
  /// - Returns: The plan.
  /// - Throws: `unknownEntity`, `unknownProperty`, `predicateInvalid`, `invalidIdentifier` or
  ///   `invalidRequest`.
  func compile(_ request: ObservedRequest) throws -> ObservedPlan {
    switch request.target {
    case .ids(let ids, let fetch):
      return .objects(ids, plans: try plans(ids, fetch))
    case .fetch(let fetch):
      try fetch.checkDeterminism(in: snapshot, of: "observe")
      let store = fetch.storeRequest
      switch fetch.result {
      case .objects, .ids: return .rows(try snapshot.plan(store))
      case .count: return .count(try snapshot.plan(store))
      case .values: return .values(store, try snapshot.valuesPlan(store))
      }
    case .history(let call):
      // An unknown entity is an error of the request, not of the first commit.
      _ = try call.entities.map { try EntityNames.loggedNumbers($0, in: snapshot.model) }
      return .history(call)
    case .search: return .search
    }
  }

  /// Returns a plan for each entity of the IDs.
  private func plans(_ ids: [String], _ fetch: FetchCall) throws -> [Int: FetchPlan] {
    var plans: [Int: FetchPlan] = [:]
    for number in Set(
      try ids.flatMap { try snapshot.entity(of: $0).familyPosition.concreteEntities }
    ) {
      let entity = snapshot.model.entity(number)
      plans[number] = try snapshot.plan(of: entity, select: fetch.storeSelection)
    }
    return plans
  }

  /// Returns the data on which the included objects of a request depend.
  ///
  /// - Throws: `unknownProperty` for a path that is not one of relationships.
  func inclusion(
    _ request: ObservedRequest,
    _ plan: ObservedPlan
  ) throws
    -> Observation.Inclusion
  {
    var inclusion = Observation.Inclusion()
    let start: EntityDescription? =
      switch plan {
      case .objects(_, let plans): plans.keys.min().map { snapshot.model.entity($0) }
      case .rows(let plan), .count(let plan): plan.entity
      case .values, .history, .search: nil
      }
    guard !request.include.isEmpty, let start else { return inclusion }
    for path in request.include {
      var entity = start
      let names = path.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
      for (index, name) in names.enumerated() {
        guard case .relationship(let relationship)? = entity.property(named: name) else {
          throw StoreError.noRelationship(name, of: entity, in: path)
        }
        if index == 0 { inclusion.relationships.insert(name) }
        entity = snapshot.model.entity(relationship.destination)
        inclusion.entities.formUnion(entity.familyPosition.concreteEntities)
      }
    }
    guard snapshot.mayDangle else { return inclusion }
    // A to-one of an included object reads null where its target was deleted.
    for number in inclusion.entities {
      for toOne in snapshot.model.entity(number).relationships where !toOne.toMany {
        let target = snapshot.model.entity(toOne.destination)
        inclusion.entities.formUnion(target.familyPosition.concreteEntities)
      }
    }
    return inclusion
  }

  // MARK: Whole results

  /// Reads a whole result and writes its members.
  ///
  /// - Parameters:
  ///   - request: The request.
  ///   - plan: Its plan for this snapshot's model.
  ///   - out: The writer of the members.
  /// - Returns: The result.
  /// - Throws: `limitExceeded` when the writer's limit is exceeded; `SQLiteError`.
  func read(
    _ request: ObservedRequest,
    _ plan: ObservedPlan,
    to out: inout UpdateWriter
  ) throws -> ObservedResult {
    var result = ObservedResult()
    result.revision = snapshot.head.number
    switch plan {
    case .objects(let ids, let plans):
      try readObjects(ids, plans, request, &result, &out)
    case .rows(let plan):
      try readRows(plan, request, &result, &out)
      try readExtras(request, plan, &result, &out)
    case .count(let plan):
      result.count = try snapshot.count(plan)
      try out.member("count") { $0.integer(result.count) }
      try readExtras(request, plan, &result, &out)
    case .values(let store, let plan):
      try readValues(request, store, plan, &result, &out)
    case .history:
      out.beginList("transactions")
      out.endList()
    // Searches read the index.
    case .search: break
    }
    return result
  }

  private func readObjects(
    _ ids: [String],
    _ plans: [Int: FetchPlan],
    _ request: ObservedRequest,
    _ result: inout ObservedResult,
    _ out: inout UpdateWriter
  ) throws {
    let wantsDigests = request.mode != .ids && plans.values.contains { !$0.related.isEmpty }
    var missing: [JSONMember] = []
    out.beginList(request.mode == .ids ? "ids" : "objects")
    for id in ids {
      let key = try snapshot.resolve(id)
      var exists = false
      var digest: UInt64 = 0
      if request.mode == .ids {
        exists = try key.map { try snapshot.exists($0) } ?? false
        if exists { try out.element { $0.string(id) } }
      } else {
        try out.element { writer in
          let start = writer.bytes.count
          if let key, let plan = plans[key.entity] {
            exists = try snapshot.write(key.object, as: plan, to: &writer)
          }
          if !exists { writer.null() }
          if wantsDigests { digest = UInt64(digestOf: writer.bytes[start...]) }
        }
      }
      if !exists { missing.append(try reason(id, key)) }
      result.named.append(.init(key: key, exists: exists))
      if wantsDigests { result.digests.append(digest) }
    }
    out.endList()
    if !missing.isEmpty, request.mode != .ids {
      try out.member("missing") { $0.value(.object(missing)) }
    }
    let count = request.mode == .ids ? result.named.count(where: \.exists) : ids.count
    try out.member("count") { $0.integer(Int64(count)) }
    try readIncluded(request, &result, &out)
  }

  private func reason(_ id: String, _ key: ObjectKey?) throws -> JSONMember {
    let existed = try key.map { try snapshot.wasAllocated($0) } ?? false
    return JSONMember(id, existed ? "deleted" : "unknown")
  }

  /// The number of rows whose memory is counted together.
  private static let countedRows = 1024

  private func readRows(
    _ plan: FetchPlan,
    _ request: ObservedRequest,
    _ result: inout ObservedResult,
    _ out: inout UpdateWriter
  ) throws {
    var window = WindowRows(of: plan.request, spareMax: limits.windowSpareMax)
    let spare = plan.isWindow ? window.spare : 0
    let first = plan.request.offset - window.start
    let last = plan.request.limit.map { first + $0 } ?? .max
    let wantsDigests = request.mode != .ids && !plan.relatedNames.isEmpty
    /// The memory of a row, in bytes: its number, that of the window, and its digest.
    let rowBytes = 8 * (1 + (plan.isWindow ? 1 : 0) + (wantsDigests ? 1 : 0))
    var rowCount = 0
    /// Adds an object, and returns whether the window has it.
    func add(_ object: Int64) throws -> Bool {
      let isInside = !plan.isWindow || (first..<last).contains(window.rows.count)
      if plan.isWindow { window.rows.append(object) }
      if isInside { result.objects.append(object) }
      rowCount += 1
      if rowCount.isMultiple(of: Self.countedRows) { try out.count(Self.countedRows * rowBytes) }
      return isInside
    }
    let isDiscarding = out.isDiscarding
    let hasMore: Bool
    if request.mode == .ids || isDiscarding && !wantsDigests {
      out.beginList("ids")
      hasMore = try snapshot.eachNumber(plan, spare: spare) { object in
        guard try add(object), !isDiscarding else { return }
        try out.element { $0.string(try snapshot.wrappedID(plan.key(object)).description) }
      }
      out.endList()
    } else {
      out.beginList("objects")
      hasMore = try snapshot.eachObject(plan, spare: spare) { object, write in
        guard try add(object) else { return }
        try out.element { writer in
          let start = writer.bytes.count
          write(&writer)
          if wantsDigests { result.digests.append(UInt64(digestOf: writer.bytes[start...])) }
        }
      }
      out.endList()
    }
    window.isComplete = !hasMore
    if plan.isWindow { result.window = window }
    try finishRows(plan, request, result, &out)
  }

  /// Writes the members after the rows: their number, and the first objects of a list of IDs.
  private func finishRows(
    _ plan: FetchPlan,
    _ request: ObservedRequest,
    _ result: ObservedResult,
    _ out: inout UpdateWriter
  ) throws {
    try out.member("count") { $0.integer(Int64(result.objects.count)) }
    guard request.mode == .ids, request.first > 0, !out.isDiscarding else { return }
    out.beginList("objects")
    for object in result.objects.prefix(request.first) {
      try out.element { writer in
        if try !snapshot.write(object, as: plan, to: &writer) { writer.null() }
      }
    }
    out.endList()
  }

  /// Writes the members of a known result of a fetch, without searching or sorting.
  ///
  /// - Parameters:
  ///   - result: The result at this snapshot.
  ///   - request: The request.
  ///   - plan: Its plan.
  ///   - out: The writer of the members.
  /// - Throws: `limitExceeded` when the writer's limit is exceeded; `SQLiteError`.
  /// - Complexity: One look-up for each row.
  func write(
    _ result: ObservedResult,
    _ request: ObservedRequest,
    _ plan: FetchPlan,
    to out: inout UpdateWriter
  ) throws {
    let isIDs = request.mode == .ids
    out.beginList(isIDs ? "ids" : "objects")
    for object in result.objects {
      try out.element { writer in
        if isIDs {
          writer.string(try snapshot.wrappedID(plan.key(object)).description)
        } else if try !snapshot.write(object, as: plan, to: &writer) {
          writer.null()
        }
      }
    }
    out.endList()
    try finishRows(plan, request, result, &out)
    if let sections = result.sections {
      try out.member("sections") { FetchSection.write(sections, to: &$0) }
    }
    if let total = result.total { try out.member("total") { $0.integer(total) } }
    guard !request.include.isEmpty else { return }
    out.beginList("included", isObject: true)
    try eachIncluded(request, result) { _, bytes in try out.element { $0.raw(Array(bytes)) } }
    out.endList()
  }

  /// Reads sections, total and included objects of a fetch.
  private func readExtras(
    _ request: ObservedRequest,
    _ plan: FetchPlan,
    _ result: inout ObservedResult,
    _ out: inout UpdateWriter
  ) throws {
    if request.fetch?.sectionBy != nil {
      let sections = try snapshot.sections(plan)
      result.sections = sections
      try out.member("sections") { FetchSection.write(sections, to: &$0) }
    }
    if request.fetch?.total == true {
      let total = try snapshot.count(plan)
      result.total = total
      try out.member("total") { $0.integer(total) }
    }
    try readIncluded(request, &result, &out)
  }

  private func readValues(
    _ request: ObservedRequest,
    _ store: FetchRequest,
    _ plan: ValuesPlan,
    _ result: inout ObservedResult,
    _ out: inout UpdateWriter
  ) throws {
    var digest = ContentDigest.Stream()
    var count = 0
    out.beginList("rows")
    try snapshot.eachRow(of: plan) { write in
      try out.element { writer in
        let start = writer.bytes.count
        write(&writer)
        digest.add(Array(writer.bytes[start...]))
        digest.add([0])
      }
      count += 1
    }
    out.endList()
    try out.member("count") { $0.integer(Int64(count)) }
    result.rowCount = count
    if request.fetch?.sectionBy != nil {
      var sections = JSONWriter()
      try snapshot.writeValueSections(store, bytesMax: .max, to: &sections)
      digest.add(sections.bytes)
      try out.member("sections") { $0.raw(sections.bytes) }
    }
    if request.fetch?.total == true {
      let total = try snapshot.countValues(store)
      digest.add(Array("\(total)".utf8))
      try out.member("total") { $0.integer(total) }
    }
    result.rows = digest.prefix
  }

  private func readIncluded(
    _ request: ObservedRequest,
    _ result: inout ObservedResult,
    _ out: inout UpdateWriter
  ) throws {
    guard !request.include.isEmpty else { return }
    out.beginList("included", isObject: true)
    try eachIncluded(request, result) { key, bytes in
      result.included[key] = UInt64(digestOf: bytes)
      try out.element { $0.raw(Array(bytes)) }
    }
    out.endList()
  }

  /// Calls a body with the included objects, each as `"id":object`.
  func eachIncluded(
    _ request: ObservedRequest,
    _ result: ObservedResult,
    _ body: (ObjectKey, ArraySlice<UInt8>) throws -> Void
  ) throws {
    var entity: EntityDescription?
    var objects = Array(result.objects)
    switch request.target {
    case .ids:
      let keys = result.named.compactMap { $0.exists ? $0.key : nil }
      guard Set(keys.map(\.entity)).count <= 1 else {
        throw StoreError(.invalidRequest, "observe: include requires ids of one entity")
      }
      entity = keys.first.map { snapshot.model.entity($0.entity) }
      objects = keys.map(\.object)
    case .fetch(let fetch): entity = snapshot.model.entity(named: fetch.entity)
    case .history, .search: break
    }
    guard let entity else { return }
    var writer = JSONWriter()
    var ranges: [(ObjectKey, Range<Int>)] = []
    try snapshot.writeIncluded(request.include, of: entity, objects, bytesMax: .max, to: &writer) {
      key,
      range,
      _ in ranges.append((key, range))
    }
    for (key, range) in ranges { try body(key, writer.bytes[range]) }
  }
}
