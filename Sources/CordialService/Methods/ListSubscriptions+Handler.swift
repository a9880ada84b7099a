import CordialProtocol
import CordialValues
import JSON
import JSONRPC
import PersistentStore

extension Service {
  /// Answers `observe/list`.
  ///
  /// - Throws: `JSONError`.
  func listSubscriptions(_ request: Request) throws {
    let observations = observing.registry.all()
    var list: [JSONValue] = []
    for session in sessions.values.sorted(by: { $0.number < $1.number }) {
      for subscription in session.observed.subscriptions {
        guard let (observation, costs) = observations[subscription.observation] else { continue }
        list.append(try json(subscription, of: session, observation, costs))
      }
    }
    finish(request, result: ["subscriptions": .array(list)])
  }

  private func json(
    _ subscription: LiveSubscription,
    of session: Session,
    _ observation: Observation,
    _ costs: ObservationCosts
  ) throws -> JSONValue {
    var members = [
      JSONMember("connection", .integer(Int64(session.number))),
      JSONMember("subscription", .string(subscription.name)),
    ]
    if let key = subscription.key { members.append(JSONMember("key", .string(key))) }
    members += [
      JSONMember("request", try JSONParser.parse(Array(observation.request.text.utf8).span)),
      JSONMember("mode", .string(observation.request.mode.rawValue)),
      JSONMember("matching", .string(observation.matching.rawValue)),
      JSONMember("rows", .integer(Int64(observation.result.elementCount))),
      JSONMember("bytes", .integer(Int64(observation.bytes))),
    ]
    members += costs.members
    if let last = costs.last {
      members.append(JSONMember("last", last.json(in: store.model)))
    }
    return .object(members)
  }

  /// The sums of all observations, for `status`.
  var observingJSON: JSONValue {
    var costs = ObservationCosts()
    var bytes = 0
    for (observation, own) in observing.registry.all().values {
      costs = costs + own
      bytes += observation.bytes
    }
    return .object([JSONMember("bytes", .integer(Int64(bytes)))] + costs.members)
  }
}
