import CordialService
import Dispatch
import JSON
import JSONRPC
import PersistentStore
import Synchronization
import TestStores
import Testing

/// Requests that take long, for as long as nothing stops them.
enum Slow {
  /// A pattern whose matching with a text of as many letters takes hours.
  static let predicate = "title MATCHES '(a+)+b'"
  static let text = String(repeating: "a", count: 60)
  static let fetch = #"{"entity":"Task","predicate":"\#(predicate)"}"#
  static let update = #"{"entity":"Task","predicate":"\#(predicate)","set":{"title":"x"}}"#

  /// Adds tasks that the predicate is slow for.
  static func addTasks(_ host: ServiceHost) throws {
    let peer = HostPeer(host)
    for _ in 0..<3 { _ = try peer.call("save", insertTask(text)) }
  }
}

@Suite struct `A read that takes long` {
  /// Limits that end no read, however busy the machine is.
  private static var unlimitedTime: Limits {
    var limits = Limits()
    limits.requestSecondsMax = 3600
    return limits
  }

  private func withSlowTasks(
    limits: Limits = unlimitedTime,
    readersMax: Int = 2,
    _ body: @escaping @Sendable (ServiceHost) throws -> Void
  ) async throws {
    try await onOwnThread {
      var options = ServiceHost.Options()
      options.limits = limits
      options.readersMax = readersMax
      let host = try ServiceHost(model: TestModels.todo, options)
      try Slow.addTasks(host)
      try body(host)
      try host.close()
    }
  }

  /// Checks that a reader still answers.
  private func checkReaders(_ host: ServiceHost) throws {
    #expect(try HostPeer(host).call("fetch", HostPeer.countTasks)["count"] == 3)
  }

  // Evidence: P-017a
  @Test(arguments: [Slow.fetch, #"{"entity":"Task","predicate":"title MATCHES '(a|a)*b'"}"#])
  func `ends with -32800 when its client cancels it`(params: String) async throws {
    try await withSlowTasks { host in
      let peer = HostPeer(host)
      let id = peer.send("fetch", params)
      peer.cancel(id)
      try host.run(until: "the fetch is answered") { peer.answer(to: id) != nil }
      #expect(peer.answer(to: id)?["error"]?["code"] == -32800)
      try checkReaders(host)
    }
  }

  // Evidence: P-017e, P-052h
  @Test func `ends with 1303 at the time limit that its client sends`() async throws {
    try await withSlowTasks { host in
      let peer = HostPeer(host)
      let error = try peer.call(
        "fetch",
        #"{"entity":"Task","predicate":"\#(Slow.predicate)","timeoutSeconds":0.05}"#
      )
      #expect(error["code"] == 1303)
      #expect(error["data"]?["code"] == "timedOut")
      #expect(error["data"]?["seconds"] == .number(0.05))
      try checkReaders(host)
    }
  }

  // Evidence: P-017e
  @Test func `ends at the limit of its connection, and never later than the service's`()
    async throws
  {
    var limits = Limits()
    limits.requestSecondsMax = 1
    try await withSlowTasks(limits: limits) { host in
      let peer = HostPeer(host)
      _ = try peer.call("initialize", #"{"cordial":{"timeoutSeconds":0.05}}"#)
      #expect(try peer.call("fetch", Slow.fetch)["data"]?["seconds"] == .number(0.05))
      let error = try HostPeer(host).call(
        "fetch",
        #"{"entity":"Task","predicate":"\#(Slow.predicate)","timeoutSeconds":1000}"#
      )
      #expect(error["data"]?["seconds"] == 1)
    }
  }

  // Evidence: P-017e
  @Test(arguments: ["0", "-1", "\"1\"", "true", "[]"])
  func `is refused with a time limit that is no number above 0`(limit: String) async throws {
    try await withHost { host in
      let error = try HostPeer(host).call(
        "fetch",
        #"{"entity":"Task","timeoutSeconds":\#(limit)}"#
      )
      #expect(error["code"] == -32602)
    }
  }

  // Evidence: P-017f
  @Test func `ends when its connection ends`() async throws {
    try await withSlowTasks { host in
      for _ in 0..<4 {
        let peer = HostPeer(host)
        peer.send("fetch", Slow.fetch)
        peer.send("fetch", Slow.fetch)
        peer.disconnect()
      }
      try checkReaders(host)
    }
  }

  // Evidence: P-018c, P-018d
  @Test func `blocks no other connection`() async throws {
    try await withSlowTasks(readersMax: 8) { host in
      let slow = HostPeer(host)
      // More than may run at once.
      let ids = (0..<6).map { _ in slow.send("fetch", Slow.fetch) }
      let other = HostPeer(host)
      let id = other.send("fetch", HostPeer.countTasks)
      try host.run(until: "the other client is answered") { other.answer(to: id) != nil }
      #expect(other.answer(to: id)?["result"]?["count"] == 3)
      #expect(ids.allSatisfy { slow.answer(to: $0) == nil })
      slow.disconnect()
    }
  }

  // Evidence: P-018d
  @Test func `leaves connections to the store to clients that read nothing`() async throws {
    try await withSlowTasks(readersMax: 8) { host in
      let slow = (0..<6).map { _ in HostPeer(host) }
      let ids = slow.map { peer in (0..<2).map { _ in peer.send("fetch", Slow.fetch) } }
      let other = HostPeer(host)
      let id = other.send("fetch", HostPeer.countTasks)
      try host.run(until: "the other client is answered") { other.answer(to: id) != nil }
      #expect(other.answer(to: id)?["result"]?["count"] == 3)
      for (peer, ids) in zip(slow, ids) {
        #expect(ids.allSatisfy { peer.answer(to: $0) == nil })
        for id in ids { peer.cancel(id) }
        try host.run(until: "the reads are answered") {
          ids.allSatisfy { peer.answer(to: $0) != nil }
        }
      }
      try checkReaders(host)
    }
  }

  // Evidence: P-018c
  @Test func `is overtaken by a fetch of an object by its ID`() async throws {
    try await withSlowTasks(readersMax: 8) { host in
      let peer = HostPeer(host)
      _ = try peer.call("initialize")
      let slow = (0..<6).map { _ in peer.send("fetch", Slow.fetch) }
      let id = peer.send("fetch", #"{"ids":["Task/p1"]}"#)
      try host.run(until: "the object is fetched") { peer.answer(to: id) != nil }
      #expect(slow.allSatisfy { peer.answer(to: $0) == nil })
      // A write waits for the reads before it.
      let save = peer.send("save", insertTask("b"))
      #expect(peer.answer(to: save) == nil)
      for id in slow { peer.cancel(id) }
      try host.run(until: "the save is answered") { peer.answer(to: save) != nil }
    }
  }

  // Evidence: P-017e
  @Test(arguments: [
    // A pattern that every position of a long text begins to match.
    "title LIKE '*\(String(repeating: "a", count: 4000))b'",
    "title MATCHES '(.*)*b'",
    "title LIKE[cd] '*\(String(repeating: "ä", count: 4000))b'",
  ])
  func `ends inside one call of a function`(predicate: String) async throws {
    try await withHost { host in
      let peer = HostPeer(host)
      _ = try peer.call("save", insertTask(String(repeating: "a", count: 3_000_000)))
      let error = try peer.call(
        "fetch",
        #"{"entity":"Task","predicate":"\#(predicate)","result":"count","timeoutSeconds":0.05}"#
      )
      #expect(error["code"] == 1303)
      #expect(try peer.call("fetch", HostPeer.countTasks)["count"] == 1)
    }
  }

  @Test func `fails with closed where the service stops before its end`() async throws {
    try await withSlowTasks(readersMax: 8) { host in
      let peer = HostPeer(host)
      let ids = (0..<4).map { _ in peer.send("fetch", Slow.fetch) }
      let hasStopped = Atomic(false)
      host.enter { $0.stop { hasStopped.store(true, ordering: .relaxed) } }
      host.fireTimers(milliseconds: 1000 * Limits().stopSecondsMax)
      try host.run(until: "the service has stopped") { hasStopped.load(ordering: .relaxed) }
      for id in ids { #expect(peer.answer(to: id)?["error"]?["data"]?["code"] == "closed") }
    }
  }
}

@Suite struct `A write by predicate that takes long` {
  // Evidence: P-017g
  @Test(arguments: ["update", "delete"])
  func `ends when its client cancels it, and writes nothing`(method: String) async throws {
    try await withHost { host in
      try Slow.addTasks(host)
      let peer = HostPeer(host)
      let id = peer.send(method, method == "update" ? Slow.update : Slow.fetch)
      peer.cancel(id)
      try host.run(until: "the write is answered") { peer.answer(to: id) != nil }
      #expect(peer.answer(to: id)?["error"]?["code"] == -32800)
      #expect(try peer.call("fetch", HostPeer.countTasks)["count"] == 3)
      #expect(try peer.call("save", insertTask("b"))["token"] != nil)
    }
  }

  // Evidence: P-017g
  @Test func `ends at its limit, and delays other saves no longer`() async throws {
    try await withHost(limits: limits { $0.writerSecondsMax = 1 }) { host in
      try Slow.addTasks(host)
      let peer = HostPeer(host)
      let other = HostPeer(host)
      let id = peer.send("update", Slow.update)
      let save = other.send("save", insertTask("b"))
      try host.run(until: "both are answered") {
        peer.answer(to: id) != nil && other.answer(to: save) != nil
      }
      #expect(peer.answer(to: id)?["error"]?["code"] == 1303)
      #expect(peer.answer(to: id)?["error"]?["data"]?["seconds"] == 1)
      #expect(other.answer(to: save)?["result"] != nil)
    }
  }

  // Evidence: P-017g
  @Test func `ends while it waits for the writer`() async throws {
    try await withHost { host in
      try Slow.addTasks(host)
      let peer = HostPeer(host)
      try host.withBlockedWriter {
        let id = peer.send("update", Slow.update)
        peer.cancel(id)
        try host.run(until: "the write is answered") { peer.answer(to: id) != nil }
        #expect(peer.answer(to: id)?["error"]?["code"] == -32800)
      }
    }
  }

  private func limits(_ change: (inout Limits) -> Void) -> Limits {
    var limits = Limits()
    change(&limits)
    return limits
  }
}

@Suite struct `A pattern of the model that takes long to match` {
  private static let model = """
    {"name": "Codes", "version": "1", "entities": [
      {"name": "Task", "attributes": [
        {"name": "title", "type": "string", "optional": true, "pattern": "(a+)+b|b"}]}]}
    """

  // Evidence: P-114b
  @Test func `ends the save with 1303, off the loop`() async throws {
    var limits = Limits()
    limits.writerSecondsMax = 1
    try await withHost(model: Self.model, limits: limits) { host in
      let peer = HostPeer(host)
      _ = try peer.call("save", #"{"insert":[{"entity":"Task","values":{"title":"b"}}]}"#)
      // The loop performs small saves of this durability itself.
      let id = peer.send(
        "save",
        #"{"durability":"normal","update":[{"id":"Task/p1","values":{"title":"\#(Slow.text)"}}]}"#
      )
      #expect(peer.answer(to: id) == nil)
      try host.run(until: "the save is answered") { peer.answer(to: id) != nil }
      #expect(peer.answer(to: id)?["error"]?["code"] == 1303)
      let object = try peer.call("fetch", #"{"ids":["Task/p1"]}"#)
      #expect(object["objects"]?.array?.first?["values"]?["title"] == "b")
    }
  }
}

/// A model with an attribute that the function `slow` of the program computes.
let computedModel = """
  {"name": "Todo", "version": "1", "entities": [
    {"name": "Task",
     "attributes": [{"name": "title", "type": "string", "optional": true},
                    {"name": "slow", "type": "string", "optional": true, "transient": true,
                     "computed": "slow"}]}]}
  """

@Suite struct `A function of the program that takes long` {
  // Evidence: P-017a, P-114d
  @Test func `learns that its request has to end`() async throws {
    try await onOwnThread {
      let begun = DispatchSemaphore(value: 0)
      var options = ServiceHost.Options()
      options.computedValues = [
        "slow": { object in
          begun.signal()
          while !object.isStopped {}
          // No text, which would be another error.
          return 1
        }
      ]
      let host = try ServiceHost(model: computedModel, options)
      let peer = HostPeer(host)
      _ = try peer.call("save", insertTask("a"))
      let id = peer.send("fetch", #"{"entity":"Task","select":["slow"]}"#)
      let other = HostPeer(host)
      let next = other.send("fetch", HostPeer.countTasks)
      try host.run(until: "the other client is answered") { other.answer(to: next) != nil }
      #expect(begun.wait(timeout: .now() + 60) == .success)
      peer.cancel(id)
      try host.run(until: "the fetch is answered") { peer.answer(to: id) != nil }
      #expect(peer.answer(to: id)?["error"]?["code"] == -32800)
      #expect(try peer.call("fetch", HostPeer.countTasks)["count"] == 1)
      try host.close()
    }
  }
}

@Suite struct `The progress of a request that maintains the store` {
  // Evidence: P-017c
  @Test(arguments: [
    ("store/verify", "{}"), ("index/verify", "{}"), ("store/compact", "{}"),
    ("history/purge", #"{"keep":{"transactions":1}}"#), ("index/rebuild", "{}"),
  ])
  func `begins and ends before the response`(method: String, params: String) async throws {
    try await withHost { host in
      let peer = HostPeer(host)
      _ = try peer.call("save", insertTask("a"))
      let token = params.dropLast() + (params == "{}" ? "" : ",") + #""workDoneToken":"w"}"#
      let result = try peer.call(method, String(token))
      #expect(result["code"] == nil, "\(result)")
      let messages = peer.messages.drop { $0["method"]?.string != "$/progress" }
      let kinds = messages.map { message in
        message["method"] == nil ? "response" : message["params"]?["value"]?["kind"]?.string ?? ""
      }
      #expect(kinds.first == "begin")
      #expect(kinds.suffix(2) == ["end", "response"])
      #expect(kinds.dropFirst().dropLast(2).allSatisfy { $0 == "report" })
      #expect(messages.first?["params"]?["value"]?["cancellable"] == true)
    }
  }

  // Evidence: P-017c, P-017e
  @Test(arguments: ["store/verify", "index/verify", "index/rebuild", "store/compact"])
  func `ends with its time limit, and the next request succeeds`(method: String) async throws {
    try await withHost { host in
      let peer = HostPeer(host)
      for number in 0..<20 { _ = try peer.call("save", insertTask("\(number)")) }
      let error = try peer.call(method, #"{"timeoutSeconds":0.0000001}"#)
      #expect(error["code"] == 1303, "\(error)")
      #expect(try peer.call(method)["code"] == nil)
    }
  }
}
