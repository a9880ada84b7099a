import Testing

/// A word that `Sources` must not contain, and its replacement.
struct BannedWord: Sendable, CustomTestStringConvertible {
  /// The word, for the list of exceptions.
  let word: String
  /// The function that finds the word in code.
  ///
  /// It is a function because a `Regex` is not `Sendable`.
  let isIn: @Sendable (String) -> Bool
  /// The replacement, for the failure message.
  let instead: String

  var testDescription: String { word }

  static let all = [
    BannedWord(
      word: "try?",
      isIn: { $0.contains(/\btry\?/) },
      instead: "handle the error, or say what is lost with orLog(\"…\")"
    ),
    BannedWord(
      word: "try!",
      isIn: { $0.contains("try!") },
      instead: "throw on, or state the invariant with invariant(…)"
    ),
    BannedWord(
      word: "as!",
      isIn: { finds(/\bas!/, $0, hints: "as!") },
      instead: "as? with invariant(…), or a type that needs no cast"
    ),
    BannedWord(
      word: "Date()",
      isIn: { finds(/\bDate(?:\(\)|\.now\b)/, $0, hints: "Date") },
      instead: "take the time as a parameter; it is handed in at the edge"
    ),
    BannedWord(
      word: "UUID()",
      isIn: { finds(/\bUUID\(\)/, $0, hints: "UUID()") },
      instead: "take the identifier as a parameter; it is handed in at the edge"
    ),
    BannedWord(
      word: ".random",
      isIn: {
        finds(
          /\b[A-Z]\w*\.random\(|\.random\((?:in|using):|\.randomElement\(|\.shuffled?\(|\bSystemRandomNumberGenerator\b/,
          $0,
          hints: "andom",
          "shuffle"
        )
      },
      instead: "take a generator as a parameter; chance is handed in at the edge"
    ),
    BannedWord(
      word: "print(",
      isIn: { finds(/(?:^|[^.\w])(?:debugPrint|print|dump)\(/, $0, hints: "rint(", "dump(") },
      instead: "log it, or write it through the owner of standard output: stdout is the protocol's"
    ),
    BannedWord(
      word: "Task.sleep",
      isIn: { finds(/\bTask(?:<.*>)?\.sleep\b/, $0, hints: "sleep") },
      instead: "wait for the event, or for the clock that is handed in"
    ),
    BannedWord(
      word: "usleep",
      isIn: { finds(/(?:^|[^.\w]|Glibc\.)(?:usleep|nanosleep|sleep)\(/, $0, hints: "sleep(") },
      instead: "wait for the event: poll with a timeout, a condition, a timer of the loop"
    ),
    BannedWord(
      word: "Task {",
      isIn: {
        finds(/\bTask(?:\.detached|\.immediate)?\s*(?:\([^)]*\)\s*)?\{/, $0, hints: "Task")
          && !finds(/\b(?:struct|class|enum|extension) Task\b/, $0, hints: "Task")
      },
      instead: "a task group, or a stored handle that is cancelled and awaited, listed here"
    ),
  ]

  /// The files that may contain a word, with the reason; an unused row fails a test.
  ///
  /// For example
  /// `("print(", "Sources/CordialCLI/Tables.swift", "Its output is what was asked for.")`.
  static let exceptions: [(word: String, file: String, why: String)] = [
    (
      ".random", "Sources/Cordial/Saving/UUIDValue+Next.swift",
      "A transaction needs a UUID that no other client has; the program hands in nothing for it."
    ),
    (
      ".random", "Sources/CordialEmbedded/SystemFacts.swift",
      "Here chance comes in; everybody below is handed it."
    ),
    (
      "Task {", "Sources/Cordial/Contexts/Context.swift",
      "It takes changes of the store on the actor of the context, which cancels it at its end."
    ),
    (
      "Task {", "Sources/Cordial/Results/FetchedResults.swift",
      "It takes rows on the actor of the result, which cancels it at its end."
    ),
    (
      "Task {", "Sources/Cordial/Results/ObjectPool.swift",
      "It ends with the turn of the actor in which it sets values; the pool makes one at a time."
    ),
    (
      "Task {", "Sources/CordialEmbedded/Container.swift",
      "It runs a follower, and is cancelled and awaited when the container is closed."
    ),
    (
      "Task {", "Sources/Cordial/Wire/ClientCore.swift",
      "It connects again, and is cancelled when the client is closed."
    ),
  ]
}

/// Returns whether code contains a match; `\b` matches at the edges of identifiers, also at a dot.
///
/// Each call compiles the pattern. The hints avoid this for most lines.
private func finds(_ pattern: Regex<Substring>, _ code: String, hints: String...) -> Bool {
  hints.contains { code.contains($0) } && code.contains(pattern.wordBoundaryKind(.simple))
}

@Suite struct `Words that Sources must not contain` {
  @Test(arguments: BannedWord.all)
  func `a banned word is used only where an exception gives a reason`(banned: BannedWord) {
    for file in Repository.sources where !isExcepted(file.path, banned.word) {
      for (index, line) in file.code.enumerated() where banned.isIn(line) {
        Issue.record("\(file.path):\(index + 1): \(banned.word); \(banned.instead)")
      }
    }
  }

  @Test func `every exception is used and has a reason`() {
    for exception in BannedWord.exceptions {
      let banned = BannedWord.all.first { $0.word == exception.word }
      let file = Repository.sources.first { $0.path == exception.file }
      let isUsed = banned.map { word in file?.code.contains(where: word.isIn) ?? false } ?? false
      #expect(isUsed, "\(exception.word) isn't in \(exception.file): remove the exception")
      #expect(exception.why.hasSuffix("."), "\(exception.word) in \(exception.file): say why")
    }
  }

  @Test func `each pattern finds its word and no similar code`() {
    for (word, found, others) in [
      ("try?", ["try? a()"], ["try a()", "-> Entry?"]),
      ("as!", ["a as! B", "(a as! B)"], ["a as? B", "has!"]),
      ("Date()", ["Date()", "Foundation.Date()", "Date.now"], ["Date(0)", "validDate()", "Date"]),
      ("UUID()", ["UUID()", "UUID().text"], ["UUID(text)", "makeUUID()"]),
      (
        ".random",
        [
          "Int.random(in: a)", "Bool.random()", ".random(in: a)", "a.randomElement()",
          "a.shuffled()",
        ], ["environment.random()", "random.next()", "isRandom", "self.random = random"]
      ),
      (
        "print(", ["print(a)", "  print(a)", "if a { print(b) }"], ["a.print(b)", "fingerprint(a)"]
      ),
      ("Task.sleep", ["try await Task.sleep(for: a)"], ["clock.sleep(until: a)"]),
      ("usleep", ["usleep(1)", "Glibc.sleep(1)"], ["asleep(1)", "clock.sleep(until: a)"]),
      (
        "Task {", ["Task { a }", "Task.detached {", "Task(priority: .low) {"],
        ["struct Task {", "withTask {"]
      ),
    ] {
      guard let banned = BannedWord.all.first(where: { $0.word == word }) else {
        Issue.record("\(word) isn't banned")
        continue
      }
      for line in found { #expect(banned.isIn(line), "\(line)") }
      for line in others { #expect(!banned.isIn(line), "\(line)") }
    }
  }

  @Test(arguments: ["@unchecked Sendable", "nonisolated(unsafe)"])
  func `a concurrency annotation has its reason in a comment on the line above`(promise: String) {
    for file in Repository.sources {
      for (index, line) in file.code.enumerated() where line.contains(promise) {
        #expect(
          file.lineAbove(index).hasPrefix("//"),
          "\(file.path):\(index + 1): say above \(promise) who touches the value, and from where"
        )
      }
    }
  }

  private func isExcepted(_ path: String, _ word: String) -> Bool {
    BannedWord.exceptions.contains { $0.word == word && $0.file == path }
  }
}
