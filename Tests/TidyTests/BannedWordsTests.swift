import Testing

/// A word that `Sources` must not contain, and its replacement.
struct BannedWord: Sendable, CustomTestStringConvertible {
  /// The word, for the list of exceptions.
  let word: String
  /// Texts of which each line with the word contains one; a pattern is compiled for these lines
  /// only.
  let hints: [String]
  /// The function that finds the word in code with a hint.
  ///
  /// It is a function because a `Regex` is not `Sendable`.
  private let matches: @Sendable (String) -> Bool
  /// The replacement, for the failure message.
  let instead: String

  var testDescription: String { word }

  static let all = [
    BannedWord(
      word: "try?",
      hints: ["try?"],
      matches: { finds(/\btry\?/, $0) },
      instead: "handle the error, or say what is lost with orLog(\"…\")"
    ),
    BannedWord(
      word: "try!",
      hints: ["try!"],
      matches: { _ in true },
      instead: "throw on, or state the invariant with invariant(…)"
    ),
    BannedWord(
      word: "as!",
      hints: ["as!"],
      matches: { finds(/\bas!/, $0) },
      instead: "as? with invariant(…), or a type that needs no cast"
    ),
    BannedWord(
      word: "Date()",
      hints: ["Date"],
      matches: { finds(/\bDate(?:\(\)|\.now\b)/, $0) },
      instead: "take the time as a parameter; it is handed in at the edge"
    ),
    BannedWord(
      word: "UUID()",
      hints: ["UUID()"],
      matches: { finds(/\bUUID\(\)/, $0) },
      instead: "take the identifier as a parameter; it is handed in at the edge"
    ),
    BannedWord(
      word: ".random",
      hints: ["andom", "shuffle"],
      matches: {
        finds(
          /\b[A-Z]\w*\.random\(|\.random\((?:in|using):|\.randomElement\(|\.shuffled?\(|\bSystemRandomNumberGenerator\b/,
          $0
        )
      },
      instead: "take a generator as a parameter; chance is handed in at the edge"
    ),
    BannedWord(
      word: "print(",
      hints: ["rint(", "dump("],
      matches: { finds(/(?:^|[^.\w])(?:debugPrint|print|dump)\(/, $0) },
      instead: "log it, or write it through the owner of standard output: stdout is the protocol's"
    ),
    BannedWord(
      word: "Task.sleep",
      hints: ["sleep"],
      matches: { finds(/\bTask(?:<.*>)?\.sleep\b/, $0) },
      instead: "wait for the event, or for the clock that is handed in"
    ),
    BannedWord(
      word: "usleep",
      hints: ["sleep("],
      matches: { finds(/(?:^|[^.\w]|Glibc\.)(?:usleep|nanosleep|sleep)\(/, $0) },
      instead: "wait for the event: poll with a timeout, a condition, a timer of the loop"
    ),
    BannedWord(
      word: "Task {",
      hints: ["Task"],
      matches: {
        finds(/\bTask(?:\.detached|\.immediate)?\s*(?:\([^)]*\)\s*)?\{/, $0)
          && !finds(/\b(?:struct|class|enum|extension) Task\b/, $0)
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
      ".random", "Sources/Engine/SystemFacts.swift",
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

extension BannedWord {
  /// Returns whether a line of code contains the word.
  func isIn(_ code: String) -> Bool { hints.contains { code.contains($0) } && matches(code) }

  /// Returns whether a file may contain the word, be it in a comment.
  func mayBeIn(_ file: TextFile) -> Bool { hints.contains { file.contains($0) } }
}

/// Returns whether code contains a match; `\b` matches at the edges of identifiers, also at a dot.
private func finds(_ pattern: Regex<Substring>, _ code: String) -> Bool {
  code.contains(pattern.wordBoundaryKind(.simple))
}

@Suite struct `Words that Sources must not contain` {
  @Test(arguments: BannedWord.all)
  func `a banned word is used only where an exception gives a reason`(banned: BannedWord) {
    let files = Repository.sources.filter(banned.mayBeIn)
    for file in files where !isExcepted(file.path, banned.word) {
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
    for file in Repository.sources where file.contains(promise) {
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
