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
  func `notices the commits of others, which its requests wait for`(
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
    // The position of its followers is also that of the commit.
    let search: JSONValue = ["query": "rye", "at": try #require(token)]
    #expect(try await client.call("search", search)["total"]?.integer == 1)
    try await engine.close()
  }
}
