import CordialValues
import Foundation
import JSON
import ObjectModel
import PersistentHistory
import PersistentStore
import StoreLayout
import TestStores
import Testing

@Suite struct `Opening a store` {
  private let folder: TestFolder

  init() throws {
    folder = try TestFolder()
  }

  /// The name of the error with which opening ends, nil when it does not.
  private func failure(
    _ path: String,
    _ model: String? = TestModels.todo,
    _ mode: StoreContainer.Mode = .readWrite
  ) throws -> StoreError.Code? {
    do throws(StoreError) {
      let store = try PersistentStore(
        container: StoreContainer(path: path),
        model: try parse(model),
        mode: mode,
        environment: TestStore.environment()
      )
      store.close()
      return nil
    } catch {
      #expect(!error.message.isEmpty && !error.message.contains("\n"), "one sentence")
      return error.code
    }
  }

  private func parse(_ text: String?) throws(StoreError) -> Model? {
    do throws(ModelError) {
      guard let text else { return nil }
      return try ModelDocument.parse(Array(text.utf8).span)
    } catch {
      throw StoreError(error, in: "test")
    }
  }

  private func write(_ bytes: [UInt8], _ name: String) throws -> String {
    let path = folder.path + "/" + name
    try Data(bytes).write(to: URL(fileURLWithPath: path))
    return path
  }

  private func names(_ path: String) throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: path).sorted()
  }

  @Test func `a store is created on first use, readable by its owner only`() throws {
    let path = folder.path + "/new"
    #expect(try failure(path) == nil)
    let attributes = try FileManager.default.attributesOfItem(atPath: path)
    #expect((attributes[.posixPermissions] as? NSNumber)?.intValue == 0o700)
    let text = try String(contentsOfFile: path + "/model.json", encoding: .utf8)
    #expect(try JSONParser.parse(text) == JSONParser.parse(TestModels.todo))
  }

  @Test func `opening a missing store without a model fails and creates nothing`() throws {
    #expect(try failure(folder.path + "/missing", nil) == .cannotOpen)
    #expect(try failure(folder.path + "/missing", nil, .readOnly) == .cannotOpen)
    #expect(try failure(folder.path + "/missing", TestModels.todo, .readOnly) == .cannotOpen)
    #expect(try failure(folder.path + "/no/such/folder") == .cannotOpen)
    #expect(try names(folder.path) == [])
  }

  @Test func `a file is not a store and stays unchanged`() throws {
    let path = try write(Array("text".utf8), "file")
    #expect(try failure(path) == .cannotOpen)
    #expect(try String(contentsOfFile: path, encoding: .utf8) == "text")
  }

  @Test func `a folder with other things in it is left alone`() throws {
    _ = try write([1], "photo.jpg")
    #expect(try failure(folder.path) == .cannotOpen)
    #expect(try names(folder.path) == ["photo.jpg"])
  }

  @Test func `files of a file manager or of the daemon are ignored`() throws {
    _ = try write([1], ".DS_Store")
    _ = try write([], "lock")
    #expect(try failure(folder.path) == nil)
  }

  @Test func `a file that is not a SQLite file is distinguished`() throws {
    let text = Array(String(repeating: "no database ", count: 1000).utf8)
    let path = try write(text, "store.sqlite")
    #expect(try failure(folder.path) == .storeCorrupt)
    #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == Data(text))
  }

  @Test func `a SQLite file of another program stays unchanged`() throws {
    let path = folder.path + "/store.sqlite"
    try ForeignConnection(path).execute("CREATE TABLE song(title)")
    let before = try Data(contentsOf: URL(fileURLWithPath: path))
    #expect(try failure(folder.path) == .cannotOpen)
    #expect(try failure(folder.path, nil) == .cannotOpen)
    #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == before)
    #expect(try names(folder.path) == ["store.sqlite"])
  }

  /// A crash between the making of the file and its one transaction leaves it empty.
  @Test func `a store whose creation was interrupted is created`() throws {
    _ = try write([], "store.sqlite")
    #expect(try failure(folder.path) == nil)
  }

  @Test func `another model is a mismatch, with what differs`() async throws {
    var store: TestStore? = try TestStore(TestModels.todo, in: folder)
    try await store?.save(#"{"insert":[{"entity":"Task"}]}"#)
    store = nil
    #expect(try failure(folder.path, TestModels.everything) == .modelMismatch)
    #expect(throws: StoreError.self) {
      do {
        _ = try TestStore(TestModels.everything, in: folder)
      } catch let error as StoreError {
        let problems = JSONValue.object(error.data)["problems"]?.array ?? []
        #expect(!problems.isEmpty)
        throw error
      }
    }
    #expect(try failure(folder.path) == nil)
    #expect(try failure(folder.path, nil) == nil)
  }

  @Test func `a model file written another way is the same model`() throws {
    #expect(try failure(folder.path) == nil)
    let pretty = try JSONParser.parse(TestModels.todo).prettyText
    #expect(try failure(folder.path, pretty) == nil)
  }

  @Test func `the copy of the model is written again at open`() throws {
    #expect(try failure(folder.path) == nil)
    _ = try write(Array("{}".utf8), "model.json")
    #expect(try failure(folder.path, nil) == nil)
    let text = try String(contentsOfFile: folder.path + "/model.json", encoding: .utf8)
    #expect(try JSONParser.parse(text) == JSONParser.parse(TestModels.todo))
  }

  @Test func `opened again, a store has its objects, its identifier and its tokens`() async throws {
    let first = try TestStore(TestModels.todo, in: folder)
    try await first.save(#"{"insert":[{"id":"Task/t1","values":{"title":"Milk"}}]}"#)
    let token = try first.snapshot { $0.token }
    let identifier = first.store.identifier
    let before = try first.fetch(#"{"entity":"Task"}"#)
    first.store.close()

    let second = try TestStore(nil, in: folder)
    #expect(second.store.identifier == identifier)
    #expect(!identifier.isEmpty)
    #expect(try second.fetch(#"{"entity":"Task"}"#) == before)
    #expect(try second.snapshot { $0.token } == token)
    #expect(try second.snapshot { try $0.position(of: token) } == 1)
    let answer = try await second.save(#"{"insert":[{"id":"Task/t1"}]}"#)
    #expect(answer["ids"] == ["Task/t1": "Task/p2"])
  }

  // Evidence: P-110a
  @Test func `column sets may have equal concatenated names`() async throws {
    let store = try TestStore(
      """
      {"name":"Sets","version":"1","entities":[{"name":"Item","attributes":[
        {"name":"a","type":"int64"},{"name":"b","type":"int64"},{"name":"a_b","type":"int64"}],
        "unique":[["a_b"],["a","b"]],"indexes":[["b","a"]]},
       {"name":"Item_a","attributes":[{"name":"b","type":"int64"}],"indexes":[["b"]]}]}
      """,
      in: folder
    )
    func insert(_ a: Int, _ b: Int, _ both: Int) -> String {
      #"{"insert":[{"entity":"Item","values":{"a":\#(a),"b":\#(b),"a_b":\#(both)}}]}"#
    }
    try await store.save(insert(1, 1, 1))
    for (save, properties) in [(insert(1, 1, 2), ["a", "b"]), (insert(1, 2, 1), ["a_b"])] {
      let refusal = try await store.refusal(save)
      #expect(refusal?.code == "uniquenessViolation")
      #expect(refusal?.data["properties"]?.array?.compactMap(\.string) == properties)
    }
    try await store.save(insert(1, 2, 3))
  }

  @Test func `an entity may have 400 columns`() async throws {
    let attributes = (0..<400).map { #"{"name":"a\#($0)","type":"int64","optional":true}"# }
    let model = """
      {"name":"Wide","version":"1","entities":[{"name":"Item","attributes":[
        \(attributes.joined(separator: ","))]}]}
      """
    let store = try TestStore(model, in: folder)
    try await store.save(#"{"insert":[{"id":"Item/t1","values":{"a0":1,"a399":2}}]}"#)
    try await store.save(#"{"update":[{"id":"Item/p1","values":{"a399":3}}]}"#)
    #expect(try store.lines("Item a0 a399") == ["Item/p1 v2 a0=1 a399=3"])
  }

  @Test(arguments: [
    "UPDATE cordial_meta SET value = '{' WHERE name = 'slots'",
    "UPDATE cordial_meta SET value = '{\"Group\":\"1\"}' WHERE name = 'slots'",
    "UPDATE cordial_meta SET value = '[]' WHERE name = 'slots'",
    "UPDATE cordial_meta SET value = '{\"Group\":256}' WHERE name = 'slots'",
    "DELETE FROM cordial_meta WHERE name = 'generation'",
    "UPDATE cordial_meta SET value = 'x' WHERE name = 'generation'",
    "DELETE FROM cordial_meta WHERE name = 'identifier'",
  ])
  func `damaged metadata is an error, not another meaning of numbers`(sql: String) throws {
    let folder = try TestFolder()
    var store: TestStore? = try TestStore(TestModels.todo, in: folder)
    try store?.foreign(sql)
    store = nil
    let error = #expect(throws: StoreError.self) { _ = try TestStore(nil, in: folder) }
    #expect(error?.code == .storeCorrupt)
    #expect(error?.message.contains("cordial_meta") == true)
  }

  @Test func `slots may be missing where no entity has a parent, and nowhere else`() throws {
    let single = #"{"name":"M","entities":[{"name":"A"}]}"#
    let family = #"{"name":"M","entities":[{"name":"A"},{"name":"B","parent":"A"}]}"#
    for (model, opens) in [(single, true), (family, false)] {
      let folder = try TestFolder()
      var store: TestStore? = try TestStore(model, in: folder)
      try store?.foreign("DELETE FROM cordial_meta WHERE name = 'slots'")
      store = nil
      if opens {
        #expect(try TestStore(nil, in: folder).store.model.entities.count == 1)
      } else {
        let error = #expect(throws: StoreError.self) { _ = try TestStore(nil, in: folder) }
        #expect(error?.code == .storeCorrupt)
      }
    }
  }

  @Test func `two stores have different identifiers`() throws {
    let first = try TestStore(TestModels.todo)
    let second = try TestStore(TestModels.todo)
    #expect(first.store.identifier != second.store.identifier)
  }

  @Test func `a store opened for reading refuses to save`() async throws {
    let writer = try TestStore(TestModels.todo, in: folder)
    try await writer.save(#"{"insert":[{"id":"Task/t1"}]}"#)
    let reader = try TestStore(nil, in: folder, mode: .readOnly)
    #expect(try await reader.refusal(#"{"delete":["Task/p1"]}"#)?.code == "storeReadOnly")
    #expect(try reader.ids(#"{"entity":"Task"}"#) == ["Task/p1"])
  }

  @Test func `after closing nothing is saved`() async throws {
    let store = try TestStore(TestModels.todo)
    store.store.close()
    #expect(try await store.refusal(#"{"insert":[{"id":"Task/t1"}]}"#)?.code == "closed")
  }

  @Test func `closing leaves the write-ahead log to a reader, and to other writers`() async throws {
    let store = try TestStore(TestModels.todo, in: folder)
    try await store.save(#"{"insert":[{"id":"Task/t1"}]}"#)
    let path = store.store.container.storePath
    let other = try TestStore(nil, in: folder)
    try other.store.makeReader().snapshot { _ in
      store.store.close()
      let log = try FileManager.default.attributesOfItem(atPath: path + "-wal")[.size] as? Int
      #expect((log ?? 0) > 0)
      try other.foreign("INSERT INTO Task(title) VALUES ('a')")
    }
    try await other.save(#"{"insert":[{"id":"Task/t1"}]}"#)
    #expect(try other.ids(#"{"entity":"Task"}"#).count == 3)
  }

  @Test func `closing a store in memory deletes it`() throws {
    let container = try StoreContainer.inMemory()
    let store = try PersistentStore(
      container: container,
      model: try parse(TestModels.todo),
      mode: .inMemory,
      environment: TestStore.environment()
    )
    #expect(container.hasStore)
    store.close()
    #expect(!FileManager.default.fileExists(atPath: container.path))
  }

  /// 2 is FULL: under NORMAL an acknowledged save can be lost with the power.
  // Evidence: P-066b
  @Test func `the writer waits for the disk`() async throws {
    let store = try TestStore(TestModels.todo)
    #expect(try store.store.writerSynchronous() == 2)
    try await store.save(#"{"insert":[{"id":"Task/t1"}],"durability":"normal"}"#)
    try await store.seal()
    try await store.save(#"{"insert":[{"id":"Task/t1"}]}"#)
    #expect(try store.store.writerSynchronous() == 2)
  }

  /// The log knows entities by their places, which another order of the same model must not change.
  @Test func `the triggers of an earlier version of Cordial are replaced`() async throws {
    let model = TestModels.todo
    let triggers = "SELECT name, sql FROM sqlite_master WHERE type = 'trigger' ORDER BY name"
    let ours: [String]
    do {
      let store = try TestStore(model, in: folder)
      ours = try store.rows(triggers)
      try store.foreign(
        """
        UPDATE cordial_meta SET value = '1' WHERE name = 'triggers';
        DROP TRIGGER "cordial_Task.delete";
        CREATE TRIGGER "cordial_Task.delete" AFTER DELETE ON "Task" BEGIN SELECT 1; END
        """
      )
      #expect(try store.rows(triggers) != ours)
      store.store.close()
    }
    let reopened = try TestStore(model, in: folder)
    #expect(try reopened.rows(triggers) == ours)
    try await reopened.save(#"{"insert":[{"id":"Task/t1","values":{"title":"a"}}]}"#)
    #expect(try reopened.rows("SELECT kind FROM cordial_change") == ["0"])
    // Who changes what the triggers say has to count their version up.
    let text = ours.joined(separator: "\n")
    let digest = text.utf8.reduce(0xCBF2_9CE4_8422_2325 as UInt64) {
      ($0 ^ UInt64($1)) &* 0x0100_0000_01B3
    }
    #expect("\(LogTriggers.formatVersion) \(String(digest, radix: 16))" == "3 25dd15e7aba851ae")
  }

  @Test func `the same model in another order is the same store`() async throws {
    let group = #"{"name":"Group","attributes":[{"name":"title","type":"string"}]}"#
    let memo = #"{"name":"Memo","attributes":[{"name":"text","type":"string"}]}"#
    let folder = try TestFolder()
    var store: TestStore? = try TestStore(
      #"{"name":"M","entities":[\#(group),\#(memo)]}"#,
      in: folder
    )
    try await store?.save(#"{"insert":[{"id":"Group/t1","values":{"title":"A"}}]}"#)
    store = nil
    let reopened = try TestStore(#"{"name":"M","entities":[\#(memo),\#(group)]}"#, in: folder)
    try await reopened.save(#"{"insert":[{"id":"Memo/t1","values":{"text":"B"}}]}"#)
    let changed = try reopened.snapshot { snapshot in
      try snapshot.log.changeSet(from: 0, through: 2)?.changes.keys
        .map { "\(try snapshot.wrappedID($0))" }.sorted()
    }
    #expect(changed == ["Group/p1", "Memo/p1"])
    #expect(try reopened.rows("SELECT entity FROM cordial_change ORDER BY number") == ["1", "2"])
  }

  // Evidence: P-066a
  @Test(arguments: ["store.sqlite", "store.sqlite-wal"], [false, true])
  func `without its files a store is only read`(name: String, isReplaced: Bool) async throws {
    let store = try TestStore(TestModels.todo, in: folder)
    try await store.save(#"{"insert":[{"id":"Task/t1","values":{"title":"kept"}}]}"#)
    let path = folder.path + "/" + name
    let content = try Data(contentsOf: URL(fileURLWithPath: path))
    try FileManager.default.removeItem(atPath: path)
    if isReplaced { try content.write(to: URL(fileURLWithPath: path)) }
    let error = #expect(throws: StoreError.self) { try store.store.makeReader() }
    #expect(error?.code == .storeCorrupt)
    let refused = try await store.refusal(
      #"{"insert":[{"id":"Task/t2","values":{"title":"lost"}}]}"#
    )
    #expect(refused?.code == "storeCorrupt")
    let opened = store.store
    // Many at once need connections of their own, which cannot be opened.
    for _ in 0..<20 {
      let counts = try await withThrowingTaskGroup(of: Int64.self) { group in
        for _ in 0..<8 { group.addTask { try await Self.taskCount(opened) } }
        return try await group.reduce(into: []) { $0.append($1) }
      }
      #expect(counts == Array(repeating: 1, count: 8))
    }
    #expect(FileManager.default.fileExists(atPath: path) == isReplaced)
  }

  private static func taskCount(_ store: PersistentStore) async throws -> Int64 {
    try await withCheckedThrowingContinuation { continuation in
      store.read(.ofService) { reader in
        continuation.resume(
          with: Result {
            try reader.get().snapshot {
              try $0.count(try $0.plan(FetchRequest(["entity": "Task"])))
            }
          }
        )
      }
    }
  }
}
