import Foundation
import JSON
import JSONRPC
import Synchronization
import Testing

/// Limits of messages that the budget of a test bounds.
private let limits = MessageDecoder.Limits(
  messageBytesMax: 1 << 20,
  depthMax: 8,
  batchMax: 1000,
  valuesMax: 1000
)

/// A connection of a budget, with what it has reported.
private struct Peer {
  var connection: MessageDecoder
  let account: ByteBudget.Account
  var lines: [String] = []
  let dropped = Flag()

  init(_ budget: ByteBudget, framing: Framing? = nil) {
    let dropped = dropped
    account = budget.open { dropped.set() }
    connection = MessageDecoder(
      framing: framing,
      limits: limits,
      closesOnUnknownFraming: false,
      account: account
    )
  }

  mutating func send(_ text: String) {
    let bytes = Array(text.utf8)
    var lines: [String] = []
    lines += connection.receive(bytes.span).map(Self.line)
    self.lines += lines
  }

  mutating func dropUnfinished() {
    var lines: [String] = []
    lines += connection.dropUnfinished().map(Self.line)
    self.lines += lines
  }

  private static func line(_ event: MessageDecoder.Event) -> String {
    switch event {
    case .message(let message, _): Conversation.text(message)
    case .batch(let elements, _): "batch of \(elements.count)"
    case .reject(let error): "\(error.code) \(error.data?["limit"]?.string ?? "")"
    case .close: "close"
    }
  }
}

/// Whether something has happened on any thread.
private final class Flag: Sendable {
  private let value = Mutex(false)
  var isSet: Bool { value.withLock { $0 } }
  func set() { value.withLock { $0 = true } }
}

// Evidence: P-019d
@Suite struct `The memory of unfinished messages` {
  private static let long = #"{"jsonrpc":"2.0","id":9,"method":"a","params":{"b":""# + text(100_000)

  private static func text(_ count: Int) -> String { String(repeating: "x", count: count) }

  @Test func `is counted, and released with the message`() {
    let budget = ByteBudget(bytesMax: 1 << 20)
    var peer = Peer(budget)
    peer.send(Self.long)
    #expect((100_000...210_000).contains(budget.bytes))
    peer.send("\"}}\n")
    #expect(peer.lines == [#"#9 a {"b":"\#(Self.text(100_000))"}"#])
    // The request is held until it is answered.
    #expect(peer.account.unfinishedBytes == 0)
    #expect(budget.bytes >= 100_000)
    peer.account.addRequests(-(peer.account.bytes))
    #expect(budget.bytes == 0)
  }

  @Test func `is released with the connection`() {
    let budget = ByteBudget(bytesMax: 1 << 20)
    do {
      var peer = Peer(budget)
      peer.send(Self.long)
      #expect(budget.count == 1)
    }
    #expect(budget.bytes == 0)
    #expect(budget.count == 0)
  }

  @Test func `at the bound, the largest line fails, and the next line is read`() {
    let budget = ByteBudget(bytesMax: 450_000)
    var large = Peer(budget)
    var small = Peer(budget)
    large.send(Self.long + Self.text(200_000))
    small.send(Self.long)
    #expect(!large.dropped.isSet)
    // A message takes two and a half times its memory while it grows.
    for _ in 0..<200 where !large.dropped.isSet && small.lines.isEmpty {
      small.send(Self.text(1000))
    }
    #expect(large.dropped.isSet)
    #expect(small.lines.isEmpty)
    // What is being dropped counts until its memory is free.
    #expect(budget.bytes > 450_000)
    large.dropUnfinished()
    #expect(budget.bytes < 450_000)
    #expect(large.lines == ["1302 processBytes"])
    large.send(Self.text(100) + "\"}}\n" + request(1) + "\n")
    #expect(large.lines == ["1302 processBytes", "#1 a null"])
    small.send("\"}}\n")
    #expect(small.lines.count == 1)
  }

  @Test func `the sender of the largest message gets the error at once`() {
    let budget = ByteBudget(bytesMax: 200_000)
    var peer = Peer(budget)
    peer.send(Self.long)
    for _ in 0..<200 where peer.lines.isEmpty { peer.send(Self.text(1000)) }
    #expect(peer.lines == ["1302 processBytes"])
    #expect(!peer.dropped.isSet)
    #expect(budget.bytes == 0)
    peer.send("\n" + request(1) + "\n")
    #expect(peer.lines == ["1302 processBytes", "#1 a null"])
  }

  @Test func `counts with its copy while it grows`() {
    let budget = ByteBudget(bytesMax: 300_000)
    var peer = Peer(budget)
    peer.send(Self.long)
    var count = Self.long.utf8.count
    while count < 300_000, peer.lines.isEmpty {
      peer.send(Self.text(1000))
      count += 1000
    }
    // The memory of 150,000 bytes grows by half, which is 375,000 bytes until they are copied.
    #expect((145_000..<155_000).contains(count))
    #expect(peer.lines == ["1302 processBytes"])
    peer.send("\n" + request(1) + "\n")
    #expect(peer.lines == ["1302 processBytes", "#1 a null"])
  }

  /// Another thread looks at the memory meanwhile.
  @Test func `of a long message counts while the message is parsed`() {
    let budget = ByteBudget(bytesMax: 1 << 30)
    let account = budget.open()
    let text = "[" + Array(repeating: "[0]", count: 200_000).joined(separator: ",") + "]\n"
    let bytes = Array(text.utf8)
    let ends = Flag()
    let highest = Atomic<Int>(0)
    let (started, ended) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    Thread.detachNewThread {
      started.signal()
      while !ends.isSet { highest.max(account.bytes, ordering: .relaxed) }
      ended.signal()
    }
    started.wait()
    let wide = MessageDecoder.Limits(
      messageBytesMax: 1 << 20,
      depthMax: 8,
      batchMax: 1,
      valuesMax: 1 << 20
    )
    for _ in 0..<1000 where highest.load(ordering: .relaxed) < 4 << 20 {
      var connection = MessageDecoder(
        framing: .line,
        limits: wide,
        closesOnUnknownFraming: false,
        account: account
      )
      var errors: [Int] = []
      for case .reject(let error) in connection.receive(bytes.span) { errors.append(error.code) }
      // The batch is too long, so that nothing of it remains.
      #expect(errors == [1302])
      #expect(account.bytes == 0)
    }
    ends.set()
    ended.wait()
    #expect(highest.load(ordering: .relaxed) >= 4 << 20)
  }

  /// The memory of a message is greater than its length while it grows.
  @Test func `is what is dropped, and not the length`() {
    let budget = ByteBudget(bytesMax: 1 << 20)
    var peer = Peer(budget)
    peer.send("{" + Self.text(40_000))
    for count in [10_000, 11_000] { peer.send(Self.text(count)) }
    #expect(peer.account.unfinishedBytes > 1 << 16)
    peer.dropUnfinished()
    #expect(peer.lines == ["1302 processBytes"])
    #expect(budget.bytes == 0)
  }

  @Test(arguments: [0, 600_000])
  func `of a message alone is no reason to send it again`(otherBytes: Int) {
    let budget = ByteBudget(bytesMax: 1 << 20)
    let other = budget.open()
    other.addRequests(otherBytes / 2)
    var decoder = MessageDecoder(
      framing: .line,
      limits: MessageDecoder.Limits(messageBytesMax: 1 << 20, depthMax: 8, batchMax: 3),
      closesOnUnknownFraming: false,
      account: budget.open()
    )
    let text = "[" + Array(repeating: "0", count: 30_000).joined(separator: ",") + "]\n"
    var messages: [String] = []
    for case .reject(let error) in decoder.receive(Array(text.utf8).span) {
      messages.append(error.message)
    }
    #expect(messages.count == 1)
    #expect(messages.first?.contains("send them in parts") == (otherBytes == 0), "\(messages)")
    #expect(messages.first?.contains("send it again later") == (otherBytes > 0), "\(messages)")
  }

  @Test func `of a message that is too short to be dropped is counted again`() {
    let budget = ByteBudget(bytesMax: 100_000)
    let peer = Peer(budget)
    _ = peer.account.setUnfinished(90_000)
    // A response needs the memory.
    #expect(budget.open().begin(reserving: 50_000) != nil)
    #expect(peer.dropped.isSet && peer.account.unfinishedBytes == 0)
    #expect(peer.account.setUnfinished(10_000) == false)
    #expect(peer.account.unfinishedBytes == 10_000)
  }

  @Test(arguments: [1, 7, 1000, 100_000])
  func `the rest of a body is skipped, and the next message is read`(portion: Int) {
    let budget = ByteBudget(bytesMax: 1 << 20)
    var peer = Peer(budget)
    let stream = "Content-Length: 200000\r\n\r\n" + Self.text(200_000) + framed(request(1))
    let head = 26 + 150_000
    peer.send(String(stream.prefix(head)))
    peer.dropUnfinished()
    #expect(budget.bytes == 0)
    var rest = stream.dropFirst(head)
    while !rest.isEmpty {
      peer.send(String(rest.prefix(portion)))
      rest = rest.dropFirst(portion)
    }
    #expect(peer.lines == ["1302 processBytes", "#1 a null"])
    #expect(peer.connection.framing == .header)
  }

  @Test func `a short message is never dropped`() {
    let budget = ByteBudget(bytesMax: 1000)
    var peers = (0..<10).map { _ in Peer(budget) }
    for index in peers.indices {
      peers[index].send(#"{"jsonrpc":"2.0","id":1,"method":""# + Self.text(1000))
      peers[index].dropUnfinished()
    }
    for index in peers.indices {
      peers[index].send("\"}\n")
      #expect(peers[index].lines == ["#1 \(Self.text(1000)) null"])
    }
  }
}

// Evidence: P-019a
@Suite struct `The limit of values` {
  private func params(_ count: Int) -> String {
    let values = Array(repeating: "0", count: count).joined(separator: ",")
    return #"{"jsonrpc":"2.0","id":1,"method":"a","params":[\#(values)]}"#
  }

  @Test func `is exact, and the next line is read`() {
    // The request, its three members and its params are five values.
    for (count, expected) in [(995, "#1 a"), (996, "1302 values")] {
      var peer = Peer(ByteBudget(bytesMax: 1 << 30))
      peer.send(params(count) + "\n" + request(2) + "\n")
      #expect(peer.lines.count == 2)
      #expect(peer.lines.first?.hasPrefix(expected) == true, "\(peer.lines)")
      #expect(peer.lines.last == "#2 a null")
    }
  }
}
