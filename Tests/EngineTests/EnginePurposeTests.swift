import Cordial
import Engine
import Foundation
import JSON
import Logging
import ObjectModel
import PersistentStore
import TestStores
import Testing

/// A store that a program opens for some requests.
@Suite struct `A program that opens a store to read objects` {
  private let folder: TestFolder
  private var indexPath: String { folder.path + "/store/index.sqlite" }

  init() throws {
    folder = try TestFolder()
  }

  private static let model = """
    {"name":"Todo","version":"1","entities":[{"name":"Task",
     "attributes":[{"name":"title","type":"string","optional":true}],
     "spotlight":{"attributes":{"title":1}}}]}
    """

  private func engine(for purpose: Engine.Purpose) throws -> Engine {
    try Engine(
      container: StoreContainer(path: folder.path + "/store"),
      model: try ModelDocument.parse(Array(Self.model.utf8).span),
      mode: .readWrite,
      purpose: purpose,
      version: "0",
      log: Logger(label: "purpose") { _ in SwiftLogNoOpLogHandler() }
    )
  }

  private func calling(
    for purpose: Engine.Purpose,
    _ calls: [(method: String, params: String)]
  ) async throws -> [JSONValue] {
    let engine = try engine(for: purpose)
    let client = ClientConnection()
    await engine.connect(client)
    var answers: [JSONValue] = []
    for (method, params) in calls {
      answers.append(try await client.call(method, try JSONParser.parse(params)))
    }
    try await engine.close()
    return answers
  }

  @Test func `makes no index, and finds with it what it searches`() async throws {
    let save = #"{"insert":[{"entity":"Task","values":{"title":"oat milk"}}]}"#
    let read = try await calling(
      for: .reading,
      [("save", save), ("fetch", #"{"entity":"Task"}"#)]
    )
    #expect(read.last?["objects"]?.array?.count == 1)
    #expect(!FileManager.default.fileExists(atPath: indexPath))
    let found = try await calling(for: .reading, [("search", #"{"query":"milk"}"#)])
    #expect(found.first?["total"]?.integer == 1)
    #expect(FileManager.default.fileExists(atPath: indexPath))
    let flushed = try await calling(
      for: .reading,
      [("save", save), ("observe/flush", "{}"), ("index/status", "{}")]
    )
    #expect(flushed[2]["token"] == flushed[0]["token"])
  }

  @Test(arguments: [Engine.Purpose.command, .reading, .writing])
  func `answers at a commit of another process`(
    purpose: Engine.Purpose
  ) async throws {
    let engine = try engine(for: purpose)
    let client = ClientConnection()
    await engine.connect(client)
    let save = #"{"insert":[{"entity":"Task","values":{"title":"rye"}}]}"#
    let token = try await calling(for: .command, [("save", save)]).first?["token"]
    let params: JSONValue = ["entity": "Task", "at": try #require(token)]
    let answer = try await client.call("fetch", params)
    #expect(answer["objects"]?.array?.count == 1)
    let search: JSONValue = ["query": "rye", "at": try #require(token)]
    #expect(try await client.call("search", search)["total"]?.integer == 1)
    try await engine.close()
  }

  @Test(arguments: [true, false])
  func `looks for commits of others`(isPrompt: Bool) async throws {
    let engine = try engine(for: .command)
    let looks = AsyncStream.makeStream(of: Void.self)
    let watcher = CommitWatcher(path: engine.store.container.storePath, isPrompt: isPrompt) {
      looks.continuation.yield()
    }
    _ = try await calling(for: .command, [("save", #"{"insert":[{"entity":"Task"}]}"#)])
    var iterator = looks.stream.makeAsyncIterator()
    #expect(await iterator.next() != nil)
    watcher.stop()
    looks.continuation.finish()
    try await engine.close()
  }
}
