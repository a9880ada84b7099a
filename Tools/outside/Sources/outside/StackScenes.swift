import Cordial
import CordialEmbedded
import TodoStore
import TodoValues

// The stack: a container with the program's stores, opened for one purpose or another.

/// The stacks of a program, one for each purpose.
struct TodoStack {
  let model: String
  var folder = "Todo.cordial"

  /// What the program itself uses.
  func shared() async throws -> Container { try await open(.shared) }
  /// A preview with data in memory.
  func previewInMemory() async throws -> Container { try await open(.previewInMemory) }
  /// A preview with data that stays.
  func previewInPersistentStore() async throws -> Container {
    try await open(.previewInPersistentStore)
  }
  /// Unit tests.
  func test() async throws -> Container { try await open(.test) }

  /// Both stores are of one model, which is read once.
  func open(
    _ profile: ContainerProfile?,
    _ arguments: [String] = []
  ) async throws -> Container {
    try await Container(
      model: .path(model),
      stores: [StoreDescription(at: .folder(folder)), StoreDescription("local", at: .memory)],
      profile: profile,
      arguments: arguments
    )
  }
}

/// Profiles, the arguments that select them, and two stores of one model.
func stacksHaveProfiles(_ model: String) async throws {
  let stack = TodoStack(model: model)
  let preview = try await stack.previewInMemory()
  let tests = [
    try await stack.test(),
    try await stack.open(nil, ["todo", "-TestMode", "1"]),
    try await stack.open(nil, ["todo", "-InMemory", "1", "-AllowCloudKitSync", "0"]),
  ]
  try check(tests.map(\.profile) == [.test, .test, .previewInMemory])
  let (data, local) = (try await preview.client(), try await preview.client("local"))
  try await TodoStore(data).addGroup("Home")
  let counts = [
    try await data.count(FetchRequest<TodoGroup>()),
    try await local.count(FetchRequest<TodoGroup>()),
  ]
  try check(counts == [1, 0])
  try await refuses("-InMemory") { try await stack.open(nil, ["todo", "-InMemory"]) }
  try await refuses("-AllowCloudKitSync") {
    try await stack.open(nil, ["todo", "-AllowCloudKitSync", "1"])
  }
  // A model that cannot be read is an error, and not the end of the program.
  try await refuses("nowhere.json") { try await TodoStack(model: "nowhere.json").test() }
  try await refuses("no store") { try await preview.client("cloud") }
  for container in [preview] + tests { try await container.close() }
}

private func refuses<Result>(_ part: String, _ open: () async throws -> Result) async throws {
  do {
    _ = try await open()
  } catch {
    return try check("\(error)".contains(part))
  }
  throw Unexpected(message: "\(part) was accepted")
}

/// The preview on disk and the program's own data are in folders beside each other.
func stacksOnDiskKeepTheirData(_ model: String, in folder: String) async throws {
  let stack = TodoStack(model: model, folder: folder + "/Todo.cordial")
  for round in 0..<2 {
    let preview = try await stack.previewInPersistentStore()
    let shared = try await stack.shared()
    let groups = [try await preview.client(), try await shared.client()]
    let counts = [
      try await groups[0].count(FetchRequest<TodoGroup>()),
      try await groups[1].count(FetchRequest<TodoGroup>()),
    ]
    try check(counts == [round, 0])
    if round == 0 { try await TodoStore(groups[0]).addGroup("Sample") }
    for container in [preview, shared] { try await container.close() }
  }
}
