import CordialService
import JSON
import PersistentStore
import TestStores
import Testing

@Suite struct `A read-only service` {
  private static let model = TestModels.todo.replacing(
    #"{"name": "Task","#,
    with: #"{"name": "Task", "spotlight": {"displayName": "title"},"#
  )

  /// Runs a body with a writable host and, beside it, a read-only host of the same store.
  private func withHosts(
    _ body: @escaping @Sendable (ServiceHost, ServiceHost) throws -> Void
  ) async throws {
    try await onOwnThread {
      var options = ServiceHost.Options()
      options.folder = try TestFolder()
      let writing = try ServiceHost(model: Self.model, options)
      _ = try HostPeer(writing).call("save", insertTask("apple"))
      options.mode = .readOnly
      let reading = try ServiceHost(model: nil, options)
      try body(writing, reading)
      try reading.close()
      try writing.close()
    }
  }

  private static func external(_ host: ServiceHost, _ sql: String) throws {
    try ForeignWriter.write(host.store.container.storePath, sql)
  }

  // Evidence: P-070e
  @Test func `answers from the newest sealed commit while changes are not sealed`() async throws {
    try await withHosts { writing, reading in
      let peer = HostPeer(reading)
      let token = try peer.call("status")["token"]
      #expect(try peer.call("status")["store"]?["unsealed"] == nil)
      try Self.external(
        writing,
        "UPDATE Task SET title = 'b'; INSERT INTO Task(title) VALUES ('c')"
      )
      let status = try peer.call("status")
      #expect(status["token"] == token)
      #expect(status["store"]?["unsealed"] == true)
      let fetched = try peer.call("fetch", #"{"entity":"Task"}"#)
      #expect(fetched["token"] == token)
      #expect(fetched["objects"]?.array?.map { $0["values"]?["title"] } == ["apple"])
      #expect(try peer.call("fetch", #"{"ids":["Task/p1"]}"#)["token"] == token)
      let found = try peer.call("search", #"{"query":"apple"}"#)
      #expect(found["hits"]?.array?.count == 1, "\(found)")
      #expect(try peer.call("history", "{}")["transactions"]?.array?.count == 1)
      let verified = try peer.call("store/verify")
      #expect(verified["problems"] == [], "\(verified)")
      // A process that starts while changes are not sealed answers too.
      var options = ServiceHost.Options()
      options.folder = reading.folder
      options.mode = .readOnly
      let late = try ServiceHost(model: nil, options)
      #expect(try HostPeer(late).call("status")["store"]?["unsealed"] == true)
      try late.close()
    }
  }

  // Evidence: P-070e
  @Test func `reports changes sealed by another process as ordinary differences`() async throws {
    try await withHosts { writing, reading in
      let peer = HostPeer(reading)
      let from = try peer.observeTasks()
      try Self.external(
        writing,
        "UPDATE Task SET title = 'b'; INSERT INTO Task(title) VALUES ('c')"
      )
      reading.service.lookForCommits()
      try reading.settle()
      #expect(peer.changes.isEmpty)
      try writing.settle()
      reading.service.lookForCommits()
      try reading.run(until: "the commit is reported") { !peer.changes.isEmpty }
      #expect(peer.changes[0]["from"]?.string == from)
      #expect(peer.changes[0]["authors"] == ["external"])
      let update = peer.changes[0]["updates"]?.array?.first
      #expect(update?["fresh"] == nil)
      #expect(update?["insert"]?.array?.count == 1)
      #expect(update?["update"]?.array?.count == 1)
      #expect(try peer.call("status")["store"]?["unsealed"] == nil)
    }
  }
}
