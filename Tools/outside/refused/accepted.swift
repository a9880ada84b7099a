import Cordial
import CordialValues

struct Group: ObjectValue {
  static let entity = "Group"
  var id: WrappedID
  var title: String
}

@MainActor func edit(_ client: Client) async throws {
  let context = Context(client)
  let group = context.insert { Group(id: $0, title: "a") }
  try group.update { $0.title = "b" }
  try await context.save()
  _ = FetchRequest<Group>(where: \.title == "b")
}
