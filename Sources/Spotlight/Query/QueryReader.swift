/// A reader that splits a query into words and phrases, by code points.
struct QueryReader {
  enum Item {
    case or
    case term(SearchQuery.Term, isExcluded: Bool, isOpen: Bool)
  }

  private var rest: Substring.UnicodeScalarView
  /// Whether white space or nothing precedes `rest`.
  private var isApart = true
  private let columns: Set<String>

  init(text: String, columns: Set<String>) {
    rest = text[...].unicodeScalars
    self.columns = columns
  }

  mutating func next() -> Item? {
    let start = rest.startIndex
    rest = rest.drop { Self.isSpace($0) }
    guard !rest.isEmpty else { return nil }
    let isExcluded = (isApart || rest.startIndex > start) && excludes()
    isApart = false
    if isExcluded { rest = rest.dropFirst() }
    let column = takeColumn()
    if rest.first == "\"" { return phrase(column, isExcluded) }
    let word = rest.prefix { !Self.isSpace($0) }
    rest = rest.dropFirst(word.count)
    if word.elementsEqual("OR".unicodeScalars), column == nil, !isExcluded { return .or }
    let isPrefix = word.last == "*" && word.count > 1
    let term = SearchQuery.Term(
      text: String(isPrefix ? word.dropLast() : word),
      column: column,
      isPrefix: isPrefix,
      isLiteral: isPrefix
    )
    return .term(term, isExcluded: isExcluded, isOpen: rest.isEmpty)
  }

  /// Returns whether the rest begins with a minus that excludes the following word.
  ///
  /// A minus inside other text, such as a command's option or a bracket, excludes nothing.
  private func excludes() -> Bool {
    guard rest.first == "-", let second = rest.dropFirst().first else { return false }
    let begins: [Unicode.Scalar] = ["\"", "#", "@", "_"]
    return begins.contains(second) || second.properties.isAlphabetic
      || second.properties.numericType != nil || !second.isASCII && !Self.isSpace(second)
  }

  private static func isSpace(_ scalar: Unicode.Scalar) -> Bool {
    scalar.properties.isWhitespace
  }

  private mutating func takeColumn() -> String? {
    guard let colon = rest.firstIndex(of: ":") else { return nil }
    let name = String(rest[..<colon])
    let after = rest[rest.index(after: colon)...]
    guard columns.contains(name), let first = after.first, !Self.isSpace(first) else { return nil }
    rest = after
    return name
  }

  private mutating func phrase(_ column: String?, _ isExcluded: Bool) -> Item {
    rest = rest.dropFirst()
    let text = rest.prefix { $0 != "\"" }
    rest = rest.dropFirst(text.count)
    let isClosed = !rest.isEmpty
    rest = rest.dropFirst()
    let term = SearchQuery.Term(
      text: String(text),
      column: column,
      isPrefix: false,
      isQuoted: true
    )
    return .term(term, isExcluded: isExcluded, isOpen: !isClosed)
  }
}
