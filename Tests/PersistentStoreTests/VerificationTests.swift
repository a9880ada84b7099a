import Foundation
import JSON
import PersistentHistory
import PersistentStore
import TestStores
import Testing

private let garage = """
  {"name":"Garage","entities":[
    {"name":"Car","attributes":[
      {"name":"plate","type":"string","optional":true},
      {"name":"seats","type":"int64","optional":true,"derived":"wheels.@count"}],
     "relationships":[
      {"name":"wheels","destination":"Wheel","toMany":true,"inverse":"car","maximumCount":2},
      {"name":"drivers","destination":"Driver","toMany":true,"inverse":"cars"},
      {"name":"key","destination":"Key","optional":true,"inverse":"car"}]},
    {"name":"Wheel","attributes":[{"name":"size","type":"double","optional":true}],
     "relationships":[
      {"name":"car","destination":"Car","optional":true,"inverse":"wheels"}]},
    {"name":"Key","attributes":[],
     "relationships":[
      {"name":"car","destination":"Car","optional":true,"inverse":"key"}]},
    {"name":"Driver","attributes":[{"name":"name","type":"string"}],
     "relationships":[
      {"name":"cars","destination":"Car","toMany":true,"inverse":"drivers"}]}]}
  """

@Suite struct `A store compared with itself` {
  private let store: TestStore

  init() async throws {
    store = try TestStore(garage)
    try await store.save(
      """
      {"insert":[
        {"id":"Car/t1","values":{"plate":"A","wheels":["Wheel/t1","Wheel/t2"],
          "drivers":["Driver/t1"],"key":"Key/t1"}},
        {"id":"Wheel/t1"},{"id":"Wheel/t2"},{"id":"Key/t1"},
        {"id":"Driver/t1","values":{"name":"x"}}]}
      """
    )
    try await store.save(#"{"update":[{"id":"Car/p1","values":{"plate":"B"}}]}"#)
  }

  private func verify() throws -> JSONValue {
    try store.snapshot { snapshot in
      var verification = StoreVerification(snapshot)
      return try verification.run()
    }
  }

  @Test func `has no problems`() async throws {
    #expect(try verify()["problems"] == [])
    #expect(try verify()["checked"] == 5)
    try await store.save(#"{"delete":["Wheel/p1","Driver/p1"]}"#)
    try store.foreign("UPDATE Car SET plate = 'C'; INSERT INTO Wheel(size) VALUES (1.5)")
    try await store.seal()
    #expect(try verify()["problems"] == [])
  }

  // Evidence: P-131
  @Test(arguments: [
    ("DELETE FROM Key", ["dangling Car/p1 key"]),
    ("UPDATE Key SET car = NULL", ["inverse Car/p1 key"]),
    ("DELETE FROM Driver", ["dangling Car/p1 drivers"]),
    ("INSERT INTO Wheel(car) VALUES (1)", ["count Car/p1 wheels"]),
    ("UPDATE Car SET _version = 9", ["version Car/p1 ", "history Driver/p1 "]),
    (
      "DROP TRIGGER \"cordial_Wheel.delete\"; DELETE FROM Wheel WHERE _id = 1",
      ["history Wheel/p1 ", "derived Car/p1 seats", "schema  "]
    ),
    (
      "DROP TRIGGER \"cordial_Car.derive\"; UPDATE Car SET seats = 7",
      ["derived Car/p1 seats", "schema  "]
    ),
    ("UPDATE sqlite_sequence SET seq = 0 WHERE name = 'Car'", ["number Car/p1 "]),
    ("UPDATE sqlite_sequence SET seq = 'x' WHERE name = 'Car'", ["number Car/p1 "]),
    ("DELETE FROM cordial_transaction WHERE number = 1", ["history  "]),
  ])
  func `reports damage by an external client`(sql: String, problems: [String]) async throws {
    try store.foreign(sql)
    // A version that a trigger logged would be put right by sealing: here it was not logged.
    if sql.contains("_version") {
      try store.foreign("DELETE FROM cordial_change WHERE number > 6")
    }
    try await store.seal()
    let told = (try verify()["problems"]?.array ?? []).map { problem in
      [problem["what"], problem["id"], problem["property"]].map { $0?.string ?? "" }
        .joined(separator: " ")
    }
    #expect(Set(told) == Set(problems), "\(sql)")
  }
}

/// Each kind of row with each kind of fault that an external client can cause.
@Suite struct `Faults that a verification finds` {
  private static let model = """
    {"name":"Zoo","entities":[
      {"name":"Animal","abstract":true,"identity":"code","unique":[["tag"]],
       "attributes":[{"name":"code","type":"string"},
         {"name":"tag","type":"int64","optional":true}]},
      {"name":"Dog","parent":"Animal"},{"name":"Cat","parent":"Animal"},
      {"name":"Pack","relationships":[
        {"name":"items","destination":"Item","toMany":true,"ordered":true,"inverse":"pack"},
        {"name":"extras","destination":"Item","toMany":true,"ordered":true}]},
      {"name":"Item","attributes":[
        {"name":"small","type":"int16","optional":true},
        {"name":"flag","type":"boolean","optional":true},
        {"name":"when","type":"date","optional":true},{"name":"key","type":"uuid","optional":true},
        {"name":"price","type":"decimal","optional":true},
        {"name":"facts","type":"json","optional":true},
        {"name":"ratio","type":"float","optional":true},
        {"name":"size","type":"double","optional":true},
        {"name":"state","type":"string","optional":true,"enum":["a","b"]},
        {"name":"rank","type":"int64","optional":true,"minimum":1,"maximum":9},
        {"name":"name","type":"string","optional":true,"minimumLength":2,"pattern":"[a-z]*"}],
       "relationships":[{"name":"pack","destination":"Pack","optional":true,"inverse":"items"}]}]}
    """

  private func verify(_ store: TestStore) throws -> Set<String> {
    let told = try store.snapshot { snapshot in
      var verification = StoreVerification(snapshot)
      return try verification.run()["problems"]?.array ?? []
    }
    return Set(
      told.map { problem in
        [problem["what"], problem["id"], problem["property"]].map { $0?.string ?? "" }
          .joined(separator: " ")
      }
    )
  }

  private func filled() async throws -> TestStore {
    let store = try TestStore(Self.model)
    try await store.save(
      """
      {"insert":[{"entity":"Dog","values":{"code":"d","tag":1}},
        {"entity":"Cat","values":{"code":"c","tag":2}},
        {"id":"Item/t1","values":{"small":1,"flag":true,"when":"2026-01-02T03:04:05Z",
          "key":"a1b2c3d4-0000-0000-0000-00000000000f","price":"1.5","facts":{"a":1},"ratio":0.1,
          "size":2.5,"state":"a","rank":3,"name":"ok"}},
        {"id":"Item/t2"},
        {"id":"Pack/t1","values":{"items":["Item/t1","Item/t2"],"extras":["Item/t1"]}}]}
      """
    )
    try await store.save(#"{"update":[{"id":"Item/p1","values":{"small":2}}]}"#)
    try await store.save(#"{"update":[{"id":"Item/p1","values":{"small":3}}]}"#)
    return store
  }

  // Evidence: P-131
  @Test(arguments: [
    ("UPDATE Item SET small = 70000 WHERE _id = 1", "type Item/p1 small"),
    ("UPDATE Item SET flag = 2 WHERE _id = 1", "type Item/p1 flag"),
    ("UPDATE Item SET \"when\" = 999999999999999 WHERE _id = 1", "type Item/p1 when"),
    ("UPDATE Item SET key = 'A1B2' WHERE _id = 1", "type Item/p1 key"),
    ("UPDATE Item SET price = '1.50' WHERE _id = 1", "type Item/p1 price"),
    ("UPDATE Item SET facts = '{' WHERE _id = 1", "type Item/p1 facts"),
    ("UPDATE Item SET ratio = 0.1 WHERE _id = 1", "type Item/p1 ratio"),
    ("UPDATE Item SET size = 9e999 WHERE _id = 1", "type Item/p1 size"),
    ("UPDATE Item SET state = 'c' WHERE _id = 1", "enum Item/p1 state"),
    ("UPDATE Item SET rank = 10 WHERE _id = 1", "maximum Item/p1 rank"),
    ("UPDATE Item SET rank = 0 WHERE _id = 1", "minimum Item/p1 rank"),
    ("UPDATE Item SET name = 'x' WHERE _id = 1", "minimumLength Item/p1 name"),
    ("UPDATE Item SET name = 'Xy' WHERE _id = 1", "pattern Item/p1 name"),
    ("UPDATE Dog SET code = 'c'", "unique Cat/sc code"),
    ("UPDATE Dog SET tag = 2", "unique Cat/sc tag"),
    ("UPDATE Item SET _at_pack = NULL WHERE _id = 1", "position Item/p1 pack"),
    ("UPDATE cordial_pairs_Pack_extras SET place = NULL", "position Pack/p1 extras"),
    (
      "INSERT INTO cordial_pairs_Pack_extras(source, target) VALUES (1, 77)",
      "dangling Pack/p1 extras"
    ),
    ("DELETE FROM cordial_change WHERE kind = 0 AND entity = 5", "history Item/p1 "),
    ("DELETE FROM cordial_change WHERE kind = 1 AND version = 2", "history Item/p1 "),
    ("DELETE FROM cordial_change WHERE kind = 1 AND version = 3", "version Item/p1 "),
    ("DELETE FROM cordial_change", "history Item/p2 "),
  ])
  func `a fault in each kind of row`(sql: String, problem: String) async throws {
    let store = try await filled()
    #expect(try verify(store) == [])
    try store.foreign(sql)
    try await store.seal()
    let found = try verify(store)
    #expect(found.contains(problem), "\(sql): \(found.sorted())")
  }
}

@Suite struct `A copy of a store` {
  // Evidence: P-132c
  @Test func `is a store of another generation`() async throws {
    let store = try TestStore(garage)
    let saved = try await store.outcome(#"{"insert":[{"entity":"Car","values":{"plate":"A"}}]}"#)
    let folder = try TestFolder()
    let persistent = store.store
    let path = folder.path + "/copy"
    let outcome = try await withCheckedThrowingContinuation { continuation in
      persistent.backup(to: path) { continuation.resume(with: $0) }
    }
    #expect(outcome.token == saved.token)
    try await store.save(#"{"insert":[{"entity":"Car","values":{"plate":"B"}}]}"#)
    let copy = try PersistentStore(
      container: StoreContainer(path: path),
      model: nil,
      mode: .readWrite,
      environment: TestStore.environment()
    )
    defer { copy.close() }
    #expect(copy.identifier == store.store.identifier)
    #expect(copy.generation != store.store.generation)
    let reader = try copy.makeReader()
    #expect(throws: StoreError.self) { try reader.snapshot { try $0.position(of: saved.token) } }
    #expect(try reader.snapshot { $0.head.number } == 1)
  }

  @Test func `replaces an existing store that no process has open`() async throws {
    let environment = TestStore.environment()
    let folder = try TestFolder()
    let backup = StoreContainer(path: folder.path + "/backup")
    let place = try TestFolder()
    var store: TestStore? = try TestStore(garage, in: place)
    try await store?.save(#"{"insert":[{"entity":"Car","values":{"plate":"A"}}]}"#)
    let token = try await store?.outcome(#"{"delete":["Car/p1"],"dryRun":true}"#).token
    let target = StoreContainer(path: place.path)
    _ = try StoreBackup.copy(target, to: backup, environment: environment)
    try await store?.save(#"{"delete":["Car/p1"]}"#)
    do {
      _ = try StoreBackup.restore(backup, to: target, environment: environment)
      Issue.record("It was restored below an open store")
    } catch {
      #expect(error.code == .storeBusy)
    }
    store?.store.close()
    store = nil
    _ = try StoreBackup.restore(backup, to: target, environment: environment)
    let again = try TestStore(nil, in: place)
    #expect(try again.lines("Car plate") == ["Car/p1 v1 plate=A"])
    let lost = try #require(token)
    #expect(throws: StoreError.self) { try again.snapshot { try $0.position(of: lost) } }
    #expect(throws: StoreError.self) {
      try StoreBackup.copy(target, to: backup, environment: environment)
    }
  }

  // Evidence: P-132a
  @Test func `is not written into the folder of the store`() async throws {
    let folder = try TestFolder()
    let store = try TestStore(garage, in: folder)
    let other = try TestFolder()
    let (link, deep) = (other.path + "/link", folder.path + "/a/b/c/d/e/f/g/h")
    try FileManager.default.createDirectory(atPath: deep, withIntermediateDirectories: true)
    try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: deep)
    for parent in [folder.path, folder.path + "/a/../", deep, link] {
      let target = StoreContainer(path: parent + "/copy")
      let error = #expect(throws: StoreError.self) {
        try StoreBackup.copy(
          StoreContainer(path: folder.path),
          to: target,
          environment: TestStore.environment()
        )
      }
      #expect(error?.message.contains("inside the store's own folder") == true, "\(parent)")
    }
    #expect(!FileManager.default.fileExists(atPath: folder.path + "/copy"))
    store.store.close()
  }

  @Test func `replaces a damaged store`() async throws {
    let environment = TestStore.environment()
    let folder = try TestFolder()
    let backup = StoreContainer(path: folder.path + "/backup")
    let place = try TestFolder()
    var store: TestStore? = try TestStore(garage, in: place)
    try await store?.save(#"{"insert":[{"entity":"Car","values":{"plate":"A"}}]}"#)
    let target = StoreContainer(path: place.path)
    _ = try StoreBackup.copy(target, to: backup, environment: environment)
    store?.store.close()
    store = nil
    try Array("no database at all, but long enough".utf8).write(to: target.storePath)
    _ = try StoreBackup.restore(backup, to: target, environment: environment)
    #expect(try TestStore(nil, in: place).lines("Car plate") == ["Car/p1 v1 plate=A"])
  }
}

extension [UInt8] {
  fileprivate func write(to path: String) throws {
    try String(decoding: self, as: UTF8.self).write(
      toFile: path,
      atomically: false,
      encoding: .utf8
    )
  }
}
