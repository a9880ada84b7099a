import CordialProtocol
import CordialService
import Foundation
import JSON
import JSONRPC
import ProtocolSchemas
import Synchronization
import TestStores
import Testing

/// A sink may report events of its peer inside a write, as a channel does when its socket becomes
/// writable inside a flush.
@Suite struct `A sink that calls back inside write` {
  private static let model =
    URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent().appendingPathComponent("Protocol/models/Packages.json").path

  private static let methods = MethodTable.all.filter(\.isRequest).map(\.name)

  /// The number of requests that the sink sends from inside its writes.
  private static let nestedMax = 12

  @Test(arguments: methods)
  func `gets each answer once`(name: String) async throws {
    try await onOwnThread {
      let host = try ServiceHost(model: try String(contentsOfFile: Self.model, encoding: .utf8))
      let reentrant = Reentrant(host.service)
      let sink = RecordingSink(wrote: { _ in reentrant.wrote() })
      let session = try #require(host.connect(sink, framing: .line))
      reentrant.session.withLock { $0 = session }
      let method = try #require(MethodTable.method(named: name))
      var params = method.example
      if name == BackupCall.method.name { params = ["path": .string(host.folder.path + "/copy")] }
      // Answers wait for earlier answers, so that one write releases several.
      let requests = (0..<4).map { index -> String in
        let request: JSONValue = [
          "jsonrpc": "2.0", "id": .integer(Int64(index)), "method": .string(name),
          "params": params,
        ]
        return request.text + "\n"
      }
      host.send(Array(requests.joined().utf8), to: session)
      // The requests of the writes are answered in later turns, and a copy of the store is made on a
      // thread of its own.
      var bytes: [UInt8] = []
      try host.run(until: "every request is answered") {
        bytes += Self.written(to: sink)
        let answerCount = bytes.count { $0 == UInt8(ascii: "\n") }
        return reentrant.sent > 0 && answerCount >= requests.count + reentrant.sent
      }
      // No further answer follows.
      try host.settle()
      bytes += Self.written(to: sink)
      var counts: [Int64: Int] = [:]
      for line in bytes.split(separator: UInt8(ascii: "\n")) {
        let message = try JSONParser.parse(Array(line).span)
        guard let id = message["id"]?.integer else { continue }
        counts[id, default: 0] += 1
      }
      let sent = reentrant.sent
      let wanted = Array(0..<4) + (0..<sent).map { Int64(1000 + $0) }
      #expect(counts.keys.sorted() == wanted, "\(name)")
      #expect(counts.values.allSatisfy { $0 == 1 }, "\(name): \(counts)")
      #expect(sent > 0)
      host.disconnect(session)
      try host.close()
    }
  }

  @Test func `may report that its peer has disconnected`() async throws {
    try await onOwnThread {
      let host = try ServiceHost(model: TestModels.todo)
      let service = host.service
      let box = SessionBox()
      let sink = RecordingSink(wrote: { _ in
        guard let number = box.number.withLock({ $0 }) else { return }
        service.assumeIsolated { $0.disconnected(session: number) }
      })
      let number = try #require(host.connect(sink, framing: .line))
      box.number.withLock { $0 = number }
      let status = #"{"jsonrpc":"2.0","id":1,"method":"status"}"# + "\n"
      host.send(Array(String(repeating: status, count: 20).utf8), to: number)
      try host.settle()
      #expect(host.enter { $0.connectionCount } == 0)
      try host.close()
    }
  }

  /// Removes and returns the bytes that a sink has received.
  private static func written(to sink: RecordingSink) -> [UInt8] {
    var bytes: [UInt8] = []
    for case .wrote(let more) in sink.takeEvents() { bytes += more }
    return bytes
  }

  private final class SessionBox: Sendable {
    let number = Mutex<Int?>(nil)
  }

  /// A peer that becomes writable and sends a request inside each write.
  private final class Reentrant: Sendable {
    private let service: Service
    let session = Mutex<Int?>(nil)
    private let count = Mutex(0)

    init(_ service: Service) {
      self.service = service
    }

    /// The number of requests that the peer has sent.
    var sent: Int { count.withLock { $0 } }

    func wrote() {
      guard let session = session.withLock({ $0 }) else { return }
      let number = count.withLock { count -> Int? in
        guard count < nestedMax else { return nil }
        count += 1
        return count - 1
      }
      let request = number.map {
        Array(#"{"jsonrpc":"2.0","id":\#(1000 + $0),"method":"status"}"#.utf8) + [0x0A]
      }
      service.assumeIsolated { service in
        service.becameWritable(session: session)
        if let request { service.receive(request.span, session: session) }
      }
    }
  }
}
