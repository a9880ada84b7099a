import Cordial
import CordialValues

struct GroupRow: BaseValue {
  var id: WrappedID, title: String, taskCount: Int
}

@MainActor struct GroupList {
  let groups: FetchedResults<GroupRow>
  init(_ source: FetchDataSource<GroupRow>) { groups = FetchedResults(source) }
  var lines: [String] {
    groups.compactMap(\.wrappedValue).map { "\($0.title) (\($0.taskCount))" }
  }
}
