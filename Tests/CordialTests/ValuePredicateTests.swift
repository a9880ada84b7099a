import Cordial
import CordialValues
import Testing

@Suite struct `Conditions from key paths` {
  private struct Renamed: ObjectValue {
    static let entity = "Task"
    enum CodingKeys: String, CodingKey {
      case id
      case name = "title"
    }
    var id: WrappedID
    var name: String?
    var upper: String { name?.uppercased() ?? "" }
  }

  @Test func `match what the predicate language matches`() async throws {
    try await withService { _, client in
      var changes = SaveRequest()
      let group = try changes.insert { TodoGroup(id: $0, title: "Home", taskCount: 0) }
      let tasks: [(String?, Int?, Bool)] = [
        ("Milk", 1, false), ("Mélange", 2, true), (nil, nil, false), ("it's \"a\" %@", 4, true),
      ]
      for (title, priority, done) in tasks {
        try changes.insert {
          EditedTask(id: $0, title: title, priority: priority, done: done, group: group.id)
        }
      }
      let groupID = try #require(try await client.save(changes).ids[group.id])

      func titles(_ condition: ValuePredicate<EditedTask>) async throws -> [String] {
        let request = FetchRequest(where: condition, sort: ["priority"])
        return try await client.fetch(request).map { $0.title ?? "-" }
      }
      #expect(try await titles(\.title == "Milk") == ["Milk"])
      #expect(try await titles(\.title == nil) == ["-"])
      #expect(
        try await titles(\.title != nil && \.priority >= 2 && !(\.priority > 3)) == ["Mélange"]
      )
      #expect(try await titles(\.title == "it's \"a\" %@") == ["it's \"a\" %@"])
      #expect(try await titles(.contains(\.title, "LANGE", .caseInsensitive)) == ["Mélange"])
      #expect(
        try await titles(.begins(\.title, with: "mel", [.caseInsensitive, .diacriticInsensitive]))
          == ["Mélange"]
      )
      #expect(try await titles(.ends(\.title, with: "k") || \.done == true).count == 3)
      #expect(try await titles(.isLike(\.title, "M?lk")) == ["Milk"])
      #expect(try await titles(.matches(\.title, "M.+")) == ["Milk", "Mélange"])
      #expect(try await titles(.isIn(\.priority, [1, 4])).count == 2)
      #expect(try await titles(.isBetween(\.priority, 2, 4)).count == 2)
      #expect(try await titles(\.done == false).count == 2)
      #expect(try await titles(\.group == groupID && \.groupTitle == "Home").count == 4)
      let counted = FetchRequest<TodoGroup>(where: \.taskCount > 3)
      #expect(try await client.count(counted) == 1)
      let urgent = FetchRequest<TodoTask>(where: \.priority == .low)
      #expect(try await client.count(urgent) == 0)
    }
  }

  @Test func `name the property that no fetch has`() async throws {
    try await withService { _, client in
      let upper = await #expect(throws: ClientError.self) {
        try await client.fetch(FetchRequest<Renamed>(where: \.upper == "A"))
      }
      #expect(upper?.code == .valueMismatch)
      #expect(upper?.message.contains("a key path reads a computed property") == true)
      let name = await #expect(throws: ClientError.self) {
        try await client.fetch(FetchRequest<Renamed>(where: \.name == "A"))
      }
      #expect(name?.message == "Renamed: name: Renamed does not decode it; it decodes title")
      let id = await #expect(throws: ClientError.self) {
        try await client.count(FetchRequest<Renamed>(where: \.id == .string("a")))
      }
      #expect(id?.message.contains("fetch the object by ID") == true)
    }
  }
}

@Suite struct `A service that a client starts` {
  @Test func `that cannot be run is an error with its name`() async throws {
    let error = await #expect(throws: ClientError.self) {
      _ = try await Client.process("/nowhere/cordial", arguments: ["serve"])
    }
    #expect(error?.code == .connectionEnded)
    #expect(error?.message.contains("/nowhere/cordial cannot be run: No such file") == true)
  }

  @Test func `that says nonsense is an error, and ends`() async throws {
    let error = await #expect(throws: ClientError.self) {
      _ = try await Client.process("/bin/echo", arguments: ["hello"])
    }
    #expect(error?.code == .connectionEnded)
  }

  @Test func `that speaks another version is an error that says so`() async throws {
    let answer =
      #"{"jsonrpc":"2.0","id":1,"result":{"capabilities":{"cordial":{"protocolVersion":9}}}}"#
    let error = await #expect(throws: ClientError.self) {
      _ = try await Client.process(
        "/bin/sh",
        arguments: ["-c", "read a; echo '\(answer)'; read b"]
      )
    }
    #expect(error?.code == .protocolMismatch)
    #expect(
      error?.message
        == "The service speaks version 9 of the protocol; this library speaks version 1"
    )
  }
}
