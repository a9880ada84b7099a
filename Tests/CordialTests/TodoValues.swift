import Cordial
import CordialValues

/// A group as the views of a program show it.
struct TodoGroup: ObjectValue {
  static let entity = "Group"
  static let properties = ["taskCount": "tasks.@count"]

  var id: WrappedID
  var title: String
  var taskCount: Int

  static let sample = TodoGroup(id: .string("Group1"), title: "Home", taskCount: 2)
}

/// A task as the views of a program show it.
struct TodoTask: ObjectValue {
  enum Priority: Int, Codable, CaseIterable, FallbackDecodable {
    case low, standard, high
    static let fallback = Priority.standard
  }

  static let entity = "Task"

  var id: WrappedID
  var title: String
  var priority: Priority
  var group: WrappedID?
}

struct TodoSources: DataSources {
  static let registry = DataSourceRegistry(TodoSources())

  var groups = FetchDataSource<TodoGroup>.mockObjects([])
  var tasks = FetchDataSource<TodoTask>.mockObjects([])
}
