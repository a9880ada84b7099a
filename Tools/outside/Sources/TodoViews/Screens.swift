public import Cordial
public import TodoValues

/// The objects that the screens show; mocks until a program replaces them.
public struct TodoSources: DataSources {
  /// The sources of this program's screens.
  public static let registry = DataSourceRegistry(TodoSources())

  /// The groups.
  public var groups: FetchDataSource<TodoGroup>
  /// The tasks.
  public var tasks: FetchDataSource<TodoTask>

  /// Creates sources; mocks where none are given.
  public init(
    groups: FetchDataSource<TodoGroup> = .mockObjects(MockObjects(TodoGroup.samples)),
    tasks: FetchDataSource<TodoTask> = .mockObjects([])
  ) {
    (self.groups, self.tasks) = (groups, tasks)
  }
}

/// The model behind the first screen: the groups with the numbers of their tasks.
@MainActor public final class GroupScreen {
  /// The rows of the screen.
  public let groups: FetchedResults<TodoGroup>

  /// Opens the screen.
  public init() {
    groups = FetchedResults(\TodoSources.groups, request: FetchRequest(sort: ["title"]))
  }

  /// The text of each row.
  public var lines: [String] {
    groups.compactMap { $0.wrappedValue }.map { "\($0.title) (\($0.taskCount))" }
  }
}

/// The model behind the detail of a group, which stays on screen when the group is deleted.
@MainActor public final class GroupDetail {
  private let group: AnyConvertibleValueObject<TodoGroup>

  /// Shows a group.
  public init(_ group: AnyConvertibleValueObject<TodoGroup>) { self.group = group }

  /// The text of the detail.
  public var line: String {
    guard let value = group.lastValidValue else { return "loading" }
    return group.wrappedValue == nil ? "\(value.title) was deleted" : value.title
  }
}
