// risks causing data races
import Cordial
import CordialValues

struct Group: ObjectValue {
  static let entity = "Group"
  var id: WrappedID
  var title: String
}

@MainActor func show(_ client: Client) {
  let groups = FetchedResults(.fetchRequest(client.objects(Group.self)))
  Task.detached { print(groups.count) }
  print(groups.count)
}
