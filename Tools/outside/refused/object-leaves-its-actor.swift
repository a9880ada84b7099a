// does not conform to the 'Sendable' protocol
import Cordial
import CordialValues

struct Group: ObjectValue {
  static let entity = "Group"
  var id: WrappedID
  var title: String
}

func edit(_ background: BackgroundContext) async throws {
  let group = await background.perform { _, context in
    context.insert { Group(id: $0, title: "a") }
  }
  try group.update { $0.title = "b" }
}
