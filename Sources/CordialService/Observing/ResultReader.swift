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

  /// Returns the data on which the included objects of a request depend.
  ///
  /// - Throws: `unknownProperty` for a path that is not one of relationships.
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
    // A to-one of an included object reads null where its target was deleted.
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
  func readExtras(
    _ request: ObservedRequest,
    _ query: some LiveQuery,
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
    try readIncluded(request, query, &result, &out)
  }

  /// Reads the included objects.
  func readIncluded(
    _ request: ObservedRequest,
    _ query: some LiveQuery,
    _ result: inout ObservedResult,
    _ out: inout UpdateWriter
  ) throws {
    guard !request.include.isEmpty else { return }
    out.beginList("included", isObject: true)
    try eachIncluded(request, query, result) { key, bytes in
      result.included[key] = UInt64(digestOf: bytes)
      try out.element { $0.raw(Array(bytes)) }
    }
    out.endList()
  }

  /// Calls a body with the included objects, each as `"id":object`.
  func eachIncluded(
    _ request: ObservedRequest,
    _ query: some LiveQuery,
    _ result: ObservedResult,
    _ body: (ObjectKey, ArraySlice<UInt8>) throws -> Void
  ) throws {
    guard let (entity, objects) = try query.including(result, in: snapshot.model) else { return }
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
