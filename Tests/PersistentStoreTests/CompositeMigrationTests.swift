import CordialValues
import JSON
import ObjectModel
import PersistentStore
import TestStores
import Testing

@Suite struct `A migration of composites` {
  private let folder: TestFolder

  init() throws {
    folder = try TestFolder()
  }

  private static func model(
    _ version: Int,
    _ attributes: String,
    removed: String = "[]",
    map: String = "null"
  ) -> String {
    """
    {"name":"M","version":"\(version)","removed":\(removed),"map":\(map),"entities":[
      {"name":"Task","attributes":[\(attributes)]}]}
    """
  }

  private static func address(_ name: String, _ members: String, _ more: String = "") -> String {
    #"{"name":"\#(name)","type":"composite","members":[\#(members)]\#(more)}"#
  }

  private static let street = #"{"name":"street","type":"string","optional":true}"#
  private static let count = #"{"name":"count","type":"int16","default":3}"#
  private static let first = model(1, address("address", "\(street),\(count)"))

  private func fill() async throws {
    let store = try TestStore(Self.first, in: folder)
    try await store.save(
      """
      {"insert":[{"entity":"Task","values":{"address":{"street":"12","count":9}}},
        {"entity":"Task","values":{"address":{"street":null}}}]}
      """
    )
  }

  private func values(_ model: String) throws -> [String] {
    let store = try TestStore(model, in: folder)
    return try store.fetch(#"{"entity":"Task"}"#).map { $0["values"]?.text ?? "" }
  }

  // Evidence: P-110g
  @Test func `composites and members are renamed, and types become wider`() async throws {
    try await fill()
    let road = #"{"name":"road","type":"string","optional":true,"renamedFrom":"street"}"#
    let wide = #"{"name":"count","type":"int64"}"#
    let zip = #"{"name":"zip","type":"string","default":"0"}"#
    let renamed = Self.address("home", "\(road),\(wide),\(zip)", #","renamedFrom":"address""#)
    #expect(
      try values(Self.model(2, renamed)) == [
        #"{"home":{"road":"12","count":9,"zip":"0"}}"#,
        #"{"home":{"road":null,"count":3,"zip":"0"}}"#,
      ]
    )
  }

  // Evidence: P-110g, P-117j
  @Test func `members that would be lost are listed, and given up one by one or all at once`()
    async throws
  {
    try await fill()
    let title = #"{"name":"title","type":"string","optional":true}"#
    let error = try #require(throws: StoreError.self) { try values(Self.model(2, title)) }
    let problems = error.data.first { $0.name == "problems" }?.value.array ?? []
    #expect(problems.map { $0["path"] } == ["Task.address.street", "Task.address.count"])
    let part = Self.model(2, title, removed: #"["Task.address.street"]"#)
    let rest = try #require(throws: StoreError.self) { try values(part) }
    #expect(
      rest.data.first { $0.name == "problems" }?.value.array?.map { $0["path"] } == [
        "Task.address.count"
      ]
    )
    #expect(
      try values(Self.model(2, title, removed: #"["Task.address"]"#)) == [
        #"{"title":null}"#, #"{"title":null}"#,
      ]
    )
  }

  // Evidence: P-110g
  @Test func `the name of a composite that stays gives up none of its members`() async throws {
    try await fill()
    let next = Self.model(2, Self.address("address", Self.count), removed: #"["Task.address"]"#)
    let error = try #require(throws: StoreError.self) { try values(next) }
    let problems = error.data.first { $0.name == "problems" }?.value.array ?? []
    #expect(problems.map { $0["path"] } == ["Task.address.street"])
  }

  // Evidence: P-110g
  @Test func `a map moves values into a composite and out of it`() async throws {
    try await fill()
    let inner = Self.address("inner", #"{"name":"number","type":"int32","optional":true}"#)
    let line = #"{"name":"line","type":"string","optional":true}"#
    let next = Self.model(
      2,
      "\(Self.address("place", inner)),\(line)",
      removed: #"["Task.address"]"#,
      map: """
        {"@from":"1","Task":{"place.inner.number":"address.count + 1","line":"address.street"}}
        """
    )
    #expect(
      try values(next) == [
        #"{"place":{"inner":{"number":10}},"line":"12"}"#,
        #"{"place":{"inner":{"number":4}},"line":null}"#,
      ]
    )
  }

  @Test func `an attribute gives way to a composite of its name`() async throws {
    let plain = #"{"name":"address","type":"json","optional":true}"#
    do {
      let store = try TestStore(Self.model(1, plain), in: folder)
      try await store.save(#"{"insert":[{"entity":"Task","values":{"address":{"street":"1"}}}]}"#)
    }
    let composite = Self.address("address", "\(Self.street),\(Self.count)")
    #expect(throws: StoreError.self) { try values(Self.model(2, composite)) }
    #expect(
      try values(Self.model(2, composite, removed: #"["Task.address"]"#)) == [
        #"{"address":{"street":null,"count":3}}"#
      ]
    )
  }
}
