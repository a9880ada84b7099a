import TestSeeds

/// Changes of valid messages: of their bytes, their JSON values, and their headers.
struct FuzzMutator {
  var random: SplitMix64

  /// Changes a message once or a few times.
  ///
  /// - Parameters:
  ///   - message: A valid message.
  ///   - other: Another one, of which pieces are taken.
  /// - Returns: The changed message.
  mutating func mutate(_ message: [UInt8], with other: [UInt8]) -> [UInt8] {
    var bytes = message
    for _ in 0..<1 + random.below(random.oneIn(4) ? 6 : 2) {
      if random.oneIn(3) {
        changeBytes(&bytes)
      } else {
        changeValue(&bytes, other)
      }
    }
    return bytes
  }

  // MARK: Bytes

  private mutating func changeBytes(_ bytes: inout [UInt8]) {
    guard !bytes.isEmpty else { return }
    let place = random.below(bytes.count)
    let end = min(bytes.count, place + 1 + random.below(random.oneIn(8) ? 200 : 8))
    switch random.below(7) {
    case 0: bytes[place] ^= 1 << UInt8(random.below(8))
    case 1: bytes[place] = UInt8(truncatingIfNeeded: random.next())
    case 2: bytes.removeSubrange(place..<end)
    case 3: bytes.insert(contentsOf: bytes[place..<end], at: random.below(bytes.count))
    case 4: bytes.insert(contentsOf: random.pick(Self.pieces), at: place)
    case 5: bytes.removeSubrange(end...)
    default:
      bytes.insert(contentsOf: (0..<end - place).map { _ in UInt8(random.below(256)) }, at: place)
    }
  }

  /// Bytes that a reader of JSON, UTF-8, predicates or frames may stumble over.
  private static let pieces: [[UInt8]] =
    [
      "\"", "\\", "{", "}", "[", "]", ",", ":", "\n", "\r\n", "\\u0000", "\\ud800", "\\udc00", "'",
      "\u{FEFF}", " AND ", " OR ", "(", ")", "%@", "$x", "#", "SUBQUERY(", ".@count", "-", "e999",
      "\u{0}", "/p", "%2F", "%", "/t1", "cordial://", "nil", "@expression",
    ].map { Array($0.utf8) } + [[0xFF], [0xC0, 0x80], [0xED, 0xA0, 0x80], [0xF4, 0x90]]

  // MARK: Values

  private mutating func changeValue(_ bytes: inout [UInt8], _ other: [UInt8]) {
    let values = Self.values(bytes)
    guard !values.isEmpty else { return }
    let value = values[random.below(values.count)]
    switch random.below(10) {
    case 0, 1, 2: bytes.replaceSubrange(value, with: random.pick(Self.constants))
    case 3: bytes.replaceSubrange(value, with: number())
    case 4:
      let others = Self.values(other)
      guard !others.isEmpty else { return }
      bytes.replaceSubrange(value, with: other[others[random.below(others.count)]])
    case 5: bytes.replaceSubrange(value, with: bytes[values[random.below(values.count)]])
    case 6: nest(&bytes, value)
    case 7: bytes.replaceSubrange(value, with: text())
    case 8: repeatElement(&bytes, value)
    default:
      // A member more, with a name of the protocol, before another.
      guard let brace = bytes[..<value.lowerBound].lastIndex(of: UInt8(ascii: "{")) else { return }
      let member = "\"\(random.pick(Self.names))\":"
      let text = Array(member.utf8) + random.pick(Self.constants) + [UInt8(ascii: ",")]
      bytes.insert(contentsOf: text, at: brace + 1)
    }
  }

  private mutating func number() -> [UInt8] {
    switch random.below(4) {
    case 0: Array("\(Int64(truncatingIfNeeded: random.next()))".utf8)
    case 1: Array("\(Double(bitPattern: random.next()))".utf8)
    case 2: Array("\(1 << random.below(63))".utf8)
    default: Array("-\(random.below(1000))".utf8)
    }
  }

  private mutating func text() -> [UInt8] {
    let count = random.oneIn(40) ? 200_000 : random.below(3000)
    let piece = random.pick(["x", "日", "\\u0001", "(", "NOT ", "a.", "[", "title == 1 OR "])
    return Array(("\"" + String(repeating: piece, count: count / piece.utf8.count) + "\"").utf8)
  }

  /// Puts a value inside of many arrays or objects.
  private mutating func nest(_ bytes: inout [UInt8], _ value: Range<Int>) {
    let depth = random.pick([1, 2, 20, 120, 127, 128, 129, 5000])
    let isArray = random.oneIn(2)
    let before = Array(String(repeating: isArray ? "[" : #"{"a":"#, count: depth).utf8)
    let after = [UInt8](repeating: UInt8(ascii: isArray ? "]" : "}"), count: depth)
    let inner = Array(bytes[value])
    bytes.replaceSubrange(value, with: before + inner + after)
  }

  private mutating func repeatElement(_ bytes: inout [UInt8], _ value: Range<Int>) {
    let count = random.oneIn(30) ? 5000 : 1 + random.below(50)
    guard value.count * count < 1 << 20 else { return }
    let element = Array(bytes[value]) + [UInt8(ascii: ",")]
    let all = [[UInt8]](repeating: element, count: count).joined().dropLast()
    bytes.replaceSubrange(value, with: [UInt8(ascii: "[")] + all + [UInt8(ascii: "]")])
  }

  private static let constants: [[UInt8]] = [
    "null", "true", "false", "0", "-1", "1", "\"\"", "[]", "{}", "[[]]", "[null]", "{\"\":null}",
    "1e400", "-0.0", "9223372036854775807", "9223372036854775808", "-9223372036854775808",
    "\"Item/p1\"", "\"Thing/t1\"", "\"Tag/s\"", "\"Tag/s%F0%9F\"", "\"*\"", "\"\\u0000\"",
    "\"Nope\"", "\"title\"", "\"-title:localized\"", "\"a.b.c.d\"", "\"tags.@count\"",
    "{\"@add\":[],\"@remove\":[]}", "{\"@expression\":\"rank / 0\"}", "\"TRUEPREDICATE\"",
    "\"2026-02-30T00:00:00Z\"", "\"0001-01-01T00:00:00.000Z\"", "\"99999-01-01T00:00:00Z\"",
    "\"AAAA\"", "\"A===\"", "\"00000000-0000-0000-0000-000000000000\"", "0.1e-400",
  ].map { Array($0.utf8) }

  private static let names = [
    "ids", "entity", "predicate", "arguments", "sort", "limit", "offset", "select", "after",
    "include", "groupBy", "having", "distinct", "result", "total", "at", "insert", "update",
    "delete", "values", "version", "mergePolicy", "transaction", "set", "dryRun", "returning",
    "fetch", "mode", "key", "since", "query", "prefix", "objects", "id", "method", "params",
    "jsonrpc", "_meta", "workDoneToken", "box", "things", "tags", "title", "rank", "extra", "@add",
  ]

  /// Where values are: strings, numbers, words, and whole arrays and objects; names are values too.
  static func values(_ bytes: [UInt8]) -> [Range<Int>] {
    var found: [Range<Int>] = []
    var open: [Int] = []
    var place = 0
    while place < bytes.count {
      let start = place
      switch bytes[place] {
      case UInt8(ascii: "\""):
        place += 1
        while place < bytes.count, bytes[place] != UInt8(ascii: "\"") {
          place += bytes[place] == UInt8(ascii: "\\") ? 2 : 1
        }
        place = min(bytes.count, place + 1)
        found.append(start..<place)
      case UInt8(ascii: "{"), UInt8(ascii: "["):
        open.append(place)
        place += 1
      case UInt8(ascii: "}"), UInt8(ascii: "]"):
        place += 1
        if let begin = open.popLast() { found.append(begin..<place) }
      case 0x2B...0x39, 0x61...0x7A:
        while place < bytes.count, isWord(bytes[place]) { place += 1 }
        if place == start { place += 1 } else { found.append(start..<place) }
      default: place += 1
      }
    }
    return found
  }

  private static func isWord(_ byte: UInt8) -> Bool {
    switch byte {
    case 0x30...0x39, 0x61...0x7A, UInt8(ascii: "E"), 0x2B, 0x2D, 0x2E: true
    default: false
    }
  }

  // MARK: Headers

  /// A frame whose header is wrong, or unusual.
  mutating func header(_ body: [UInt8]) -> [UInt8] {
    let count = body.count
    let headers = [
      "Content-Length: \(count + 1 + random.below(50))\r\n\r\n", "Content-Length: -1\r\n\r\n",
      "Content-Length: \(max(0, count - 1 - random.below(50)))\r\n\r\n",
      "Content-Length: 0\r\n\r\n", "Content-Length: 18446744073709551616\r\n\r\n",
      "Content-Length: 67108865\r\n\r\n", "Content-Length: 9223372036854775807\r\n\r\n",
      "Content-Length:\(count)\r\nContent-Length: \(count + 1)\r\n\r\n", "Content-Length\r\n\r\n",
      "content-length: \(count)\r\nX-Y: \(String(repeating: "z", count: 9000))\r\n\r\n",
      "Content-Length: \(count)\n\n", "\r\n\r\n", "Content-Length: 0x10\r\n\r\n", "{\n",
      "CONTENT-LENGTH:   \(count)  \r\nContent-Type: text/plain; charset=latin1\r\n\r\n",
      String(repeating: "A: b\r\n", count: 40) + "Content-Length: \(count)\r\n\r\n",
    ]
    return Array(random.pick(headers).utf8) + body
  }
}
