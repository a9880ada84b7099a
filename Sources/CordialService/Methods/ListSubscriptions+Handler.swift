import CordialProtocol
import CordialValues
import JSON
import JSONRPC
import ObjectModel
import PersistentStore

/// A subscription, as `observe/list` shows it.
private struct ListedSubscription: Sendable {
  let connection: Int
  let name: String
  let key: String?
  let observation: Observation
  let costs: ObservationCosts

  func write(in model: Model, to writer: inout JSONWriter) {
    var members = [
      JSONMember(.connection, .integer(Int64(connection))),
      JSONMember(.subscription, .string(name)),
    ]
    if let key { members.append(JSONMember(.key, .string(key))) }
    writer.raw("{")
    Self.write(members, to: &writer)
    writer.key(.request, after: ",")
    writer.raw(string: observation.request.text)
    writer.raw(",")
    members = [
      JSONMember(.mode, .string(observation.request.mode.rawValue)),
      JSONMember(.matching, .string(observation.query.matching.rawValue)),
      JSONMember(.rows, .integer(Int64(observation.result.elementCount))),
      JSONMember(.bytes, .integer(Int64(observation.bytes))),
    ]
    members += costs.sums.json.members ?? []
    if let last = costs.last { members.append(JSONMember(.last, last.json(in: model))) }
    Self.write(members, to: &writer)
    writer.raw("}")
  }

  private static func write(_ members: [JSONMember], to writer: inout JSONWriter) {
    for (index, member) in members.enumerated() {
      if index > 0 { writer.raw(",") }
      writer.string(member.name)
      writer.raw(":")
      writer.value(member.value)
    }
  }
}

extension Service {
  /// Answers `observe/list`; a thread of the store writes the response.
  func listSubscriptions(_ request: Request) {
    let observations = observing.registry.all()
    let listed = sessions.values.sorted { $0.number < $1.number }.flatMap { session in
      session.observed.subscriptions.compactMap { subscription -> ListedSubscription? in
        guard let (observation, costs) = observations[subscription.observation] else { return nil }
        return ListedSubscription(
          connection: session.number,
          name: Subscriber(session: session.number, number: subscription.number).name,
          key: subscription.key,
          observation: observation,
          costs: costs
        )
      }
    }
    let bytesMax = limits.answerBytesMax
    read(request) { snapshot, writer in
      writer.key(.subscriptions, after: "{")
      writer.raw("[")
      for (index, subscription) in listed.enumerated() {
        if index > 0 { writer.raw(",") }
        writer.splitIfLong()
        try StoreSnapshot.check(writer, bytesMax)
        subscription.write(in: snapshot.model, to: &writer)
      }
      writer.raw("]}")
    }
  }

  /// The total memory and costs of all observations, for `status`.
  var observingSums: StatusCall.Observing {
    var costs = ObservationCosts()
    var bytes = 0
    for (observation, own) in observing.registry.all().values {
      costs = costs + own
      bytes += observation.bytes
    }
    return StatusCall.Observing(bytes: Int64(bytes), costs: costs.sums)
  }
}
