import CUnicode
package import Interruptions
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

  /// Returns whether a whole text matches.
  ///
  /// - Parameters:
  ///   - text: The text.
  ///   - interruption: The flag that ends a slow match.
  /// - Returns: Whether the text matches.
  /// - Throws: `Interrupted`; `PatternTooDemanding`.
  package func matches(_ text: String, _ interruption: Interruption) throws -> Bool {
    var text = text
    let outcome = text.withUTF8 { bytes in
      unsafe bytes.withMemoryRebound(to: CChar.self) { characters in
        unsafe unicode_regex_matches(
          handle,
          characters.baseAddress,
          Int32(clamping: characters.count),
          interruption.pointer
        )
      }
    }
    if outcome == UNICODE_REGEX_STOPPED { try interruption.check() }
    guard outcome >= 0 else { throw PatternTooDemanding() }
    return outcome == 1
  }
}

/// The error of a match that needs more memory than ICU allows.
package struct PatternTooDemanding: Error {}

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

  /// Returns why a text may not be stored, as the rest of a sentence, or nil if the text matches.
  ///
  /// - Parameters:
  ///   - value: The text.
  ///   - interruption: The flag that ends a slow match.
  /// - Returns: The rest of the sentence, or nil.
  /// - Throws: `Interrupted`.
  package func objection(to value: String, _ interruption: Interruption) throws -> String? {
    do {
      let matches = try expression.withLock { try $0.matches(value, interruption) }
      return matches ? nil : "does not match \(text)"
    } catch is PatternTooDemanding {
      return "needs too much memory to match with \(text)"
    }
  }

  package static func == (first: TextPattern, second: TextPattern) -> Bool {
    first.text == second.text
  }
}
