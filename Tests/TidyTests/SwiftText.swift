/// A reader of Swift source that separates code from comments and string literals.
enum SwiftText {
  /// Returns the lines with comments removed and string literals emptied; interpolations stay.
  static func code(_ lines: [String]) -> [String] {
    var scanner = Scanner()
    return lines.map { scanner.code($0) }
  }

  /// Returns the modules that a line of `code` imports.
  static func imports(_ line: String) -> [String] {
    guard line.contains("import") else { return [] }
    return line.split(separator: ";").compactMap { statement in
      statement.prefixMatch(
        of:
          /\s*(?:@\w+(?:\([^)]*\))?\s+)*(?:(?:public|package|internal|fileprivate|private)\s+)?import\s+(?:(?:struct|class|enum|protocol|func|var|let|typealias)\s+)?(\w+)/
      ).map { String($0.1) }
    }
  }

  private enum Context {
    case code
    /// The inside of `\(…)`, with the number of open parentheses.
    case interpolation(parentheses: Int)
    case string(pounds: Int, isMultiline: Bool)
    case comment
  }

  /// A scanner of the bytes of a file, line by line.
  private struct Scanner {
    private var contexts: [Context] = [.code]
    private var line: [UInt8] = []
    private var index = 0
    private var kept: [UInt8] = []

    mutating func code(_ text: String) -> String {
      // Most lines hold no comment and no literal.
      if case .code = contexts[contexts.count - 1], !text.contains("\""), !text.contains("/") {
        return text
      }
      line = Array(text.utf8)
      index = 0
      kept = []
      while index < line.count {
        switch contexts[contexts.count - 1] {
        case .comment: comment()
        case .string(let pounds, let isMultiline): string(pounds, isMultiline)
        case .code, .interpolation: token()
        }
      }
      // A one-line string ends with its line, even if its end was not recognized.
      while case .string(_, isMultiline: false) = contexts[contexts.count - 1] {
        contexts.removeLast()
      }
      return String(decoding: kept, as: UTF8.self)
    }

    private mutating func comment() {
      if takes("*/") {
        contexts.removeLast()
      } else if takes("/*") {
        contexts.append(.comment)
      } else {
        index += 1
      }
    }

    private mutating func string(_ pounds: Int, _ isMultiline: Bool) {
      let guards = String(repeating: "#", count: pounds)
      let end = (isMultiline ? "\"\"\"" : "\"") + guards
      if takes(end) {
        contexts.removeLast()
        kept += end.utf8
      } else if takes("\\\(guards)(") {
        contexts.append(.interpolation(parentheses: 1))
        kept.append(UInt8(ascii: "("))
      } else {
        _ = takes("\\\(guards)")
        index += 1
      }
    }

    private mutating func token() {
      if takes("//") {
        index = line.count
        return
      }
      if takes("/*") {
        contexts.append(.comment)
        return
      }
      let start = index
      while index < line.count, line[index] == UInt8(ascii: "#") { index += 1 }
      let pounds = index - start
      if takes("\"\"\"") {
        contexts.append(.string(pounds: pounds, isMultiline: true))
      } else if takes("\"") {
        contexts.append(.string(pounds: pounds, isMultiline: false))
      } else if index == start {
        count(line[index])
        index += 1
      }
      kept += line[start..<index]
    }

    /// Counts the open parentheses of an interpolation, which ends with the last one.
    private mutating func count(_ byte: UInt8) {
      guard case .interpolation(let parentheses) = contexts[contexts.count - 1] else { return }
      let step = byte == UInt8(ascii: "(") ? 1 : byte == UInt8(ascii: ")") ? -1 : 0
      contexts.removeLast()
      if parentheses + step > 0 {
        contexts.append(.interpolation(parentheses: parentheses + step))
      }
    }

    /// Skips a text and returns true if the text is next, otherwise returns false.
    private mutating func takes(_ text: String) -> Bool {
      var end = index
      for byte in text.utf8 {
        guard end < line.count, line[end] == byte else { return false }
        end += 1
      }
      index = end
      return true
    }
  }
}
