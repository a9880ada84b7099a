import CordialProtocol
package import JSON

/// The lines of a search hit: its ID and title, and below them the matching part of a text and what
/// the search forgave.
package struct HitLines {
  /// One to three lines.
  package let lines: [String]

  /// Creates the lines of a hit.
  ///
  /// - Parameters:
  ///   - hit: The hit, in the form of the protocol, with a snippet.
  ///   - idWidth: The width of the longest ID, in columns.
  ///   - marks: The texts before and after each word of the query; nil for no marks.
  package init(_ hit: JSONValue, idWidth: Int, marks: (before: String, after: String)?) {
    let id = CellText.text(hit[.id] ?? .null)
    let title = hit[.title]?.string ?? ""
    let indent = String(repeating: " ", count: idWidth + 2)
    let head = CellText.fitted(id, to: max(idWidth, CellText.width(id))) + "  "
    let forgiven = Self.forgiven(hit).map { [indent + $0] } ?? []
    guard let snippet = hit[.snippet], let text = snippet[.text]?.string else {
      lines = [head + CellText.marked(title, [], marks)] + forgiven
      return
    }
    let ranges = (snippet[.highlights]?.array ?? []).compactMap { pair -> Range<Int>? in
      guard let start = pair.array?.first?.integer, let end = pair.array?.last?.integer,
        start <= end
      else { return nil }
      return Int(start)..<Int(end)
    }
    let texts =
      text == title || title.isEmpty
      ? [head + CellText.marked(text, ranges, marks)]
      : [head + CellText.marked(title, [], marks), indent + CellText.marked(text, ranges, marks)]
    lines = texts + forgiven
  }

  /// Returns the words of the query that none of the hits has, in the order of the query.
  package static func wordsLacking(in hits: [JSONValue]) -> [String] {
    let missing = hits.map { ($0[.missing]?.array ?? []).compactMap(\.string) }
    return (missing.first ?? []).filter { word in missing.allSatisfy { $0.contains(word) } }
  }

  /// Returns what the search forgave, as in "mlik: milk; without how, do"; nil for nothing.
  private static func forgiven(_ hit: JSONValue) -> String? {
    let matched = (hit[.matched]?.array ?? []).map { word in
      "\(CellText.text(word[.word] ?? .null)): \(CellText.text(word[.as] ?? .null))"
    }
    let missing = (hit[.missing]?.array ?? []).map { CellText.text($0) }
    let without = missing.isEmpty ? [] : ["without " + missing.joined(separator: ", ")]
    let parts = matched + without
    return parts.isEmpty ? nil : "(" + parts.joined(separator: "; ") + ")"
  }
}
