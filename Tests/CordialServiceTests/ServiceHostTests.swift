import CordialService
import Foundation
import JSONRPC
import Synchronization
import TestStores
import Testing

@Suite struct `A service host` {
  private static let status = Array(#"{"jsonrpc":"2.0","id":1,"method":"status"}"#.utf8) + [0x0A]

  @Test func `a wait that exceeds its deadline throws`() async throws {
    try await onOwnThread {
      let host = try ServiceHost(model: TestModels.todo)
      let timeoutSeconds = host.timeoutSeconds
      host.timeoutSeconds = 0.01
      #expect(throws: ServiceHost.WaitTimeout.self) { try host.run(until: "never") { false } }
      host.timeoutSeconds = timeoutSeconds
      try host.close()
    }
  }

  @Test func `a session runs only while the test waits`() async throws {
    try await onOwnThread {
      let host = try ServiceHost(model: TestModels.todo)
      let session = host.connect(framing: .line)
      host.send(Self.status, to: session)
      #expect(session.sink.takeEvents() == [])
      try host.settle()
      #expect(session.sink.takeEvents().count == 1)
      try host.close()
      #expect(session.sink.takeEvents() == [.closed(exitCode: 0)])
    }
  }

  @Test func `a timer fires when the test advances the time`() async throws {
    try await onOwnThread {
      let host = try ServiceHost(model: TestModels.todo)
      let counter = Counter()
      host.loop.schedule(milliseconds: 10) { counter.add() }
      try host.advance(milliseconds: 9)
      #expect(counter.count == 0)
      let before = host.clock.now
      try host.advance(milliseconds: 1)
      #expect(counter.count == 1)
      #expect(host.clock.now == before + 1)
      try host.close()
    }
  }

  @Test func `a custom sink is called on the thread of the test`() async throws {
    try await onOwnThread {
      let host = try ServiceHost(model: TestModels.todo)
      let sink = ThreadSink()
      let session = try #require(host.connect(sink, framing: .line))
      host.send(Self.status, to: session)
      try host.run(until: "the sink has bytes") { sink.threads.withLock { !$0.isEmpty } }
      #expect(sink.threads.withLock { $0 } == [ObjectIdentifier(Thread.current)])
      host.disconnect(session)
      try host.close()
    }
  }
}

private final class Counter: Sendable {
  private let stored = Mutex(0)

  var count: Int { stored.withLock { $0 } }

  func add() {
    stored.withLock { $0 += 1 }
  }
}

/// A sink that records the threads of its writes.
private final class ThreadSink: ByteSink {
  let threads = Mutex<Set<ObjectIdentifier>>([])

  var isWritable: Bool { true }

  func setReading(_ reads: Bool) {}

  func write(_ pieces: [[UInt8]]) {
    threads.withLock { _ = $0.insert(ObjectIdentifier(Thread.current)) }
  }

  func abort() {}

  func close(exitCode: Int32) {}
}
