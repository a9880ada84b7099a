import CordialValues
import TestSeeds
import Testing

@Suite struct `The ID of an object is one string` {
  private func reads(
    _ text: String,
    _ entity: String,
    _ key: ObjectID.Key,
    sourceLocation: SourceLocation = #_sourceLocation
  ) {
    let expected = ObjectID(entity: entity, key: key)
    #expect(ObjectID(text) == expected, "\(text)", sourceLocation: sourceLocation)
    #expect(
      Array(expected.description.utf8) == Array(text.utf8),
      "\(text)",
      sourceLocation: sourceLocation
    )
    #expect(
      ObjectID.isTemporary(text, of: entity) == expected.isTemporary,
      "\(text)",
      sourceLocation: sourceLocation
    )
    #expect(!ObjectID.isTemporary(text, of: entity + "x"), sourceLocation: sourceLocation)
  }

  private func refuses(
    _ texts: [String],
    store: String? = nil,
    sourceLocation: SourceLocation = #_sourceLocation
  ) {
    for text in texts {
      #expect(
        ObjectID(text, store: store) == nil,
        "\(text.debugDescription)",
        sourceLocation: sourceLocation
      )
      #expect(
        !ObjectID.isTemporary(text, of: "Task"),
        "\(text.debugDescription)",
        sourceLocation: sourceLocation
      )
    }
  }

  private let uuid = "0b3c1f9e-5c7e-4a53-9e57-1f2f3a4b5c6d"

  // Evidence: P-030a
  @Test func `p precedes a number from the store`() {
    reads("Task/p1", "Task", .object(1))
    reads("Task/p17", "Task", .object(17))
    reads("T/p9223372036854775807", "T", .object(.max))
    refuses([
      "Task/p", "Task/p01", "Task/p017", "Task/p-1", "Task/p+1", "Task/p 1", "Task/p1 ",
      "Task/p1.0",
      "Task/p1e3", "Task/p0x1", "Task/p1_000", "Task/p9223372036854775808", "Task/p\u{FF11}",
      "Task/p\u{661}", "Task/p1\u{301}", "Task/p1\u{0}", "Task/p1\n", "Task/p17/", "Task/p17/x",
      "Task/p-0", "Task/pa",
    ])
  }

  @Test func `i precedes an integer identity, which may be negative`() {
    reads("Task/i0", "Task", .integer(0))
    reads("Task/i42", "Task", .integer(42))
    reads("Task/i-42", "Task", .integer(-42))
    reads("Task/i9223372036854775807", "Task", .integer(.max))
    reads("Task/i-9223372036854775808", "Task", .integer(.min))
    refuses([
      "Task/i", "Task/i-", "Task/i-0", "Task/i00", "Task/i-01", "Task/i+1", "Task/i--1", "Task/i1-",
      "Task/i9223372036854775808", "Task/i-9223372036854775809", "Task/i\u{2212}1",
    ])
  }

  // Evidence: P-030b
  @Test func `u precedes a UUID in lower case`() {
    reads("Task/u\(uuid)", "Task", .uuid(uuid))
    reads(
      "Task/u00000000-0000-0000-0000-000000000000",
      "Task",
      .uuid("00000000-0000-0000-0000-000000000000")
    )
    refuses([
      "Task/u", "Task/u\(uuid.uppercased())", "Task/u{\(uuid)}", "Task/u\(uuid) ", "Task/u \(uuid)",
      "Task/u\(uuid.dropLast())", "Task/u\(uuid)0", "Task/u0b3c1f9e5c7e4a539e571f2f3a4b5c6d",
      "Task/u0b3c1f9e-5c7e-4a53-9e57-1f2f3a4b5c6g", "Task/u0b3c1f9e-5c7e-4a53-9e571-f2f3a4b5c6d",
      "Task/uurn:uuid:\(uuid)", "Task/u0B3c1f9e-5c7e-4a53-9e57-1f2f3a4b5c6d",
    ])
  }

  // Evidence: P-030b
  @Test func `s precedes text, percent-encoded except unreserved characters`() {
    reads("Task/sabc", "Task", .string("abc"))
    reads("Task/sAZaz09-._~", "Task", .string("AZaz09-._~"))
    reads("Task/s%20", "Task", .string(" "))
    reads("Task/sa%2Fb%3Fc%23d%25e", "Task", .string("a/b?c#d%e"))
    reads("Task/s%C3%A9", "Task", .string("\u{E9}"))
    reads("Task/se%CC%81", "Task", .string("e\u{301}"))
    reads("Task/s%CC%81a", "Task", .string("\u{301}a"))
    reads("Task/s%E7%89%9B%F0%9F%A5%9B", "Task", .string("牛🥛"))
    reads("Task/s%00%0D%0A", "Task", .string("\u{0}\r\n"))
    reads("Task/s%2B%2B", "Task", .string("++"))
    reads("Task/sp17", "Task", .string("p17"))
    refuses([
      // What is not written: unreserved characters encoded, lower-case digits, anything left raw.
      "Task/s%61", "Task/s%2f", "Task/s%c3%a9", "Task/s%C3%a9", "Task/s ", "Task/sa b", "Task/sa/b",
      "Task/sa+b", "Task/s\u{E9}", "Task/se\u{301}", "Task/s\u{212A}", "Task/sa!", "Task/s*",
      "Task/s:",
      "Task/s%7E", "Task/s%2D",
      // What can't be read: digits missing or wrong, bytes that are not UTF-8.
      "Task/s%", "Task/s%2", "Task/s%2G", "Task/s%%", "Task/s% 2", "Task/s%+2", "Task/sa%",
      "Task/s%C3",
      "Task/s%FF", "Task/s%C0%AF", "Task/s%ED%A0%80", "Task/s%F4%90%80%80", "Task/s%u0041",
    ])
  }

  @Test func `t precedes a token of 1 to 64 letters, digits, dashes and underscores`() {
    let longest = String(repeating: "x", count: 64)
    reads("Task/t1", "Task", .temporary("1"))
    reads("Task/tAz09-_", "Task", .temporary("Az09-_"))
    reads("Task/t-", "Task", .temporary("-"))
    reads("Task/t\(longest)", "Task", .temporary(longest))
    refuses([
      "Task/t", "Task/t\(longest)x", "Task/ta.b", "Task/ta b", "Task/ta/b", "Task/t%20", "Task/té",
      "Task/te\u{301}", "Task/ta~b", "Task/t\u{0}", "Task/ta\n",
    ])
  }

  // Evidence: P-030d
  @Test func `anything else is malformed`() {
    refuses([
      "", "/", "Task", "Task/", "/p17", "p17", "Task/17", "Task/P17", "Task/I1", "Task/x17",
      "Task//p17",
      "Task/ p17", "Task\\p17", "Task:p17", "Task/p17?", "Task/p17#", "Task/\u{0}p17", "//p17",
      "null", "Task/é", "Task/\u{301}p17",
    ])
  }

  /// One text for one wrapped ID: a mark that combines with the letter of the form is not swallowed.
  @Test func `a combining mark after the letter of the form is malformed`() {
    for form in ["p1", "i1", "u\(uuid)", "sabc", "tabc"] {
      for mark in ["\u{301}", "\u{200D}", "\u{FE0F}", "\u{20DD}"] {
        refuses(["Task/\(form.prefix(1))\(mark)\(form.dropFirst())"])
      }
    }
  }

  /// It works as a map key in every language, so equality is that of the texts, byte by byte.
  @Test func `two identities are equal exactly when their texts are`() {
    let texts = [
      "Task/p1", "Task/i1", "Task/s1", "Task/t1", "Task/p2", "Group/p1", "task/p1", "Task/s%C3%A9",
      "Task/se%CC%81", "Task/s%C3%85", "Task/s%E2%84%AB", "Task/sA%CC%8A", "Task/s", "Task/i-1",
      "Task/u\(uuid)", "Task/s\(uuid)", "Task/sK", "Task/s%E2%84%AA",
    ]
    #expect(texts.allSatisfy { ObjectID($0) != nil })
    #expect(Set(texts.compactMap { ObjectID($0) }).count == texts.count)
    for first in texts {
      for second in texts {
        #expect((ObjectID(first) == ObjectID(second)) == (first == second), "\(first) \(second)")
      }
    }
  }

  // Evidence: P-030c
  @Test func `a URI names the store too`() {
    let id = ObjectID(entity: "Task", key: .object(17))
    #expect(ObjectID("cordial://5e1f/Task/p17", store: "5e1f") == id)
    #expect(ObjectID("Task/p17", store: "5e1f") == id)
    #expect(
      ObjectID("cordial://5e1f/Task/sa%2Fb", store: "5e1f")
        == ObjectID(entity: "Task", key: .string("a/b"))
    )
    refuses(
      [
        "cordial://other/Task/p17", "cordial://5e1/Task/p17", "cordial://5e1f0/Task/p17",
        "cordial:///Task/p17", "cordial://Task/p17", "cordial://5e1f/Task", "cordial://5e1f/",
        "cordial://5e1f", "cordial://5e1f//p17", "cordial:/5e1f/Task/p17", "http://5e1f/Task/p17",
        "cordial://5e1f/cordial://5e1f/Task/p17", "cordial://5e1f/Task/p17/",
        "cordial://5e1f/Task/p017",
        "cordial://5e1f\u{301}/Task/p17", "cordial://5e1f/\u{301}Task/p\u{301}17",
      ],
      store: "5e1f"
    )
    refuses(["cordial://5e1f/Task/p17", "cordial:///Task/p17"])
  }

  @Test(arguments: Seeds.first(50))
  func `what is written reads back, and what is read writes back`(seed: UInt64) {
    var random = SplitMix64(seed: seed)
    for _ in 0..<40 {
      let id = ObjectID(entity: random.pick(["Task", "T", "Größe", "_x9"]), key: .random(&random))
      let text = id.description
      #expect(ObjectID(text) == id, "\(Seeds.repeating(seed))")
      #expect(ObjectID("cordial://s/\(text)", store: "s") == id, "\(Seeds.repeating(seed))")

      var bytes = Array(text.utf8)
      bytes[random.below(bytes.count)] = UInt8(random.below(128))
      let changed = String(decoding: bytes, as: UTF8.self)
      #expect(
        ObjectID.isTemporary(changed, of: id.entity)
          == (ObjectID(changed).map { $0.isTemporary && $0.entity == id.entity } ?? false),
        "\(Seeds.repeating(seed))"
      )
      if let read = ObjectID(changed) {
        #expect(read.description.utf8.elementsEqual(changed.utf8), "\(Seeds.repeating(seed))")
      }
    }
  }
}

extension ObjectID.Key {
  fileprivate static func random(_ random: inout SplitMix64) -> ObjectID.Key {
    func token(_ length: Int, _ alphabet: String) -> String {
      String((0..<length).map { _ in random.pick(Array(alphabet)) })
    }
    switch random.below(5) {
    case 0: return .object(Int64(random.next() >> UInt64(1 + random.below(62))) | 1)
    case 1: return .integer(Int64(bitPattern: random.next()) >> Int64(random.below(64)))
    case 2:
      return .uuid([8, 4, 4, 4, 12].map { token($0, "0123456789abcdef") }.joined(separator: "-"))
    case 3: return .string(token(random.below(20), "aZ09-._~ /%?#+&=é牛🥛\u{301}\u{0}\n\"'"))
    default: return .temporary(token(1 + random.below(64), "azAZ09-_"))
    }
  }
}
