import Testing

/// A phrase that is unclear in every context, and what to write instead.
struct UnclearPhrase: Sendable, CustomTestStringConvertible {
  let phrase: String
  let instead: String

  var testDescription: String { phrase }

  static let all = [
    UnclearPhrase(phrase: "whoever", instead: "name the caller, the client or the waiter"),
    UnclearPhrase(phrase: "leads to", instead: "references, refers to"),
    UnclearPhrase(phrase: "leads nowhere", instead: "dangles"),
    UnclearPhrase(phrase: "lead to an object", instead: "reference an object"),
    UnclearPhrase(phrase: "makes anew", instead: "rebuilds"),
    UnclearPhrase(phrase: "made anew", instead: "rebuilt"),
    UnclearPhrase(phrase: "goes over to", instead: "migrates to"),
    UnclearPhrase(phrase: "came and went", instead: "was inserted and deleted"),
    UnclearPhrase(phrase: "comes and goes", instead: "is inserted and deleted"),
    UnclearPhrase(phrase: "cut loose", instead: "nullified"),
    UnclearPhrase(phrase: "taken along", instead: "cascaded"),
    UnclearPhrase(phrase: "others than", instead: "name what they are, or are not"),
    UnclearPhrase(phrase: "another one than", instead: "differs from"),
    UnclearPhrase(phrase: "is another", instead: "differs, is a different …"),
    UnclearPhrase(phrase: "nobody's", instead: "without an author, without an owner"),
  ]
}

@Suite struct `Plain English` {
  @Test(arguments: UnclearPhrase.all)
  func `an unclear phrase is in no source, document or test`(unclear: UnclearPhrase) {
    let files = Repository.files(kinds: ["swift", "md", "c", "h", "sh"]).filter {
      $0.path != "Tests/TidyTests/PlainEnglishTests.swift"
    }
    #expect(!files.isEmpty)
    for file in files where file.contains(unclear.phrase, ignoringCase: true) {
      for (index, line) in file.lines.enumerated()
      where line.lowercased().contains(unclear.phrase) {
        Issue.record("\(file.path):\(index + 1): \"\(unclear.phrase)\"; \(unclear.instead)")
      }
    }
  }
}
