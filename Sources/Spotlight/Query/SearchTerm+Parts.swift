/// The parts of a term, for searches that allow typing mistakes.
extension SearchQuery.Term {
  /// The words of the term, each as a term: `dselect` and `에서` of `dselect에서`.
  ///
  /// Letters of scripts without spaces stay together. A term in quotes has no parts.
  var parts: [SearchQuery.Term] {
    guard !isQuoted, let tokens = phrases.first else { return [] }
    var texts: [String] = []
    var isRun = false
    for token in tokens {
      let isSingle = Tokens.start(of: token) != nil
      if isSingle, isRun, let last = texts.popLast() {
        texts.append(last + token)
      } else {
        texts.append(token)
      }
      isRun = isSingle
    }
    return texts.indices.map { index in
      SearchQuery.Term(
        text: texts[index],
        column: column,
        isPrefix: isPrefix && index == texts.count - 1
      )
    }
  }

  /// The letters of a term that is one run of a script without spaces; otherwise empty.
  private var letters: [String] {
    guard !isQuoted, phrases.count == 1, phrases[0].allSatisfy({ Tokens.start(of: $0) != nil })
    else { return [] }
    return phrases[0]
  }

  /// The phrases that a person may have meant by a run of letters.
  ///
  /// Some have two successive letters exchanged. The others are the two halves of the run, because
  /// a typing mistake leaves one half intact.
  var meantRuns: [Form] {
    let letters = letters
    guard letters.count >= Self.lettersMin, letters.count <= Self.lettersMax else { return [] }
    let exchanged = (1..<letters.count).map { index in
      var letters = letters
      letters.swapAt(index - 1, index)
      return Form(tokens: letters, mistakes: 1, kind: .mistake)
    }
    let half = max(2, letters.count / 2)
    return exchanged + [
      Form(tokens: Array(letters.prefix(half)), mistakes: 2, kind: .mistake),
      Form(tokens: Array(letters.suffix(half)), mistakes: 2, kind: .mistake),
    ]
  }

  /// The minimum and maximum count of letters in a run whose typing mistakes are searched.
  private static let (lettersMin, lettersMax) = (4, 16)
}
