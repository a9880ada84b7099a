package import JSON

/// The text of a table's cell, measured in columns of a terminal.
package enum CellText {
  /// Returns a value as one line, with control characters as JSON escapes.
  package static func text(_ value: JSONValue) -> String {
    switch value {
    case .null: ""
    case .string(let text): VisibleText.line(text)
    default: VisibleText.line(value.text)
    }
  }

  /// Returns a text as one line with visible control characters, and with marks around ranges.
  ///
  /// - Parameters:
  ///   - text: The text.
  ///   - ranges: The ranges in UTF-16 code units, ascending and without overlaps.
  ///   - marks: The texts before and after each range; nil for no marks.
  /// - Returns: The line.
  package static func marked(
    _ text: String,
    _ ranges: [Range<Int>],
    _ marks: (before: String, after: String)?
  ) -> String {
    let units = Array(text.utf16)
    func part(_ range: Range<Int>) -> String {
      let found = units[range.clamped(to: 0..<units.count)]
      return VisibleText.line(String(decoding: found, as: UTF16.self))
    }
    guard let marks else { return VisibleText.line(text) }
    var line = ""
    var end = 0
    for range in ranges where range.lowerBound >= end {
      line += part(end..<range.lowerBound) + marks.before + part(range) + marks.after
      end = range.upperBound
    }
    return line + part(end..<max(end, units.count))
  }

  /// Returns the number of columns that a text takes.
  package static func width(_ text: String) -> Int {
    text.reduce(0) { $0 + width($1) }
  }

  /// Returns a text padded or cut to `columns` columns; a cut text ends with `…`.
  package static func fitted(_ text: String, to columns: Int) -> String {
    let length = width(text)
    guard length > columns else { return text + String(repeating: " ", count: columns - length) }
    guard columns > 0 else { return "" }
    var fitted = ""
    var used = 0
    for character in text {
      let next = width(character)
      guard used + next <= columns - 1 else { break }
      fitted.append(character)
      used += next
    }
    return fitted + "…" + String(repeating: " ", count: columns - 1 - used)
  }

  /// Returns the width of a character in columns: two for wide East Asian characters and emoji.
  private static func width(_ character: Character) -> Int {
    guard let first = character.unicodeScalars.first else { return 0 }
    switch first.properties.generalCategory {
    case .nonspacingMark, .enclosingMark: return 0
    // Other format characters are visible, such as the Arabic signs before numbers.
    case .format where first.properties.isDefaultIgnorableCodePoint: return 0
    default: break
    }
    let isEmoji =
      first.properties.isEmojiPresentation
      || character.unicodeScalars.contains { $0.value == 0xFE0F }
    return isEmoji || wide.contains { $0.contains(first.value) } ? 2 : 1
  }

  /// The blocks whose characters are wide or full-width (Unicode Standard Annex #11).
  private static let wide: [ClosedRange<UInt32>] = [
    0x1100...0x115F, 0x2E80...0x303E, 0x3041...0x33FF, 0x3400...0x4DBF, 0x4E00...0x9FFF,
    0xA000...0xA4CF, 0xA960...0xA97F, 0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE30...0xFE6F,
    0xFF00...0xFF60, 0xFFE0...0xFFE6, 0x17000...0x18CFF, 0x1B000...0x1B2FF, 0x1F300...0x1F64F,
    0x1F900...0x1F9FF, 0x20000...0x3FFFD,
  ]
}
