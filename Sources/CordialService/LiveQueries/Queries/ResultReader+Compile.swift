import CordialProtocol
import CordialValues
import ObjectModel
import PersistentStore

/// The compilation of requests, which is the only code outside the kinds that names a kind.
extension ResultReader {
  /// Compiles a request.
  ///
  /// - Parameter request: The request.
  /// - Returns: The query.
  /// - Throws: `unknownEntity`, `unknownProperty`, `predicateInvalid`, `invalidIdentifier` or
  ///   `invalidRequest`.
  func compile(_ request: ObservedRequest) throws -> any LiveQuery {
    if let query = try request.added?(request, self) { return query }
    switch request.target {
    case .ids(let ids, let fetch):
      return ObjectsQuery(ids: ids, plans: try plans(ids, fetch))
    case .fetch(let fetch):
      try fetch.checkDeterminism(in: snapshot, of: "observe")
      let store = fetch.storeRequest
      switch fetch.form {
      case .objects, .ids: return RowsQuery(plan: try snapshot.plan(store))
      case .count: return CountQuery(plan: try snapshot.plan(store))
      case .values: return ValuesQuery(fetch: store, plan: try snapshot.valuesPlan(store))
      }
    case .history(let call):
      // An unknown entity must fail the request now, instead of the update of the first commit.
      _ = try call.entities.map { try EntityNames.loggedNumbers($0, in: snapshot.model) }
      return HistoryQuery(call: call)
    case .search:
      throw StoreError(.internalError, "An observed search has no result of the index")
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
}
