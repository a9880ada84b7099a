import CordialProtocol
package import JSON

/// The state of an interactive search: the query, the hits, and the open object.
package struct SearchBox: Sendable {
  /// The action that a key requests.
  package enum Action: Sendable, Equatable {
    /// Search for `query`.
    case search
    /// Show the object of an ID.
    case open(id: String)
    /// End the search.
    case quit
  }

  /// A line of the screen.
  package struct Line: Sendable, Equatable {
    package let text: String
    /// Whether the line belongs to the selected hit.
    package let isSelected: Bool
  }

  /// The text that the person has typed.
  package private(set) var query: String
  /// Whether the person wants only the words as typed.
  package private(set) var isStrict = false
  /// The selected hit's position in the list of hits.
  package private(set) var selected = 0
  private var answer: JSONValue?
  private var opened: (id: String, values: [JSONMember])?
  private var message: String?

  /// Creates a search that has no answer yet.
  package init(query: String) {
    self.query = query
  }

  private var hits: [JSONValue] { answer?[.hits]?.array ?? [] }

  /// Handles a key.
  ///
  /// - Parameter key: The key.
  /// - Returns: The requested action; nil if only the screen changes.
  package mutating func press(_ key: Key) -> Action? {
    message = nil
    if opened != nil {
      switch key {
      case .escape, .enter, .backspace: opened = nil
      case .end: return .quit
      default: break
      }
      return nil
    }
    let before = query
    switch key {
    case .text(let text): query += text
    case .backspace: query = String(query.dropLast())
    case .deleteAll: query = ""
    case .deleteWord:
      while query.last?.isWhitespace == true { query.removeLast() }
      while query.last?.isWhitespace == false { query.removeLast() }
    case .up: selected = max(selected - 1, 0)
    case .down: selected = max(min(selected + 1, hits.count - 1), 0)
    case .enter:
      guard hits.indices.contains(selected) else { return nil }
      return hits[selected][.id]?.string.map { .open(id: $0) }
    case .tab:
      isStrict.toggle()
      selected = 0
      return .search
    case .escape, .end: return .quit
    }
    guard query != before else { return nil }
    selected = 0
    return .search
  }

  /// Shows the answer of a search; nil shows no hits.
  package mutating func show(answer: JSONValue?) {
    (self.answer, message) = (answer, nil)
    selected = max(min(selected, hits.count - 1), 0)
  }

  /// Shows an object.
  ///
  /// - Parameters:
  ///   - id: The ID of the object.
  ///   - values: Its values by name; nil for an object that no longer exists.
  package mutating func show(object id: String, _ values: [JSONMember]?) {
    guard let values else { return show(message: "\(id) no longer exists") }
    opened = (id, values)
  }

  /// Shows a sentence until the next key or answer.
  package mutating func show(message: String) {
    self.message = message
  }

  /// Returns the lines of the screen.
  ///
  /// - Parameters:
  ///   - height: The number of lines that fit.
  ///   - marks: The texts before and after each word of the query; nil for no marks.
  /// - Returns: At most `height` lines, including the lines of the selected hit.
  package func lines(height: Int, marks: (before: String, after: String)?) -> [Line] {
    let head = [
      Line(text: "Search: \(CellText.text(.string(query)))▏", isSelected: false),
      Line(text: message.map { CellText.text(.string($0)) } ?? summary, isSelected: false),
    ]
    let rows = max(height - head.count, 0)
    if let opened {
      let title = Line(text: CellText.text(.string(opened.id)), isSelected: false)
      let values = opened.values.map { member in
        Line(
          text: "  \(VisibleText.line(member.name)): \(CellText.text(member.value))",
          isSelected: false
        )
      }
      return (head + ([title] + values).prefix(rows)).prefix(height).map(\.self)
    }
    let width = hits.map { CellText.width(CellText.text($0[.id] ?? .null)) }.max() ?? 0
    var lines: [Line] = []
    var first = 0
    for (index, hit) in hits.enumerated() {
      for text in HitLines(hit, idWidth: width, marks: marks).lines {
        lines.append(Line(text: text, isSelected: index == selected))
      }
      if index == selected { first = max(lines.count - rows, 0) }
    }
    return (head + lines.dropFirst(first).prefix(rows)).prefix(height).map(\.self)
  }

  /// What all hits lack, and the key that makes the search strict or forgiving.
  private var forgiven: [String] {
    if isStrict { return ["Tab: similar words too"] }
    guard hits.contains(where: { $0[.class] != nil }) else { return [] }
    let without = HitLines.wordsLacking(in: hits).map { CellText.text(.string($0)) }
      .joined(separator: ", ")
    return (without.isEmpty ? [] : ["without: \(without)"]) + ["Tab: only the words as typed"]
  }

  /// The number of hits in total and by entity, or the reasons why no object matches.
  private var summary: String {
    if opened != nil { return "Escape goes back to the hits" }
    guard let answer else { return "Type words; Enter opens an object, Escape ends" }
    let total = answer[.total]?.integer ?? 0
    let atLeast = answer[.totalIsAtLeast]?.bool == true ? "at least " : ""
    guard total == 0 else {
      let entities = (answer[.facets]?[.entities]?.members ?? []).map { member in
        "\(VisibleText.line(member.name)) \(member.value.integer ?? 0)"
      }
      let found = "\(atLeast)\(total) found: \(entities.joined(separator: ", "))"
      return ([found] + forgiven).joined(separator: "; ")
    }
    let instead = (answer[.instead]?.members ?? []).map { word in
      let nearest = (word.value.array ?? []).compactMap(\.string).joined(separator: ", ")
      return "instead of \(word.name): \(nearest)"
    }
    let omit = (answer[.omit]?.members ?? []).map { word in
      "without \(word.name): \(word.value.integer ?? 0)"
    }
    let reasons = (instead + omit + (isStrict ? forgiven : [])).joined(separator: "; ")
    return CellText.text(.string(reasons.isEmpty ? "0 found" : "0 found; \(reasons)"))
  }
}
