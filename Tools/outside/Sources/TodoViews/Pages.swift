import Cordial
import CordialValues
import TodoValues

/// A page of the program: its rows, and what its keys do.
@MainActor protocol Page: AnyObject {
  /// The text above the rows.
  var title: String { get }
  /// The rows, and the row that is selected.
  var rows: [String] { get }
  /// The keys of the page, for the line below the rows.
  var help: String { get }
  /// The index of the selected row.
  var selection: Int { get set }
  /// Handles a key, and returns what the program does next.
  func handle(_ key: Key, _ actions: any TodoActions) async throws -> Step
}

/// What the program does after a key.
@MainActor enum Step {
  /// Nothing: the page follows its objects by itself.
  case stay
  /// Shows another page; Escape returns to this one.
  case open(any Page)
  /// Asks for a text, with a text to begin with, and uses it.
  case ask(String, String, @MainActor (String, any TodoActions) async throws -> Void)
}

/// The groups with the numbers of their tasks.
@MainActor final class GroupPage: Page {
  private let groups: FetchedResults<TodoGroup>
  var selection = 0

  let title = "Groups"
  let help = "Enter tasks  n new  r rename  d delete  m my day  s sections  / search  q quit"

  init() {
    groups = FetchedResults(\TodoSources.groups, request: FetchRequest(sort: ["title"]))
  }

  var rows: [String] {
    groups.compactMap { $0.wrappedValue }.map { "\($0.title) (\($0.taskCount))" }
  }

  func handle(_ key: Key, _ actions: any TodoActions) async throws -> Step {
    switch key {
    case .character("n"):
      return .ask("New group", "") { text, actions in try await actions.addGroup(text) }
    case .character("m"): return .open(TaskPage.myDay)
    case .character("s"): return .open(SectionPage())
    case .character("/"): return .open(SearchPage())
    default: break
    }
    guard groups.indices.contains(selection), let group = groups[selection].wrappedValue else {
      return .stay
    }
    switch key {
    case .enter: return .open(TaskPage(of: groups[selection], group))
    case .character("r"):
      return .ask("Title", group.title) { text, actions in
        var changed = group
        changed.title = text
        try await actions.update(group, to: changed)
      }
    case .character("d"): try await actions.delete(group.id)
    default: break
    }
    return .stay
  }
}

/// A list of tasks: those of a group, or those of the day.
@MainActor final class TaskPage: Page {
  private let heading: @MainActor () -> String
  private let group: WrappedID?
  private let tasks: FetchedResults<TodoTask>
  var selection = 0

  let help = "Enter detail  Space done  t my day  + - priority  g move  n new  d delete  Esc back"

  private init(
    _ heading: @escaping @MainActor () -> String,
    in group: WrappedID?,
    _ predicate: FetchPredicate
  ) {
    self.heading = heading
    self.group = group
    tasks = FetchedResults(
      \TodoSources.tasks,
      request: FetchRequest(predicate: predicate, sort: ["completed", "-priority", "title"])
    )
  }

  convenience init(of object: AnyConvertibleValueObject<TodoGroup>, _ group: TodoGroup) {
    // The page stays when another program deletes the group.
    self.init(
      {
        let title = object.lastValidValue?.title ?? group.title
        return object.wrappedValue == nil ? "\(title) (deleted)" : title
      },
      in: group.id,
      "group == \(group.id)"
    )
  }

  static var myDay: TaskPage { TaskPage({ "My day" }, in: nil, "myDay == YES") }

  var title: String { heading() }

  var rows: [String] { tasks.compactMap { $0.wrappedValue }.map { $0.line } }

  func handle(_ key: Key, _ actions: any TodoActions) async throws -> Step {
    if key == .character("n"), let group {
      return .ask("New task", "") { text, actions in try await actions.addTask(text, in: group) }
    }
    guard tasks.indices.contains(selection) else { return .stay }
    return try await tasks[selection].handle(key, actions)
  }
}

/// All tasks in sections, one for each group.
@MainActor final class SectionPage: Page {
  private let tasks: SectionedFetchedResults<TodoTask>
  var selection = 0

  let title = "All tasks"
  let help = "Enter detail  Space done  g move  d delete  Esc back"

  init() {
    tasks = SectionedFetchedResults(
      \TodoSources.tasks,
      request: FetchRequest(sort: ["title"], sectionBy: "group.title")
    )
  }

  var rows: [String] {
    tasks.elements.compactMap { element in
      switch element {
      case .head(let section): "== \(section.title) (\(section.range.count))"
      case .object(let task): task.wrappedValue?.line ?? "..."
      case .foot: nil
      }
    }
  }

  func handle(_ key: Key, _ actions: any TodoActions) async throws -> Step {
    let elements = tasks.elements.filter { if case .foot = $0 { false } else { true } }
    guard elements.indices.contains(selection), case .object(let task) = elements[selection] else {
      return .stay
    }
    return try await task.handle(key, actions)
  }
}

/// The tasks whose titles contain what was typed, by a request for each key.
@MainActor final class SearchPage: Page {
  private let tasks: FetchedResults<TodoTask>
  private var text = ""
  var selection = 0

  let help = "type to search  Enter detail  Esc back"

  init() {
    tasks = FetchedResults(\TodoSources.tasks)
  }

  var title: String { "Search: \(text)" }

  var rows: [String] { tasks.compactMap { $0.wrappedValue }.map { $0.line } }

  func handle(_ key: Key, _ actions: any TodoActions) async throws -> Step {
    switch key {
    case .character(let character): text.append(character)
    case .backspace: text = String(text.dropLast())
    case .enter where tasks.indices.contains(selection):
      return .open(DetailPage(tasks[selection]))
    default: return .stay
    }
    selection = 0
    tasks.request =
      text.isEmpty
      ? nil : FetchRequest(predicate: "title CONTAINS[cd] \(text)", sort: ["title"], limit: 50)
    return .stay
  }
}

/// A task with all that is known of it; it stays on screen when the task is deleted.
@MainActor final class DetailPage: Page {
  private let task: AnyConvertibleValueObject<TodoTask>
  var selection = 0

  let help = "r rename  e memo  Space done  t my day  + - priority  g move  d delete  Esc back"

  init(_ task: AnyConvertibleValueObject<TodoTask>) {
    self.task = task
  }

  var title: String { task.lastValidValue?.title ?? "..." }

  var rows: [String] {
    guard let value = task.lastValidValue else { return ["..."] }
    return [
      task.wrappedValue == nil ? "This task was deleted" : value.completed ? "Done" : "To do",
      "Group     \(value.groupTitle ?? "-")",
      "My day    \(value.myDay ? "yes" : "no")",
      "Priority  \(value.priority)",
      "Memo      \(value.memoText ?? "-")",
    ]
  }

  func handle(_ key: Key, _ actions: any TodoActions) async throws -> Step {
    guard let value = task.wrappedValue else { return .stay }
    switch key {
    case .character("r"):
      return .ask("Title", value.title) { text, actions in
        // Only the title is sent: what others change meanwhile stays.
        var changed = value
        changed.title = text
        try await actions.update(value, to: changed)
      }
    case .character("e"):
      return .ask("Memo", value.memoText ?? "") { text, actions in
        try await actions.setMemo(text, of: value.id)
      }
    case .enter: return .stay
    default: return try await task.handle(key, actions)
    }
  }
}

extension TodoTask {
  /// The task as a row.
  var line: String {
    let marks = (myDay ? " *" : "") + (priority > 0 ? " !\(priority)" : "")
    return "\(completed ? "[x]" : "[ ]") \(title)\(marks)"
  }
}

extension AnyConvertibleValueObject<TodoTask> {
  /// Does what a key does with a task on every page.
  @MainActor func handle(_ key: Key, _ actions: any TodoActions) async throws -> Step {
    guard let task = wrappedValue else { return .stay }
    var changed = task
    switch key {
    case .enter: return .open(DetailPage(self))
    case .character(" "): changed.completed.toggle()
    case .character("t"): changed.myDay.toggle()
    case .character("+"): changed.priority += 1
    case .character("-"): changed.priority -= 1
    case .character("g"):
      // The next group in the order of the titles.
      let groups = try await actions.groups()
      guard !groups.isEmpty else { return .stay }
      let next = groups.firstIndex { $0.id == task.group }.map { ($0 + 1) % groups.count } ?? 0
      changed.group = groups[next].id
    case .character("d"):
      try await actions.delete(task.id)
      return .stay
    default: return .stay
    }
    try await actions.update(task, to: changed)
    return .stay
  }
}
