import CordialService
import JSON
import JSONRPC
import Testing

/// Runs a body with a service whose tasks are 1.2 MB long, and whose messages have so much memory.
private func withMemory(
  _ bytes: Int,
  _ body: @escaping @Sendable (ServiceHost) throws -> Void
) async throws {
  var limits = Limits()
  limits.processBytesMax = announced(bytes)
  try await withHost(limits: limits) { host in
    let writer = HostPeer(host)
    // A save of all of them would not fit.
    for _ in 1...8 { try writer.saveLongTasks(5, titleBytes: 30_000) }
    writer.disconnect()
    try body(host)
  }
}

/// The maximum of which a fifth is for the allocator, and the rest for messages.
private func announced(_ bytes: Int) -> Int { bytes / 4 * 5 }

private let longFetch = #"{"entity":"Task"}"#
private let megabyte = 1 << 20

// Evidence: P-019d
@Suite struct `The memory of all messages` {
  @Test func `bounds the responses that peers do not read, and the others wait`() async throws {
    try await withMemory(3 * megabyte) { host in
      let idle = [HostPeer(host), HostPeer(host)]
      let other = HostPeer(host)
      for peer in idle {
        peer.read(bytes: 1)
        peer.send("fetch", longFetch)
        try host.settle()
      }
      let waiting = other.send("fetch", longFetch)
      try host.settle()
      #expect(other.answer(to: waiting) == nil)
      #expect(host.enter { $0.budget.bytes } <= 3 * megabyte)
      // What is short is answered all the same.
      #expect(try HostPeer(host).call("status")["state"] == "serving")
      idle[0].resumeReading()
      try host.run(until: "the other peer is answered") { other.answer(to: waiting) != nil }
      #expect(other.answer(to: waiting)?["result"]?["objects"]?.array?.count == 40)
      idle[1].resumeReading()
      try host.settle()
      for peer in idle {
        #expect(peer.answer(to: 1)?["result"]?["objects"]?.array?.count == 40)
      }
      #expect(host.enter { $0.budget.bytes } == 0)
    }
  }

  // Evidence: P-085f, P-085g
  @Test func `disconnects a peer that does not read and holds more than its share`() async throws {
    try await withMemory(3 * megabyte) { host in
      let idle = HostPeer(host)
      let small = HostPeer(host)
      let other = HostPeer(host)
      idle.read(bytes: 1)
      small.read(bytes: 1)
      for _ in 1...2 { idle.send("fetch", longFetch) }
      small.send("fetch", HostPeer.countTasks)
      try host.settle()
      let request = other.send("fetch", longFetch)
      try host.advance(milliseconds: 4999)
      #expect(other.answer(to: request) == nil)
      #expect(!idle.isClosed)
      try host.advance(milliseconds: 1)
      try host.run(until: "the other peer is answered") { other.answer(to: request) != nil }
      #expect(idle.events.contains(.abort))
      #expect(!small.isClosed)
      let disconnected = try other.call("status")["disconnected"]?.array ?? []
      #expect(disconnected.count == 1)
      #expect(disconnected.first?["reason"] == "share")
      #expect((disconnected.first?["bytes"]?.integer ?? 0) > 1_000_000)
    }
  }

  @Test func `keeps a peer that reads slowly, while others wait`() async throws {
    try await withMemory(3 * megabyte) { host in
      let slow = HostPeer(host)
      let other = HostPeer(host)
      slow.read(bytes: 1)
      for _ in 1...2 { slow.send("fetch", longFetch) }
      try host.settle()
      let request = other.send("fetch", longFetch)
      try host.advance(milliseconds: 3000)
      slow.read(bytes: 1000)
      try host.advance(milliseconds: 6000)
      #expect(!slow.isClosed)
      #expect(other.answer(to: request) == nil)
      slow.resumeReading()
      try host.run(until: "the other peer is answered") { other.answer(to: request) != nil }
    }
  }

  @Test func `fails a request whose response does not fit even alone`() async throws {
    try await withMemory(megabyte) { host in
      let peer = HostPeer(host)
      let error = try peer.call("fetch", longFetch)
      #expect(error["code"] == 1302)
      #expect(error["data"]?["limit"] == "processBytes")
      #expect(error["data"]?["max"]?.integer == Int64(announced(megabyte)))
      let fewer = try peer.call("fetch", #"{"entity":"Task","limit":10}"#)
      #expect(fewer["objects"]?.array?.count == 10)
      try host.settle()
      #expect(host.enter { $0.budget.bytes } == 0)
    }
  }

  @Test func `drops the largest unfinished message, and its peer is served`() async throws {
    try await withMemory(2 * megabyte) { host in
      let (large, small) = (HostPeer(host), HostPeer(host))
      let start = #"{"jsonrpc":"2.0","id":7,"method":"nothing","params":{"a":""#
      func text(_ count: Int) -> [UInt8] { [UInt8](repeating: UInt8(ascii: "x"), count: count) }
      large.send(bytes: Array(start.utf8) + text(3 * megabyte / 2))
      #expect(large.messages.isEmpty)
      small.send(bytes: Array(start.utf8) + text(3 * megabyte / 4))
      try host.settle()
      #expect(small.messages.isEmpty)
      #expect(large.messages.count == 1)
      #expect(large.messages.first?["id"]?.isNull == true)
      #expect(large.messages.first?["error"]?["data"]?["limit"] == "processBytes")
      large.send(bytes: text(100) + Array("\"}}\n".utf8))
      #expect(try large.call("status")["state"] == "serving")
      #expect(large.messages.count == 2)
      small.send(bytes: Array("\"}}\n".utf8))
      try host.settle()
      // The whole message has arrived, and its method does not exist.
      #expect(small.answer(to: 7)?["error"]?["code"] == -32601)
    }
  }

  @Test func `lets responses begin although unfinished messages take all of it`() async throws {
    try await withMemory(2 * megabyte) { host in
      let (idle, other) = (HostPeer(host), HostPeer(host))
      idle.send(bytes: [UInt8](repeating: UInt8(ascii: "["), count: 2 * megabyte - 1000))
      let fetched = try other.call("fetch", longFetch)
      #expect(fetched["objects"]?.array?.count == 40)
      #expect(idle.messages.first?["error"]?["data"]?["limit"] == "processBytes")
    }
  }

  // Evidence: P-019a
  @Test func `is not used up by a short line of many objects`() async throws {
    try await withMemory(4 * megabyte) { host in
      let peer = HostPeer(host)
      let objects = Array(repeating: #"{"":0}"#, count: 100_000).joined(separator: ",")
      peer.send("fetch", #"{"entity":"Task","arguments":[\#(objects)]}"#)
      try host.settle()
      #expect(peer.messages.count == 1)
      #expect(peer.messages.first?["error"]?["data"]?["limit"] == "processBytes")
      #expect(host.enter { $0.budget.bytes } == 0)
    }
  }
}

// Evidence: P-019a
@Suite struct `The limit of the values of a message` {
  @Test func `is exact, and is announced`() async throws {
    var limits = Limits()
    limits.valuesMax = 1000
    try await withHost(limits: limits) { host in
      let peer = HostPeer(host)
      // The request has seven values beside the arguments.
      for (count, isRefused) in [(993, false), (994, true)] {
        let zeros = Array(repeating: "0", count: count).joined(separator: ",")
        peer.send("fetch", #"{"entity":"Task","arguments":[\#(zeros)]}"#)
        try host.settle()
        let limit = peer.messages.last?["error"]?["data"]?["limit"]
        #expect((limit == "values") == isRefused, "\(count)")
      }
      let announced = try peer.call("initialize")["capabilities"]?["cordial"]?["limits"]
      #expect(announced?["valuesMax"] == 1000)
      #expect(announced?["processBytesMax"] == 536_870_912)
    }
  }
}
