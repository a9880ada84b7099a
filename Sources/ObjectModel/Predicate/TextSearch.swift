import CUnicode

/// A search for a part of a text, byte by byte.
package enum TextSearch {
  /// The number of bytes that are searched between two checks.
  private static let pieceBytes = 1 << 20

  /// Returns whether a text contains a part; both are UTF-8.
  ///
  /// - Parameters:
  ///   - text: The text.
  ///   - part: The text to search for; no text contains the empty text.
  ///   - check: Called between the pieces of a long text; throws if the work must end.
  /// - Returns: Whether the text contains the part.
  /// - Throws: The error of the check.
  /// - Complexity: Linear in both lengths.
  package static func contains(
    _ text: Span<UInt8>,
    _ part: Span<UInt8>,
    _ check: () throws -> Void
  ) rethrows -> Bool {
    guard !part.isEmpty else { return false }
    // Pieces overlap by less than the length of the part. A piece is at least four times as long as
    // the part, so that the search stays linear.
    let piece = max(pieceBytes, 4 * part.count)
    var start = 0
    while text.count - start >= part.count {
      let end = min(text.count, start + piece)
      if find(part, in: text.extracting(start..<end)) { return true }
      if end == text.count { return false }
      start = end - part.count + 1
      try check()
    }
    return false
  }

  private static func find(_ part: Span<UInt8>, in text: Span<UInt8>) -> Bool {
    unsafe text.withUnsafeBufferPointer { text in
      unsafe part.withUnsafeBufferPointer { part in
        unsafe unicode_contains(text.baseAddress, text.count, part.baseAddress, part.count)
      }
    }
  }
}
