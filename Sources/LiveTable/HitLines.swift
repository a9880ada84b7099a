import CordialProtocol
package import JSON

/// The lines of a search hit: its ID and title, and below them the matching part of a text.
package struct HitLines {
  /// One or two lines.
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
    guard let snippet = hit[.snippet], let text = snippet[.text]?.string else {
      lines = [head + CellText.marked(title, [], marks)]
      return
    }
    let ranges = (snippet[.highlights]?.array ?? []).compactMap { pair -> Range<Int>? in
      guard let start = pair.array?.first?.integer, let end = pair.array?.last?.integer,
        start <= end
      else { return nil }
      return Int(start)..<Int(end)
    }
    lines =
      text == title || title.isEmpty
      ? [head + CellText.marked(text, ranges, marks)]
      : [head + CellText.marked(title, [], marks), indent + CellText.marked(text, ranges, marks)]
  }
}
