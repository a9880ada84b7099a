import Testing

/// The numbered clauses of the protocol and the tests that are evidence for them.
struct Clauses {
  /// A clause, with its line in the document.
  struct Clause {
    let tag: String
    let line: Int
    var text: String

    var isBuilt: Bool { !text.contains("(not built yet)") }
  }

  /// The clauses that are not built yet, each with the part that is missing.
  ///
  /// A partly built clause is split, so that the built part needs evidence.
  static let notBuilt: [String: String] = [
    "P-020b": "Every int64 value is written as a number.",
    "P-021b": "There is no transport for MCP.",
  ]

  /// The clauses in the order of the text; empty if protocol.md is missing.
  static let defined = parse(TextFile(path: "Protocol/protocol.md")?.lines ?? [])

  /// The lines with evidence, by the tag of the clause.
  static let evidence: [String: [String]] = {
    var found: [String: [String]] = [:]
    let files = Repository.files(in: "Tests/").filter { $0.contains("Evidence:") }
    for file in files where !file.path.hasPrefix("Tests/TidyTests/") {
      for (index, line) in file.lines.enumerated() {
        for tag in tags(line) { found[tag, default: []].append("\(file.path):\(index + 1)") }
      }
    }
    return found
  }()

  /// Returns the clauses of a document; each ends at the next tag or heading.
  static func parse(_ lines: [String]) -> [Clause] {
    var clauses: [Clause] = []
    var isOpen = false
    for (index, line) in lines.enumerated() {
      if let match = line.prefixMatch(of: /\*\*(P-\d+[a-z]?)\*\*/) {
        clauses.append(Clause(tag: String(match.1), line: index + 1, text: line))
        isOpen = true
      } else if line.hasPrefix("#") {
        isOpen = false
      } else if isOpen {
        clauses[clauses.count - 1].text += "\n" + line
      }
    }
    return clauses
  }

  /// The tags that a line names as `Evidence: P-040, P-041`.
  static func tags(_ line: String) -> [String] {
    guard line.contains("Evidence:") else { return [] }
    return line.matches(of: /Evidence:((?:[\s,]*(?:and\s+)?P-\d+[a-z]?)+)/).flatMap { match in
      match.1.matches(of: /P-\d+[a-z]?/).map { String($0.0) }
    }
  }
}

@Suite struct `The session at the beginning of the protocol` {
  @Test func `is the transcript that a test replays`() throws {
    let page = try #require(TextFile(path: "Protocol/protocol.md")).lines
    let transcript = try #require(TextFile(path: "Protocol/transcripts/session.txt")).lines
    let start = try #require(page.firstIndex(of: "## A session"))
    let code = page[start...].drop { $0 != "```" }.dropFirst().prefix { $0 != "```" }
    // The file begins with its title, its model and an empty line.
    let conversation = transcript.dropFirst(3)
    #expect(code.filter { !$0.isEmpty } == conversation.filter { !$0.isEmpty })
    #expect(code.count { $0.contains("-->") } >= 5)
  }
}

@Suite struct `Every clause of the protocol has evidence` {
  private let clauses = Clauses.defined

  @Test func `the protocol has clauses, each with a tag of its own`() {
    #expect(!clauses.isEmpty, "Protocol/protocol.md has no line that begins with **P-NNN**")
    for (tag, same) in Dictionary(grouping: clauses, by: \.tag) where same.count > 1 {
      let lines = same.map { String($0.line) }.joined(separator: " and ")
      Issue.record("Protocol/protocol.md: \(tag) stands on lines \(lines)")
    }
    for clause in clauses where clause.tag.wholeMatch(of: /P-\d{3}[a-z]?/) == nil {
      Issue.record("Protocol/protocol.md:\(clause.line): \(clause.tag) hasn't three digits")
    }
    // Digits come before letters, so that texts of equal beginnings are in the order of numbers.
    for (clause, next) in zip(clauses, clauses.dropFirst()) where next.tag < clause.tag {
      Issue.record("Protocol/protocol.md:\(next.line): \(next.tag) is listed after \(clause.tag)")
    }
    let tags = Set(clauses.map(\.tag))
    for clause in clauses where clause.tag.last?.isLetter == true {
      #expect(
        !tags.contains(String(clause.tag.dropLast())),
        "Protocol/protocol.md:\(clause.line): \(clause.tag) is a part of a clause that has a text"
      )
    }
  }

  @Test func `each piece of evidence names a clause`() {
    let tags = Set(clauses.map(\.tag))
    for (tag, places) in Clauses.evidence where !tags.contains(tag) {
      Issue.record("\(places.joined(separator: ", ")): there is no clause \(tag)")
    }
  }

  @Test func `each clause that is built has evidence`() {
    for clause in clauses where clause.isBuilt && Clauses.evidence[clause.tag] == nil {
      Issue.record(
        "Protocol/protocol.md:\(clause.line): no test says \"Evidence: \(clause.tag)\""
      )
    }
  }

  @Test func `each clause that is not built is listed, and has no evidence`() {
    for clause in clauses where !clause.isBuilt {
      #expect(
        Clauses.notBuilt[clause.tag] != nil,
        "Protocol/protocol.md:\(clause.line): \(clause.tag) is not in the list of this test"
      )
    }
    for (tag, reason) in Clauses.notBuilt {
      #expect(reason.hasSuffix("."), "\(tag): the list says no reason")
      #expect(
        clauses.contains { $0.tag == tag && !$0.isBuilt },
        "\(tag) is listed as not built, which Protocol/protocol.md does not say"
      )
      let places = Clauses.evidence[tag] ?? []
      #expect(
        places.isEmpty,
        "\(places.joined(separator: ", ")): evidence for \(tag), which is listed as not built"
      )
    }
  }
}

@Suite struct `The tidy tests read clauses` {
  @Test func `a clause ends at the next tag or heading`() {
    let clauses = Clauses.parse([
      "# Title", "Before (not built yet).", "**P-001** One.", "More (not built yet).", "",
      "**P-002** Two.", "## Heading", "Between (not built yet).",
      "**P-003a** (not built yet) Three.",
      "See **P-001**.",
    ])
    #expect(clauses.map(\.tag) == ["P-001", "P-002", "P-003a"])
    #expect(clauses.map(\.line) == [3, 6, 9])
    #expect(clauses.map(\.isBuilt) == [false, true, false])
  }

  @Test func `evidence may name several clauses`() {
    #expect(Clauses.tags("// Evidence: P-040") == ["P-040"])
    #expect(Clauses.tags("// Evidence: P-040a, P-040b") == ["P-040a", "P-040b"])
    #expect(Clauses.tags("  // Evidence: P-040, P-041 and P-042.") == ["P-040", "P-041", "P-042"])
    #expect(Clauses.tags("Evidence:P-040 because of P-041") == ["P-040"])
    #expect(Clauses.tags("see P-040") == [])
  }
}
