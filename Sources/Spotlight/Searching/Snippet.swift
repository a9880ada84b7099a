import CordialValues

/// A part of a text that shows why it matches.
package struct Snippet: Sendable, Equatable {
  /// The name of the property.
  package let property: String
  /// The part, with `…` at each end at which the text continues.
  package let text: String
  /// The ranges of the query's words in the part, in units of the highlighter's encoding.
  package let highlights: [Range<Int>]

  /// The maximum length of a part in bytes, without its dots.
  static let bytesMax = 240

  fileprivate init(property: String, text: String, highlights: [Range<Int>]) {
    self.property = property
    self.text = text
    self.highlights = highlights
  }
}

/// A window of a text, as a candidate for a snippet.
private struct Window {
  let property: String
  let text: String
  let tokens: [Token]
  let occurrences: [Highlighter.Occurrence]
  /// The bytes from the first to the last occurrence.
  let core: Range<Int>
  /// The number of different words of the query.
  let words: Int

  /// Returns whether this window has more different words, or equally many words closer together.
  func isBetter(than other: Window) -> Bool {
    (words, -core.count) > (other.words, -other.core.count)
  }
}

extension Highlighter {
  /// Returns the part of some texts with the most different words of the query, closest together.
  ///
  /// - Parameter texts: The values of properties by name; of equally good parts, the first wins.
  /// - Returns: The part, cut between words; nil if no text has a word of the query.
  package func snippet(of texts: [(property: String, text: String)]) -> Snippet? {
    var best: Window?
    for (property, text) in texts {
      guard let window = window(in: text, property) else { continue }
      if let known = best, !window.isBetter(than: known) { continue }
      best = window
    }
    return best.map { snippet(of: $0) }
  }

  private func window(in text: String, _ property: String) -> Window? {
    let tokens = Tokens.unmarked(text)
    let found = occurrences(tokens, column: property)
      .sorted {
        ($0.range.lowerBound, $0.range.upperBound) < ($1.range.lowerBound, $1.range.upperBound)
      }
    var best: Window?
    var counts: [Int: Int] = [:]
    var first = 0
    for last in found.indices {
      counts[found[last].term, default: 0] += 1
      // The window drops its first occurrence if the word occurs again or the window is too long.
      while first < last,
        counts[found[first].term, default: 0] > 1
          || found[last].range.upperBound - found[first].range.lowerBound > Snippet.bytesMax
      {
        counts[found[first].term, default: 0] -= 1
        if counts[found[first].term] == 0 { counts[found[first].term] = nil }
        first += 1
      }
      let end = max(found[last].range.upperBound, found[first].range.upperBound)
      let window = Window(
        property: property,
        text: text,
        tokens: tokens,
        occurrences: found,
        core: found[first].range.lowerBound..<end,
        words: counts.count
      )
      if best.map({ window.isBetter(than: $0) }) ?? true { best = window }
    }
    return best
  }

  private func snippet(of window: Window) -> Snippet {
    let bytes = Array(window.text.utf8)
    let room = max(0, Snippet.bytesMax - window.core.count)
    // A third of the room goes to the text before the words, and the rest to the text after them.
    var start = max(0, window.core.lowerBound - room / 3)
    var end = min(bytes.count, start + max(Snippet.bytesMax, window.core.count))
    start = max(0, min(start, end - max(Snippet.bytesMax, window.core.count)))
    if start > 0 {
      let next = window.tokens.first { !$0.isColocated && $0.start >= start }?.start
      start = min(next ?? start, window.core.lowerBound)
    }
    if end < bytes.count {
      let previous = window.tokens.last { !$0.isColocated && $0.end <= end }?.end
      end = max(previous ?? end, window.core.upperBound)
    }
    let before = start > 0 ? "…" : ""
    let part = String(decoding: bytes[start..<end], as: UTF8.self)
    let inside = window.occurrences.map(\.range)
      .filter { $0.lowerBound >= start && $0.upperBound <= end }
      .map { $0.lowerBound - start..<$0.upperBound - start }
    let shift = encoding.count(before)
    return Snippet(
      property: window.property,
      text: before + part + (end < bytes.count ? "…" : ""),
      highlights: units(Self.merged(inside), in: part).map { range in
        range.lowerBound + shift..<range.upperBound + shift
      }
    )
  }
}
