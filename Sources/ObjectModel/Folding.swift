import CUnicode

/// The Swift interface of CUnicode.
package enum Folding {
  /// The version of these functions.
  ///
  /// It is incremented with every change of their results.
  private static let rules = 2

  /// The versions of ICU, of Unicode, of the collation and of these functions.
  package static var version: String {
    unsafe "\(String(cString: unicode_version())) \(rules)"
  }

  /// Returns a folded text.
  ///
  /// - Parameters:
  ///   - text: The text.
  ///   - flags: `UNICODE_FOLD_CASE`, `UNICODE_FOLD_DIACRITICS`, or both.
  /// - Returns: The folded text.
  package static func fold(_ text: String, flags: Int32) -> String {
    unsafe text.transformed { text, length, out, capacity in
      unsafe unicode_fold(text, length, flags, out, capacity)
    }
  }

  /// Returns the lower case of a text, with final sigmas at the ends of words.
  package static func lower(_ text: String) -> String {
    unsafe text.transformed { text, length, out, capacity in
      unsafe unicode_lower(text, length, out, capacity)
    }
  }

  /// The number of bytes that are folded between two checks.
  private static let pieceBytes = 1 << 16

  /// Returns a folded text like `fold(_:flags:)`, and calls a check between the parts of the text.
  ///
  /// - Parameters:
  ///   - text: The text.
  ///   - flags: `UNICODE_FOLD_CASE`, `UNICODE_FOLD_DIACRITICS`, or both.
  ///   - check: Called between the parts of a long text; throws if the work must end.
  /// - Returns: The folded text.
  /// - Throws: The error of the check.
  package static func fold(
    _ text: String,
    flags: Int32,
    _ check: () throws -> Void
  ) throws -> String {
    guard text.utf8.count > pieceBytes else { return fold(text, flags: flags) }
    var folded = ""
    var rest = Substring(text)
    while !rest.isEmpty {
      try check()
      let end = rest.utf8.index(rest.startIndex, offsetBy: cut(rest))
      folded += fold(String(rest[..<end]), flags: flags)
      rest = rest[end...]
    }
    return folded
  }

  /// Returns the length of the part of a text that is folded next, in bytes.
  private static func cut(_ text: Substring) -> Int {
    var text = text
    return text.withUTF8 { bytes in
      unsafe bytes.withMemoryRebound(to: CChar.self) { characters in
        unsafe Int(
          unicode_fold_cut(
            characters.baseAddress,
            Int32(clamping: characters.count),
            Int32(pieceBytes)
          )
        )
      }
    }
  }

  /// Computes the sort key of a text.
  ///
  /// Comparing the bytes of two keys gives the order of `collate`.
  ///
  /// - Parameters:
  ///   - text: The text, in UTF-8.
  ///   - key: A buffer for the key, which grows.
  /// - Returns: The length of the key in bytes; nil if memory is short.
  package static func sortKey(_ text: Span<UInt8>, into key: inout [UInt8]) -> Int? {
    while true {
      let needed = unsafe text.withUnsafeBufferPointer { bytes in
        unsafe bytes.withMemoryRebound(to: CChar.self) { input in
          unsafe key.withUnsafeMutableBufferPointer { out in
            unsafe Int(
              unicode_sort_key(
                input.baseAddress,
                Int32(input.count),
                out.baseAddress,
                Int32(out.count)
              )
            )
          }
        }
      }
      guard needed > 0 else { return nil }
      // The last byte is a terminator, which a blob does not need because it has a length.
      if needed <= key.count { return needed - 1 }
      key = [UInt8](repeating: 0, count: needed)
    }
  }

  /// Compares two texts in the order that people expect.
  ///
  /// - Parameters:
  ///   - first: A text.
  ///   - second: Another text.
  /// - Returns: A negative number, zero or a positive number.
  package static func collate(_ first: String, _ second: String) -> Int32 {
    var first = first
    var second = second
    return first.withUTF8 { a in
      second.withUTF8 { b in
        unsafe a.withMemoryRebound(to: CChar.self) { left in
          unsafe b.withMemoryRebound(to: CChar.self) { right in
            unsafe unicode_collate(
              left.baseAddress,
              Int32(left.count),
              right.baseAddress,
              Int32(right.count)
            )
          }
        }
      }
    }
  }
}

extension String {
  /// Returns the result of an ICU function for the text.
  ///
  /// - Parameter function: Receives the text and a buffer for the result, and returns the length of
  ///   the complete result, which may be greater than the buffer.
  /// - Returns: The result.
  fileprivate func transformed(
    _ function: (
      _ text: UnsafePointer<CChar>?,
      _ length: Int32,
      _ out: UnsafeMutablePointer<CChar>?,
      _ capacity: Int32
    ) -> Int32
  ) -> String {
    var text = self
    return text.withUTF8 { bytes in
      var capacity = bytes.count * 2 + 16
      while true {
        var needed = 0
        let result = unsafe String(unsafeUninitializedCapacity: capacity) { out in
          unsafe out.withMemoryRebound(to: CChar.self) { characters in
            needed = unsafe bytes.withMemoryRebound(to: CChar.self) { input in
              unsafe Int(
                function(
                  input.baseAddress,
                  Int32(input.count),
                  characters.baseAddress,
                  Int32(characters.count)
                )
              )
            }
          }
          return max(0, min(needed, capacity))
        }
        if needed <= capacity { return result }
        capacity = needed
      }
    }
  }
}
