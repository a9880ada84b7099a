import CordialValues
import Foundation
import Spotlight
import Synchronization
import TestSeeds
import TestStores
import Testing

@Suite struct `Synonyms` {
  private static func model(_ synonyms: String) -> String {
    TestIndex.model.replacing(
      #""attributes": {"title": 2, "body": 1}}"#,
      with: #""attributes": {"title": 2, "body": 1}, "synonyms": \#(synonyms)}"#
    )
  }

  /// Returns the hits that have all words, as the number of the note and of its class.
  private static func found(_ query: String, in index: TestIndex) throws -> [String] {
    try index.result(query, match: .forgiving, fuzzy: true).hits
      .filter { $0.hitClass.rawValue <= 2 }
      .map { "\($0.key.object) \($0.hitClass.rawValue)" }
  }

  // Evidence: P-091g, P-111g
  @Test func `of a model are found in its directions and attributes`() async throws {
    let index = try TestIndex(
      model: Self.model(
        """
        [["photo", "picture", "still life"], {"from": ["tv", "Télé"], "to": ["television set"]},
         {"words": ["car", "auto"], "attributes": ["title"]}, ["picture", "drawing"],
         ["wi-fi", "wireless network"]]
        """
      )
    )
    index.commit([
      1: (body: "a photo", title: nil), 2: (body: "the Picture", title: nil),
      3: (body: "a still life", title: nil), 4: (body: "still no life", title: nil),
      5: (body: "the television set", title: nil), 6: (body: "an old tv", title: nil),
      7: (body: "auto", title: nil), 8: (body: nil, title: "auto"),
      9: (body: "drawing", title: nil), 10: (body: "wifi", title: nil),
      11: (body: "a wireless network", title: nil),
    ])
    #expect(await index.catchUp())
    func found(_ query: String) throws -> [String] { try Self.found(query, in: index).sorted() }
    #expect(try found("photo") == ["1 1", "2 2", "3 2"])
    // A synonym does not find its own synonyms.
    #expect(try found("picture") == ["1 2", "2 1", "3 2", "9 2"])
    #expect(try found("still life") == ["1 2", "2 2", "3 1", "4 1"])
    #expect(try found("PHOTO a") == ["1 1", "3 2"])
    #expect(try found("télé") == ["5 2"])
    #expect(try found("old tv") == ["6 1"])
    #expect(try found("television set") == ["5 1"])
    #expect(try found("car") == ["8 2"])
    #expect(try found("Wi-Fi") == ["10 1", "11 2"])
    #expect(try found("wireless network") == ["10 2", "11 1"])
    // What a person writes as an operator stays exact.
    #expect(try found("\"photo\"") == ["1 1"])
    #expect(try found("body:photo") == ["1 1"])
    #expect(try found("picture -photo") == ["2 1", "3 2", "9 2"])
    #expect(try index.result("photo").hits.map(\.key.object) == [1])
  }

  // Evidence: P-111h
  @Test func `of a file are read whenever it changes`() async throws {
    let index = try TestIndex()
    index.commit([1: (body: "alpha", title: nil), 2: (body: "beta", title: nil)])
    #expect(await index.catchUp())
    let path = index.folder.path + "/synonyms.txt"
    func write(_ text: String) throws { try Data(text.utf8).write(to: URL(filePath: path)) }
    func found(_ query: String) throws -> [String] { try Self.found(query, in: index) }
    #expect(try found("gamma") == [])
    #expect(index.index.synonyms.status == nil)
    try write("\u{FEFF}# Greek\r\n\r\n gamma , ALPHA \r\ndelta=>beta")
    #expect(try found("gamma") == ["1 2"])
    #expect(try found("delta") == ["2 2"])
    #expect(try found("beta") == ["2 1"])
    #expect(index.index.synonyms.status?.lists == 2)
    try write("gamma, alpha, beta\nalpha, gamma\nbeta, gamma\n")
    #expect(try Set(found("gamma")) == ["1 2", "2 2"])
    for (text, problem) in [
      ("gamma, beta\ngamma", "Line 2 has a single word"), ("a => b => c", "Line 1 has two arrows"),
      ("gamma,,beta", "Line 1: A word or phrase must have a letter"),
      ("gamma =>", "Line 1: A word or phrase must have a letter"),
      ("gamma, \(String(repeating: "é", count: 101))", "at most 200 bytes, not 202"),
      (
        (0...1000).map { "w\($0)" }.joined(separator: ","), "A list has at most 1000 words"
      ),
    ] {
      try write(text)
      #expect(try found("gamma") == [], "\(text)")
      let status = try #require(index.index.synonyms.status)
      #expect(status.lists == 0 && status.problem?.contains(problem) == true, "\(status)")
    }
    try Data([0x67, 0xFF, 0x2C, 0x61]).write(to: URL(filePath: path))
    #expect(try found("gamma") == [])
    #expect(index.index.synonyms.status?.problem == "The file is not UTF-8")
    try FileManager.default.removeItem(atPath: path)
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
    #expect(try found("gamma") == [])
    #expect(index.index.synonyms.status?.problem == "It is not a file, or is hidden")
    try FileManager.default.removeItem(atPath: path)
    #expect(try found("alpha") == ["1 1"])
    #expect(index.index.synonyms.status == nil)
  }

  /// A circle of all words, and more synonyms of one word than count.
  // Evidence: P-091g, P-111h
  @Test func `may be 100,000 lists`() async throws {
    let index = try TestIndex()
    index.commit([
      1: (body: "w99999", title: nil), 2: (body: "w1", title: nil), 3: (body: "w50060", title: nil),
    ])
    for number in 0..<60 as Range<Int64> {
      index.commit([100 + number: (body: "w\(50_000 + number)", title: nil)])
    }
    #expect(await index.catchUp())
    var lines = (0..<100_000).map { "w\($0), w\(($0 + 1) % 100_000)" }
    lines.append("many => " + (0..<900).map { "w\(49_500 + $0)" }.joined(separator: ", "))
    let path = index.folder.path + "/synonyms.txt"
    try Data(lines.joined(separator: "\n").utf8).write(to: URL(filePath: path))
    func synonyms(of query: String) throws -> [Int64] {
      try index.result(query, match: .forgiving).hits.filter { $0.hitClass == .forms }
        .map(\.key.object).sorted()
    }
    #expect(try synonyms(of: "w0") == [1, 2])
    // The first 50 that objects have.
    #expect(try synonyms(of: "many") == (100..<150).map { $0 })
    #expect(index.index.synonyms.status?.lists == 100_001)
  }

  // Evidence: P-091g
  @Test func `of a word that may be divided stand for the whole word`() async throws {
    let index = try TestIndex(
      model: Self.model(
        """
        [["houseboat", "barge"], ["x-ray", "radiograph"], ["東京", "tokyo"],
         ["tv", "television"], ["TV", "television"], ["tv", "telly"]]
        """
      )
    )
    index.commit([
      1: (body: "My house and my boat", title: nil), 2: (body: "Barge food", title: nil),
      3: (body: "Radiograph machine", title: nil), 4: (body: "in Tokyo", title: nil),
      5: (body: "東京都", title: nil), 6: (body: "telly", title: nil),
    ])
    #expect(await index.catchUp())
    #expect(try Self.found("houseboat", in: index) == ["2 2"])
    let mistaken = try index.result("x-ray machne", match: .forgiving, fuzzy: true)
    #expect(mistaken.hits.map { "\($0.key.object) \($0.hitClass.rawValue)" } == ["3 3"])
    #expect(try Self.found("東京", in: index) == ["5 1", "4 2"])
    #expect(try Self.found("tokyo", in: index) == ["4 1", "5 2"])
    #expect(try Self.found("tv", in: index) == ["6 2"])
  }

  /// Synonyms of an entity without texts are in no text, and equal ones take one place.
  // Evidence: P-091g, P-111g
  @Test func `of no text, and the same ones again, change nothing`() async throws {
    let index = try TestIndex(
      model: TestIndex.model.replacing(
        #"{"name": "Plain", "#,
        with: #"{"name": "Plain", "spotlight": {"synonyms": [["photo", "picture"]]}, "#
      )
    )
    index.commit([1: (body: "picture", title: nil), 2: (body: "telly", title: nil)])
    #expect(await index.catchUp())
    #expect(try Self.found("photo", in: index) == [])
    let lines = Array(repeating: "tv, television", count: 60) + ["tv, telly"]
    let path = index.folder.path + "/synonyms.txt"
    try Data(lines.joined(separator: "\n").utf8).write(to: URL(filePath: path))
    #expect(try Self.found("tv", in: index) == ["2 2"])
  }

  /// The digest tells a client that resumes whether a search finds the same as before.
  // Evidence: P-084b, P-111f
  @Test func `and languages of texts have a digest`() async throws {
    func digest(_ model: String, file: String? = nil) async throws -> String {
      let index = try TestIndex(model: model)
      index.commit([1: (body: "flies", title: nil)])
      #expect(await index.catchUp())
      if let file {
        let path = index.folder.path + "/synonyms.txt"
        try Data(file.utf8).write(to: URL(filePath: path))
      }
      _ = try Self.found("fly", in: index)
      return try #require(index.index.synonyms.loadedDigest)
    }
    func model(_ language: String) -> String {
      TestIndex.model.replacing(
        #""body", "type": "string""#,
        with: #""body", "type": "string", "language": "\#(language)""#
      )
    }
    #expect(try await digest(TestIndex.model) == "")
    let digests = [
      try await digest(model("en")), try await digest(model("de")),
      try await digest(Self.model(#"[["a", "b"]]"#)),
      try await digest(Self.model(#"[["b", "a"]]"#)),
      try await digest(Self.model(#"[{"words": ["a", "b"], "attributes": ["title"]}]"#)),
      try await digest(TestIndex.model, file: "a, b"),
      try await digest(TestIndex.model, file: "a, c"), try await digest(model("en"), file: "a, b"),
    ]
    #expect(Set(digests).count == digests.count && !digests.contains(""))
    #expect(try await digest(TestIndex.model, file: "a") == "")
    #expect(try await digest(model("en")) == digests[0])
  }

  /// Each word has many long synonyms, alone and with its neighbours.
  // Evidence: P-091g
  @Test func `have at most so many words in one query`() async throws {
    let index = try TestIndex()
    let phrases = (0..<60).map { "a\($0) b\($0) c\($0)" }
    index.commit([
      1: (body: phrases.joined(separator: ". "), title: nil), 2: (body: "w1 w2 w3", title: nil),
    ])
    #expect(await index.catchUp())
    let words = (1...24).map { "w\($0)" }
    var lines: [String] = []
    for start in words.indices {
      for end in start..<min(start + 8, words.count) {
        lines.append(
          words[start...end].joined(separator: " ") + " => " + phrases.joined(separator: ",")
        )
      }
    }
    let path = index.folder.path + "/synonyms.txt"
    try Data(lines.joined(separator: "\n").utf8).write(to: URL(filePath: path))
    // The first words take the room: 50 synonyms of three words for the first one.
    #expect(try Self.found("w1", in: index) == ["2 1", "1 2"])
    #expect(try Self.found(words.joined(separator: " "), in: index) == [])
    let big = lines.map { $0 + "\n" }.joined()
    #expect(index.index.synonyms.status?.lists == lines.count && big.utf8.count > 100_000)
    // A list of 1,000 words is kept once, whatever it says of each of them.
    let list = (0..<1000).map { "v\($0)" }.joined(separator: ",")
    let many = Array(repeating: list, count: 250).joined(separator: "\n")
    try Data(many.utf8).write(to: URL(filePath: path), options: .atomic)
    #expect(try Self.found("v7", in: index) == [])
    #expect(index.index.synonyms.status?.lists == 250)
    try Data((many + "\n" + list).utf8).write(to: URL(filePath: path), options: .atomic)
    #expect(try Self.found("v7", in: index) == [])
    let problem = index.index.synonyms.status?.problem
    #expect(problem?.hasPrefix("Line 251: A file has at most 200000 lists") == true)
  }

  /// The synonyms are the present ones, also in the past.
  // Evidence: P-111h, P-090b
  @Test(arguments: Seeds.first(6))
  func `find what the lists say, now and in the past`(seed: UInt64) async throws {
    var random = SplitMix64(seed: seed)
    let words = ["sun", "moon", "star", "sky", "sea", "ice"]
    let index = try TestIndex()
    #expect(await index.catchUp())
    for _ in 0..<30 {
      let number = Int64(1 + random.below(8))
      let text = (0...random.below(4)).map { _ in random.pick(words) }.joined(separator: " ")
      let gone: (body: String?, title: String?)? = nil
      index.commit([number: random.oneIn(5) ? gone : (body: text, title: nil)])
      #expect(await index.catchUp())
    }
    let pasts = index.library.state.withLock(\.pasts)
    let path = index.folder.path + "/synonyms.txt"
    for _ in 0..<20 {
      var lists: [(from: [String], to: [String])] = []
      for _ in 0...random.below(3) {
        func phrases() -> [String] {
          (0...random.below(2)).map { _ in
            (0...random.below(2)).map { _ in random.pick(words) }.joined(separator: " ")
          }
        }
        let (first, second) = (phrases(), phrases())
        lists.append(
          first != second && random.oneIn(2) ? (first, second) : (first + second, first + second)
        )
      }
      let lines = lists.map { list in
        list.from == list.to
          ? list.from.joined(separator: ", ")
          : "\(list.from.joined(separator: ",")) => \(list.to.joined(separator: ", "))"
      }
      // A new file at the path differs from the former one, whatever its size and time.
      let text = Data(lines.joined(separator: "\n").utf8)
      try text.write(to: URL(filePath: path), options: .atomic)
      let query = (0...random.below(2)).map { _ in random.pick(words) }
      let commit = random.below(pasts.count)
      let isNow = random.oneIn(2)
      let documents = pasts[isNow ? pasts.count - 1 : commit]
      let result = try index.result(
        query.joined(separator: " "),
        match: .forgiving,
        asOf: isNow || commit == pasts.count - 1 ? nil : commit
      )
      let found = result.hits.filter { $0.hitClass.rawValue <= 2 }.map(\.key.object)
      let wanted = documents.filter { _, texts in
        let text = (texts.compactMap(\.self).first ?? "").split(separator: " ").map(String.init)
        return Self.matches(query, text, lists)
      }
      let note: Comment = "\(query) by \(lines) at \(commit). \(Seeds.repeating(seed))"
      #expect(Set(found) == Set(wanted.keys.map(\.object)), note)
    }
  }

  /// Returns whether a text has each word of a query, as it was typed or by a synonym of a run of
  /// words that includes it.
  private static func matches(
    _ query: [String],
    _ text: [String],
    _ lists: [(from: [String], to: [String])]
  ) -> Bool {
    func has(_ phrase: String) -> Bool {
      text.firstRange(of: phrase.split(separator: " ").map(String.init)) != nil
    }
    return query.indices.allSatisfy { index in
      if text.contains(query[index]) { return true }
      for start in 0...index {
        for end in index..<query.count {
          let run = query[start...end].joined(separator: " ")
          let targets = lists.filter { $0.from.contains(run) }.flatMap(\.to)
          if targets.contains(where: { $0 != run && has($0) }) { return true }
        }
      }
      return false
    }
  }
}
