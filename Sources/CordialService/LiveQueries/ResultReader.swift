import CordialProtocol
import CordialValues
import JSON
import ObjectModel
import PersistentHistory
package import PersistentStore

/// A reader of the results of observed requests at one snapshot.
package struct ResultReader {
  package let snapshot: StoreSnapshot
  let limits: Limits

  /// Returns the data on which the included objects of a request depend.
  ///
  /// - Throws: `unknownProperty` for a path with a name that is not a relationship.
  func inclusion(
    _ request: ObservedRequest,
    _ query: any LiveQuery
  ) throws -> Observation.Inclusion {
    var inclusion = Observation.Inclusion()
    guard !request.include.isEmpty, let start = query.inclusionStart(in: snapshot.model) else {
      return inclusion
    }
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
    // An included object has null for a to-one whose target was deleted, so that changes of the
    // target's entity also alter included objects.
    for number in inclusion.entities {
      for toOne in snapshot.model.entity(number).relationships where !toOne.toMany {
        let target = snapshot.model.entity(toOne.destination)
        inclusion.entities.formUnion(target.familyPosition.concreteEntities)
      }
    }
    return inclusion
  }

  // MARK: Parts of results

  /// Reads sections, total and included objects of a fetch.
  ///
  /// - Parameters:
  ///   - request: The request.
  ///   - plan: The compiled fetch.
  ///   - objects: The numbers of the objects at which included relationships begin.
  ///   - out: The writer of the members.
  /// - Returns: The parts that the request wants.
  /// - Throws: `limitExceeded` when the writer's limit is exceeded; `SQLiteError`.
  func readExtras(
    _ request: ObservedRequest,
    _ plan: FetchPlan,
    of objects: @autoclosure () -> [Int64],
    _ out: inout UpdateWriter
  ) throws -> ResultExtras {
    var extras = ResultExtras()
    if request.fetch?.sectionBy != nil {
      let sections = try snapshot.sections(plan)
      extras.sections = sections
      try out.member(.sections) { FetchSection.write(sections, to: &$0) }
    }
    if request.fetch?.total == true {
      let total = try snapshot.count(plan)
      extras.total = total
      try out.member(.total) { $0.integer(total) }
    }
    extras.included = try readIncluded(request, (plan.entity, objects()), &out)
    return extras
  }

  /// The objects at which included relationships begin: their entity and their object numbers; nil
  /// for none.
  typealias Starts = (entity: EntityDescription, objects: [Int64])?

  /// Reads the included objects and writes them as a member.
  ///
  /// - Returns: The digests of the objects.
  func readIncluded(
    _ request: ObservedRequest,
    _ starts: @autoclosure () throws -> Starts,
    _ out: inout UpdateWriter
  ) throws -> [ObjectKey: UInt64] {
    guard !request.include.isEmpty else { return [:] }
    var included: [ObjectKey: UInt64] = [:]
    out.beginList(.included, isObject: true)
    try eachIncluded(request, try starts()) { key, bytes in
      included[key] = UInt64(digestOf: bytes)
      try out.element { $0.raw(Array(bytes)) }
    }
    out.endList()
    return included
  }

  /// Returns the digests of the included objects.
  func included(
    _ request: ObservedRequest,
    _ starts: @autoclosure () throws -> Starts
  ) throws -> [ObjectKey: UInt64] {
    guard !request.include.isEmpty else { return [:] }
    var included: [ObjectKey: UInt64] = [:]
    try eachIncluded(request, try starts()) { key, bytes in
      included[key] = UInt64(digestOf: bytes)
    }
    return included
  }

  /// Calls a body with the included objects, each as `"id":object`.
  func eachIncluded(
    _ request: ObservedRequest,
    _ starts: Starts,
    _ body: (ObjectKey, ArraySlice<UInt8>) throws -> Void
  ) throws {
    guard let (entity, objects) = starts else { return }
    var writer = JSONWriter()
    var ranges: [(ObjectKey, Range<Int>)] = []
    try snapshot.writeIncluded(request.include, of: entity, objects, bytesMax: .max, to: &writer) {
      key,
      range,
      _ in ranges.append((key, range))
    }
    for (key, range) in ranges { try body(key, writer.bytes[range]) }
  }

  /// Returns the digest of an object's row; 0 for a missing object.
  func digest(_ object: Int64, _ plan: FetchPlan) throws -> UInt64 {
    var row = JSONWriter()
    return try snapshot.write(object, as: plan, to: &row) ? UInt64(digestOf: row.bytes) : 0
  }
}
