import CUnicode
import Synchronization

/// A compiled ICU regular expression.
@safe package final class RegularExpression {
  private let handle: OpaquePointer

  /// Compiles a pattern.
  ///
  /// - Throws: `InvalidPattern` with the offset of the fault, in UTF-16 code units.
  package init(_ pattern: String, ignoresCase: Bool) throws(InvalidPattern) {
    var pattern = pattern
    var offset: Int32 = 0
    let opened = pattern.withUTF8 { bytes in
      unsafe bytes.withMemoryRebound(to: CChar.self) { characters in
        unsafe unicode_regex_open(
          characters.baseAddress,
          Int32(characters.count),
          ignoresCase ? 1 : 0,
          &offset
        )
      }
    }
    guard let opened = unsafe opened else { throw InvalidPattern(offset: Int(offset)) }
    unsafe handle = opened
  }

  deinit {
    unsafe unicode_regex_close(handle)
  }

  /// Returns whether a whole text matches, or nil if matching takes too long.
  package func matches(_ text: String) -> Bool? {
    var text = text
    let outcome = text.withUTF8 { bytes in
      unsafe bytes.withMemoryRebound(to: CChar.self) { characters in
        unsafe unicode_regex_matches(handle, characters.baseAddress, Int32(characters.count))
      }
    }
    return outcome < 0 ? nil : outcome == 1
  }
}

/// The error of a pattern that ICU rejects.
package struct InvalidPattern: Error {
  /// The offset of the fault in the pattern, in UTF-16 code units.
  package let offset: Int
}

/// A compiled pattern that every text of an attribute must match.
package final class TextPattern: Sendable, Equatable {
  package let text: String
  private let expression: Mutex<RegularExpression>

  /// Compiles a pattern.
  ///
  /// - Parameter text: An ICU regular expression.
  /// - Throws: `InvalidPattern` with the offset of the fault.
  package init(_ text: String) throws(InvalidPattern) {
    self.text = text
    expression = Mutex(try RegularExpression(text, ignoresCase: false))
  }

  /// Returns why a text may not be stored, as the rest of a sentence, or nil if it matches.
  package func objection(to value: String) -> String? {
    switch expression.withLock({ $0.matches(value) }) {
    case true?: nil
    case false?: "does not match \(text)"
    case nil: "takes too long to match with \(text)"
    }
  }

  package static func == (first: TextPattern, second: TextPattern) -> Bool {
    first.text == second.text
  }
}
