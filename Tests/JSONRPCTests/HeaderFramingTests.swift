import JSON
import JSONRPC
import TestSeeds
import Testing

/// The base protocol of LSP, as its clients speak and break it.
@Suite struct `Header framing` {
  private func block(_ fields: String...) -> String {
    fields.map { $0 + "\r\n" }.joined() + "\r\n"
  }

  @Test func `a body is as long as its header says`() {
    check(framed(request(1)), ["#1 a null"], .header)
    check(framed(request(1)) + framed(request(2)), ["#1 a null", "#2 a null"], .header)
    check(
      framed("{\"jsonrpc\":\"2.0\",\"method\":\"牛🥛\"}") + framed(request(2)),
      ["牛🥛 null", "#2 a null"],
      .header
    )
    check(
      framed(" \n\(request(1))\r\n ") + framed(request(2)),
      ["#1 a null", "#2 a null"],
      .header
    )
  }

  @Test func `header names ignore case, values ignore white space, other headers are ignored`() {
    let body = request(1)
    let length = body.utf8.count
    for header in [
      block("content-length: \(length)"), block("CONTENT-LENGTH:\(length)"),
      block("Content-Length:   \(length)  "), block("Content-Length:\t\(length)"),
      block("Content-Length: 00\(length)"), block("Content-Length: \(length)", "X-Other: a: b"),
      block("X-Other:", "Content-Length: \(length)"),
      block("Content-Type: application/vscode-jsonrpc; charset=utf-8", "Content-Length: \(length)"),
      block("Content-Length: \(length)", "Content-Type: application/vscode-jsonrpc; charset=utf8"),
      block("Content-Length: \(length)", "content-type: a/b;charset=\"UTF-8\""),
      block("Content-Length: \(length)", "Content-Type: application/json"),
      block("Content-Length: \(length)", "Content-Length: \(length)"),
    ] {
      check(header + body + framed(request(2)), ["#1 a null", "#2 a null"], .header)
    }
  }

  @Test func `a byte order mark before a body is passed over`() {
    check(
      framed("\u{FEFF}" + request(1)) + framed(request(2)),
      ["#1 a null", "#2 a null"],
      .header
    )
  }

  @Test func `a malformed body is -32700 and the next message is read`() {
    for bad in ["", "{", "x", "{}{}", "{\"a\":1,}", "[1", "\n", "   ", "\u{FEFF}"] {
      check(framed(bad) + framed(request(1)), ["-32700", "#1 a null"], .header)
    }
    for bad in ["{}", "null", "1", "\"a\""] {
      check(framed(bad) + framed(request(1)), ["-32600", "#1 a null"], .header)
    }
    check(
      Array("Content-Length: 8\r\n\r\n{\"a\":\"".utf8) + [0xFF, 0x22]
        + Array(framed(request(1)).utf8),
      ["-32700", "#1 a null"],
      .header
    )
    check(
      framed(String(repeating: "[", count: 9)) + framed(request(1)),
      ["-32700", "#1 a null"],
      .header
    )
  }

  /// One -32700 in the peer's framing, then the end, and not a byte is looked at after it.
  // Evidence: P-015a
  @Test func `an invalid header is -32700 and closes the connection`() {
    let body = request(1)
    let length = body.utf8.count
    for header in [
      block("Content-Length:"), block("Content-Length: "), block("Content-Length: abc"),
      block("Content-Length: -5"), block("Content-Length: +\(length)"),
      block("Content-Length: \(length).0"),
      block("Content-Length: 0x2A"), block("Content-Length: 4 2"),
      block("Content-Length: \(length),\(length)"),
      block("Content-Length: 12345678901"), block("Content-Length: 99999999999999999999"),
      block("Content-Length: 18446744073709551616"), block("Content-Length: \u{FF14}"),
      block("Content-Length: \(length)", "Content-Length: \(length + 1)"),
      block("Content-Type: a/b"),
      block("Content-Length: \(length)", "no colon"), block("Content-Length: \(length)", ": x"),
      block("Content-Length: \(length)", "Content-Type: a/b; charset=latin-1"),
      block("Content-Type: a/b; charset=\"utf-16\"", "Content-Length: \(length)"),
    ] {
      check(header + body + framed(request(2)), ["-32700", "close"], .header)
      check(framed(request(3)) + header + body, ["#3 a null", "-32700", "close"], .header)
    }
  }

  @Test func `a body is taken exactly up to its limit, and refused by its header beyond`() {
    func padded(_ length: Int) -> String {
      framed(request(1) + String(repeating: " ", count: length - request(1).utf8.count))
    }
    check(padded(200) + framed(request(2)), ["#1 a null", "#2 a null"], .header)
    check(padded(201) + framed(request(2)), ["-32700", "close"], .header)
    // Before the body has come, and before memory is spent on it.
    check("Content-Length: 201\r\n\r\n", ["-32700", "close"], .header)
    check("Content-Length: 9999999999\r\n\r\n", ["-32700", "close"], .header)
  }

  @Test func `a header is taken exactly up to 32 fields`() {
    func fields(_ count: Int) -> String {
      (1..<count).map { "X-\($0): y\r\n" }.joined() + framed(request(1))
    }
    check(fields(32), ["#1 a null"], .header)
    check(fields(33), ["-32700", "close"], .header)
  }

  @Test func `a header is taken exactly up to 8 KiB`() {
    func sized(_ bytes: Int) -> [UInt8] {
      let message = framed(request(1))
      let rest = "X-Long: \r\nContent-Length: \(request(1).utf8.count)\r\n\r\n".utf8.count
      return Array(
        ("X-Long: " + String(repeating: "x", count: bytes - rest) + "\r\n" + message).utf8
      )
    }
    for (bytes, expected) in [
      (8192, ["#1 a null"]), (8193, ["-32700", "close"]), (9000, ["-32700", "close"]),
    ] {
      for cuts in [
        [], [1], [bytes / 2], [8191], [8192], Array(stride(from: 7, to: bytes, by: 1000)),
      ] {
        #expect(
          Conversation(sized(bytes), cutAt: cuts).lines == expected,
          "\(bytes) cut at \(cuts)"
        )
      }
    }
    // It needn't end to be too long.
    let endless = Array("Content-Length: 2".utf8) + [UInt8](repeating: 0x20, count: 10_000)
    #expect(Conversation(endless).lines == ["-32700", "close"])
    #expect(Conversation(endless, cutAt: Array(1..<endless.count)).lines == ["-32700", "close"])
  }

  @Test func `an incomplete message at the end of the stream is ignored`() {
    check(framed(request(1)) + "Content-Length: 10\r\n\r\n{}", ["#1 a null"], .header)
    check(framed(request(1)) + "Content-Le", ["#1 a null"], .header)
    check(framed(request(1)) + "Content-Length: 10\r\n", ["#1 a null"], .header)
  }

  @Test func `what is written can be read`() {
    let body = Array(request(1).utf8)
    check(
      Framing.header.frame(body) + Framing.header.frame(body),
      ["#1 a null", "#1 a null"],
      .header
    )
    check(Framing.line.frame(body) + Framing.line.frame(body), ["#1 a null", "#1 a null"], .line)
    // This header first, this capitalisation, one space, no other header: what clients insist on.
    #expect(Framing.header.frame([0x7B, 0x7D]) == Array("Content-Length: 2\r\n\r\n{}".utf8))
    #expect(
      Framing.header.frame(Array("\"é\"".utf8)) == Array("Content-Length: 4\r\n\r\n\"é\"".utf8)
    )
    #expect(Framing.line.frame([0x7B, 0x7D]) == Array("{}\n".utf8))
  }
}

@Suite struct `Any bytes in any pieces` {
  private static let pieces = [
    request(1), request(2), "\n", "\r\n", " ", "{", "}", "[", "]", ":",
    "Content-Length: 2\r\n\r\n{}",
    "Content-Length: ", "42", "2\r\n\r\n", "\r\n\r\n", "Content-Type: a/b\r\n", "x", "\u{FEFF}",
    "\u{0}", "é",
    "\"", "[1,", framed(request(3)), framed("[]"), "X: ", String(repeating: " ", count: 120), "-",
    "null",
  ]

  /// 50 seeds of 60 streams, each cut in six ways.
  @Test(arguments: Seeds.first(50))
  func `any bytes give the same messages in any pieces`(seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    for _ in 0..<60 {
      var bytes: [UInt8] = []
      for _ in 0..<random.below(10) { bytes += random.pick(Self.pieces).utf8 }
      if random.oneIn(3), !bytes.isEmpty {
        bytes[random.below(bytes.count)] = UInt8(random.below(256))
      }
      let isSocket = random.oneIn(2)
      let whole = Conversation(bytes, isSocket: isSocket)
      var cuts = [Array(1..<max(1, bytes.count))]
      for _ in 0..<5 {
        cuts.append((0..<1 + random.below(5)).map { _ in random.below(bytes.count + 1) }.sorted())
      }
      for cut in cuts {
        let said = Conversation(bytes, cutAt: cut, isSocket: isSocket)
        guard said == whole else {
          // One is enough: the others of this seed are mostly the same.
          Issue.record(
            """
            \(String(decoding: bytes, as: UTF8.self).debugDescription)
            cut at \(cut.count < 20 ? "\(cut)" : "every byte") says \(said)
            whole it says \(whole)
            \(Seeds.repeating(seed))
            """
          )
          return
        }
      }
      if let close = whole.lines.firstIndex(of: "close") {
        try #require(close == whole.lines.count - 1, "\(whole); \(Seeds.repeating(seed))")
      }
    }
  }

  @Test(arguments: Seeds.first(50))
  func `a stream of good messages is those messages`(seed: UInt64) {
    var random = SplitMix64(seed: seed)
    let framing = random.pick(Framing.allCases)
    let ids = (0..<random.below(20)).map { _ in random.below(1000) }
    var bytes: [UInt8] = []
    for id in ids {
      bytes += framing.frame(Array(request(id).utf8))
      if framing == .line, random.oneIn(4) { bytes += Array("\r\n \n".utf8) }
    }
    let cuts = (0..<random.below(30)).map { _ in random.below(bytes.count + 1) }.sorted()
    let said = Conversation(bytes, cutAt: cuts)
    #expect(said.lines == ids.map { "#\($0) a null" }, "\(Seeds.repeating(seed))")
    #expect(ids.isEmpty || said.framing == framing, "\(Seeds.repeating(seed))")
  }

  /// The bytes of an incomplete message are moved only when their buffer grows, which doubles it.
  @Test(arguments: Framing.allCases)
  func `small pieces of a large message are not copied again with each piece`(
    framing: Framing
  ) throws {
    let body = Array(("\"" + String(repeating: "x", count: 1_000_000) + "\"").utf8)
    let bytes = framing.frame(body)
    var decoder = FrameDecoder(framing: framing, messageBytesMax: 2_000_000)
    var frames: [Int] = []
    var addresses: [UInt] = []
    for start in stride(from: 0, to: bytes.count, by: 512) {
      let end = min(start + 512, bytes.count)
      decoder.receive(bytes.span.extracting(start..<end)) { event, frame in
        #expect(event == .frame(framing))
        frames.append(frame.count)
      }
      let address = try address(ofPending: decoder)
      if end < bytes.count, addresses.last != address { addresses.append(address) }
    }
    #expect(frames == [body.count])
    #expect(addresses.count < 40, "The bytes moved \(addresses.count) times in 1954 pieces")
  }

  /// The address of the bytes that a decoder keeps until their message is complete.
  private func address(ofPending decoder: FrameDecoder) throws -> UInt {
    let members = Mirror(reflecting: decoder).children
    let pending = try #require(members.first { $0.label == "pending" }?.value as? [UInt8])
    return unsafe pending.withUnsafeBufferPointer { UInt(bitPattern: $0.baseAddress) }
  }
}
