import Cordial
import CordialEmbedded
import CordialValues
import Foundation
import Logging
import ServiceLifecycle
import Synchronization
import TestStores
import Testing

private struct GroupTitle: ObjectValue {
  static let entity = "Group"
  var id: WrappedID
  var title: String?
}

@Suite struct `A container` {
  private static let all = FetchRequest<GroupTitle>(sort: ["title"])

  private func insert(_ title: String, _ client: Client) async throws {
    var changes = SaveRequest()
    try changes.insert { GroupTitle(id: $0, title: title) }
    try await client.save(changes)
  }

  private func titles(_ client: Client) async throws -> [String?] {
    try await client.fetch(Self.all).map(\.title)
  }

  @Test func `has stores in memory and on disk from one model`() async throws {
    let folder = try TestFolder()
    let stores = [
      StoreDescription(at: .folder(folder.path + "/Todo.cordial")),
      StoreDescription("scratch", at: .memory),
    ]
    let container = try await Container(
      model: .json(TestModels.todo),
      stores: stores,
      arguments: []
    )
    let (disk, memory) = (try await container.client(), try await container.client("scratch"))
    try await insert("disk", disk)
    try await insert("memory", memory)
    #expect(try await titles(disk) == ["disk"])
    #expect(try await titles(memory) == ["memory"])
    let unknown = await #expect(throws: ClientError.self) {
      _ = try await container.client("other")
    }
    #expect(unknown?.message == #"The container has no store "other"; it has default, scratch"#)
    try await container.close()

    let again = try await Container(model: .json(TestModels.todo), stores: stores, arguments: [])
    #expect(try await titles(try await again.client()) == ["disk"])
    #expect(try await titles(try await again.client("scratch")) == [])
    try await again.close()
  }

  @Test func `refuses saves of a store that has become read-only`() async throws {
    let folder = try TestFolder()
    let place = StoreDescription.Location.folder(folder.path + "/Todo.cordial")
    for isReadOnly in [false, true] {
      let container = try await Container(
        model: .json(TestModels.todo),
        stores: [StoreDescription(at: place, isReadOnly: isReadOnly)],
        arguments: []
      )
      let client = try await container.client()
      if isReadOnly {
        let error = await #expect(throws: ClientError.self) { try await insert("Work", client) }
        #expect(error?.code == .storeReadOnly)
      } else {
        try await insert("Home", client)
      }
      #expect(try await titles(client) == ["Home"])
      try await container.close()
    }
  }

  @Test func `closes its clients with it`() async throws {
    let container = try await Container(
      model: .json(TestModels.todo),
      stores: [StoreDescription(at: .memory)],
      arguments: []
    )
    let client = try await container.client()
    let states = client.states
    try await insert("Home", client)
    async let other: Void = container.close()
    try await container.close()
    try await other
    try await container.close()
    // The sequence ends with the client.
    var last = client.state
    for await state in states { last = state }
    #expect(last == .closed && client.state == .closed)
    for refused in [
      await #expect(throws: ClientError.self) { _ = try await titles(client) },
      await #expect(throws: ClientError.self) { _ = try await container.client() },
    ] { #expect(refused?.code == .connectionEnded) }
  }

  /// Keeps the titles that commits have inserted or changed.
  private final class Journal: HistoryFollower {
    let name = "journal"
    private let lines = Mutex<[String]>([])
    private let failsAt: Int

    init(failsAt: Int = .max) {
      self.failsAt = failsAt
    }

    struct Full: Error {}

    var text: [String] { lines.withLock { $0 } }

    func follow(_ commit: StoreCommit) async throws {
      let kinds = commit.changes.map { "\($0.kind) \($0.id)" }
      try lines.withLock { lines in
        guard lines.count < failsAt else { throw Full() }
        lines.append(kinds.joined(separator: ","))
      }
    }
  }

  private func wait(_ journal: Journal, _ count: Int) async throws {
    for _ in 0..<60_000 where journal.text.count < count {
      try await ContinuousClock().sleep(for: .milliseconds(1))
    }
  }

  @Test func `tells its followers each commit once, across restarts`() async throws {
    let folder = try TestFolder()
    let stores = [StoreDescription(at: .folder(folder.path + "/Todo.cordial"))]
    func open(_ journal: Journal) async throws -> Container {
      try await Container(
        model: .json(TestModels.todo),
        stores: stores,
        followers: [journal],
        arguments: []
      )
    }
    let first = Journal()
    var container = try await open(first)
    var client = try await container.client()
    for number in 1...3 { try await insert("\(number)", client) }
    try await wait(first, 3)
    #expect(first.text == ["insert Group/p1", "insert Group/p2", "insert Group/p3"])
    try await container.close()

    // Without a follower, and then with one that fails at the second commit.
    container = try await Container(model: .json(TestModels.todo), stores: stores, arguments: [])
    client = try await container.client()
    try await insert("4", client)
    try await insert("5", client)
    try await container.close()
    let failing = Journal(failsAt: 1)
    container = try await open(failing)
    try await wait(failing, 1)
    try await container.close()
    #expect(failing.text == ["insert Group/p4"])

    // What was not acknowledged comes again.
    let last = Journal()
    container = try await open(last)
    client = try await container.client()
    var changes = SaveRequest()
    let fetched = try await client.fetch(Self.all)
    changes.delete(try #require(fetched.first).id)
    try await client.save(changes, author: "person")
    try await wait(last, 3)
    #expect(last.text == ["insert Group/p4", "insert Group/p5", "delete Group/p1"])
    try await container.close()
  }

  @Test func `runs in a service group, with its clients`() async throws {
    let container = try await Container(
      model: .json(TestModels.todo),
      stores: [StoreDescription(at: .memory)],
      arguments: []
    )
    let client = try await container.client()
    let group = ServiceGroup(
      services: [container, client],
      logger: Logger(label: "group") { _ in SwiftLogNoOpLogHandler() }
    )
    let running = Task { try await group.run() }
    try await insert("served", client)
    await group.triggerGracefulShutdown()
    try await running.value
    #expect(client.state == .closed)
    let closed = await #expect(throws: ClientError.self) { _ = try await self.titles(client) }
    #expect(closed?.code == .connectionEnded)
  }

  @Test func `keeps the program's data away from previews and tests`() async throws {
    let folder = try TestFolder()
    let path = folder.path + "/Todo.cordial"
    let stores = [StoreDescription(at: .folder(path))]
    func open(_ arguments: [String]) async throws -> Container {
      try await Container(model: .json(TestModels.todo), stores: stores, arguments: arguments)
    }
    for (arguments, profile) in [
      (["-InMemory", "1"], ContainerProfile.previewInMemory), (["-TestMode", "1"], .test),
      (["-InMemory", "0", "-AllowCloudKitSync", "0"], .shared),
    ] {
      let container = try await open(arguments)
      #expect(container.profile == profile)
      try await insert("\(profile)", try await container.client())
      try await container.close()
      #expect(FileManager.default.fileExists(atPath: path) == (profile == .shared))
    }
    let preview = try await Container(
      model: .json(TestModels.todo),
      stores: stores,
      profile: .previewInPersistentStore,
      arguments: []
    )
    #expect(try await titles(try await preview.client()) == [])
    try await preview.close()
    #expect(FileManager.default.fileExists(atPath: path + ".preview"))
    let shared = try await open([])
    #expect(try await titles(try await shared.client()) == ["shared"])
    try await shared.close()
  }

  @Test(arguments: [
    (["-InMemory"], "-InMemory needs the value 0 or 1, not none"),
    (["-TestMode", "yes"], #"-TestMode needs the value 0 or 1, not "yes""#),
    (["-AllowCloudKitSync", "1"], "-AllowCloudKitSync 1: no store is synchronized with CloudKit"),
    (["-InMemory", "1", "-TestMode", "1"], "-InMemory 1 and -TestMode 1 exclude each other"),
  ])
  func `refuses arguments that it cannot follow`(
    arguments: [String],
    message: String
  ) async {
    let error = await #expect(throws: ContainerError.self) {
      _ = try await Container(
        model: .json(TestModels.todo),
        stores: [StoreDescription(at: .memory)],
        arguments: arguments
      )
    }
    #expect(error?.message == message)
  }

  @Test func `says what is wrong with a model or a store`() async throws {
    func message(_ model: ModelSource, _ stores: [StoreDescription]) async throws -> String {
      let error = await #expect(throws: ContainerError.self) {
        _ = try await Container(model: model, stores: stores, arguments: [])
      }
      return try #require(error).message
    }
    let memory = [StoreDescription(at: .memory)]
    #expect(try await message(.json("{"), memory).isEmpty == false)
    #expect(try await message(.path("/nowhere.json"), memory).contains("/nowhere.json"))
    #expect(
      try await message(.path("/nowhere.xcdatamodeld"), memory).contains("/nowhere.xcdatamodeld")
    )
    #expect(try await message(.json(TestModels.todo), []) == "A container needs at least one store")
    #expect(
      try await message(.json(TestModels.todo), memory + memory)
        == #"Two stores have the name "default""#
    )
    let readOnly = StoreDescription(at: .folder("/nowhere/Todo.cordial"), isReadOnly: true)
    #expect(try await message(.json(TestModels.todo), [readOnly]).contains("/nowhere/Todo.cordial"))
  }

  private static let realModel = URL(filePath: #filePath).deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent()
    .appending(path: "../shared/data/Todo.xcdatamodeld").path(percentEncoded: false)

  @Test(
    .enabled(
      if: FileManager.default.fileExists(atPath: realModel),
      "The model of a real app is not in this repository"
    )
  )
  func `serves the values of an app from its Xcode model`() async throws {
    let container = try await Container(
      model: .path(Self.realModel),
      stores: [StoreDescription(at: .memory)],
      arguments: []
    )
    let client = try await container.client()
    var changes = SaveRequest()
    let group = try changes.insert { RealGroup(id: $0, title: "Home", taskCount: 0) }
    for (title, priority, isToday) in [("Milk", 2, true), ("Bread", 0, false)] {
      let task = try changes.insert {
        RealTask(id: $0, title: title, priority: priority, myDay: isToday, group: group.id)
      }
      try changes.insert { RealMemo(id: $0, content: "\(title)!", task: task.id) }
    }
    try await client.save(changes)
    let groups = FetchRequest<RealGroup>(sort: ["title"])
    #expect(try await client.fetch(groups).map(\.taskCount) == [2])
    let today = try await client.fetch(FetchRequest<RealTask>(where: \.myDay == true))
    #expect(today.map(\.memoText) == ["Milk!"])
    #expect(today.map(\.groupTitle) == ["Home"])
    let milk = try #require(today.first)
    var done = milk
    done.completed = true
    changes = SaveRequest()
    try changes.update(milk, to: done)
    try await client.save(changes)
    #expect(try await client.count(FetchRequest<RealTask>(where: \.completed == true)) == 1)
    // The model's own rule: the tasks and memos of a group are deleted with it.
    changes = SaveRequest()
    changes.delete(try #require(milk.group))
    try await client.save(changes)
    #expect(try await client.count(FetchRequest<RealMemo>()) == 0)
    try await container.close()
  }
}

/// The values of the Todo program, with the names of the app's own model.
private struct RealGroup: ObjectValue {
  static let entity = "C_Group"
  static let properties = ["taskCount": "tasks.@count"]
  var id: WrappedID
  var title: String
  var taskCount: Int
}

private struct RealTask: ObjectValue {
  static let entity = "C_Task"
  static let properties = ["memoText": "memo.content", "groupTitle": "group.title"]
  var id: WrappedID
  var title: String
  var completed = false
  var priority = 0
  var myDay = false
  var group: WrappedID?
  var memoText: String?
  var groupTitle: String?
}

private struct RealMemo: ObjectValue {
  static let entity = "C_Memo"
  var id: WrappedID
  var content: String
  var task: WrappedID?
}
