import Cordial
import CordialProtocol
import CordialValues
import Foundation
import JSON
import Logging
import Synchronization
import TestStores
import Testing

/// The lines that a logger gets.
private final class LogLines: LogHandler, Sendable {
  private let lines = Mutex<[String]>([])

  var all: [String] { lines.withLock { $0 } }
  var logger: Logger { Logger(label: "client") { _ in self } }

  var logLevel: Logger.Level {
    get { .trace }
    set {}
  }
  var metadata: Logger.Metadata {
    get { [:] }
    set {}
  }

  subscript(metadataKey key: String) -> Logger.Metadata.Value? {
    get { nil }
    set {}
  }

  func log(event: LogEvent) {
    lines.withLock { $0.append("\(event.message)") }
  }
}

@Suite struct `Every kind of connection` {
  /// Does what programs do, and returns what they see.
  @MainActor private func transcript(_ client: Client) async throws -> [String] {
    var lines: [String] = []
    let context = Context(client)
    let group = context.insert { TodoGroup(id: $0, title: "Home", taskCount: 0) }
    let tasks = (1...3).map { number in
      context.insert { EditedTask(id: $0, title: "t\(number)", priority: 1, group: group.id) }
    }
    try await context.save()
    lines.append("saved \(group.id) \(tasks.map(\.id)) \(group.taskCount ?? -1)")

    let results = SectionedFetchedResults(
      .fetchRequest(client.objects(EditedTask.self)),
      request: FetchRequest(where: \.group == group.id, sort: ["title"], sectionBy: "priority")
    )
    try await wait { results.rows.count == 3 && results.rows[2].wrappedValue != nil }
    func show() async throws {
      // A row that the result has now may be read before its value has arrived.
      try await wait { results.rows.allSatisfy { $0.wrappedValue != nil } }
      let rows = results.rows.map { "\($0.id) \($0.wrappedValue?.title ?? "-")" }
      lines.append("\(rows) \(results.sections.map { "\($0.title) \($0.range)" })")
    }
    try await show()
    try tasks[0].update { $0.priority = 2 }
    try await context.save()
    try await wait { results.sections.count == 2 }
    try await show()
    let object = results.rows[0]
    try await client.rename(object.id.description, "t2b")
    try await wait { object.wrappedValue?.title == "t2b" }
    try await show()
    context.delete(tasks[0])
    try await context.save()
    try await wait { results.rows.count == 2 }
    try await show()
    do throws(ClientError) {
      var changes = SaveRequest()
      let missing = EditedTask(id: tasks[0].id, title: "x")
      try changes.update(missing, to: EditedTask(id: tasks[0].id, title: "y"))
      try await client.save(changes)
    } catch {
      lines.append("\(error.code.rawValue) \(error)")
    }
    lines.append("\(try await client.undo()) undone")
    try await wait { results.rows.count == 3 }
    try await show()
    return lines
  }

  private func same(_ lines: [String], _ expected: [String]) {
    #expect(lines.count == expected.count)
    for (line, other) in zip(lines, expected) { #expect(line == other) }
  }

  @Test @MainActor func `shows a program the same`() async throws {
    var expected: [String] = []
    try await withService { _, client in expected = try await transcript(client) }
    #expect(expected.count == 8)

    let started = try ServedStore(model: TestModels.todo)
    let process = try await Client.process(started.program, arguments: ["serve", started.store])
    same(try await transcript(process), expected)
    process.close()

    let served = try ServedStore(model: TestModels.todo)
    _ = try served.serve()
    let socket = try await served.client()
    same(try await transcript(socket), expected)
    socket.close()

    let mock = try await started.mock()
    same(try await transcript(mock), expected)
    mock.close()
  }

  /// The IDs that a new fetch has.
  private func stored(_ client: Client) async throws -> [WrappedID] {
    var fetch = FetchCall(entity: "Group")
    fetch.sort = ["title"]
    fetch.form = .ids
    return try await client.call(fetch).ids?.compactMap { WrappedID($0) } ?? []
  }

  @Test @MainActor func `has each of 100,000 rows once, under a writer and without a service`()
    async throws
  {
    let served = try ServedStore(model: TestModels.todo)
    try served.fill(groups: 100_000)
    var service = try served.serve()
    let client = try await served.client()
    let writer = try await served.client()
    let results = FetchedResults(
      .fetchRequest(client.objects(TodoGroup.self)),
      request: FetchRequest(sort: ["title"])
    )
    try await wait { results.count == 100_000 }
    for round in 0..<3 {
      let writing = Task {
        for number in 0..<40 {
          let id = (number * 2_477 + round) % 90_000 + 1
          let changes: JSONValue = [
            "insert": [
              ["entity": "Group", "values": ["title": .string("new \(round) \(number)")]]
            ],
            "update": [["id": .string("Group/p\(id)"), "values": ["title": .string("\(number)")]]],
            "delete": [.string("Group/p\(90_001 + round * 40 + number)")],
          ]
          _ = try await writer.call(SaveCall(changes))
        }
      }
      // The reader follows while the writer writes, and the service ends in the middle.
      try await wait { results.contains { $0.id.entity == "Group" } && results.change != nil }
      if round > 0 {
        kill(service.processIdentifier, SIGKILL)
        service.waitUntilExit()
        service = try served.serve()
      }
      do {
        try await writing.value
      } catch let error as ClientError {
        #expect(error.code == .connectionEnded)
      }
      try await wait { writer.state == .connected && client.state == .connected }
    }
    // All rows change at once.
    _ = try await writer.call(
      UpdateCall(
        entity: "Group",
        predicate: "rank == nil",
        values: [JSONMember("rank", 1)]
      )
    )
    _ = try await writer.call(
      SaveCall(["insert": [["entity": "Group", "values": ["title": "!"]]]])
    )
    let expected = try await stored(writer)
    try await wait { results.first?.id == expected.first && results.count == expected.count }
    try await wait { results.map(\.id) == expected }
    #expect(Set(results.map(\.id)).count == results.count)
    client.close()
    writer.close()
  }

  @Test @MainActor func `continues with a service that was killed and started again`() async throws
  {
    let served = try ServedStore(model: TestModels.todo)
    var service = try served.serve()
    let lines = LogLines()
    let client = try await served.client(lines.logger)
    let writer = try await served.client()
    let results = FetchedResults(
      .fetchRequest(client.objects(TodoGroup.self)),
      request: FetchRequest(sort: ["title"])
    )
    for round in 0..<3 {
      var changes = SaveRequest()
      for number in 0..<20 {
        try changes.insert {
          TodoGroup(id: $0, title: "\(round * 20 + number + 100)", taskCount: 0)
        }
      }
      // The save is repeated by the client where the service is killed in it.
      let request = changes
      let saving = Task { try await writer.save(request) }
      kill(service.processIdentifier, SIGKILL)
      service.waitUntilExit()
      service = try served.serve()
      do {
        _ = try await saving.value
      } catch let error as ClientError {
        // The service was gone before the request was sent.
        #expect(error.code == .connectionEnded)
        try await wait { writer.state == .connected }
        try await writer.save(request)
      }
      try await wait { client.state == .connected && results.count == 20 * (round + 1) }
    }
    let stored = try await writer.fetch(FetchRequest<TodoGroup>(sort: ["title"]))
    try await wait { results.allSatisfy { $0.wrappedValue != nil } }
    #expect(results.map(\.id) == stored.map(\.id))
    #expect(results.map(\.wrappedValue) == stored)
    #expect(lines.all.count { $0.contains("ended") } == 3)
    client.close()
    writer.close()
  }
}
