/// Functions that search and copy runs of bytes, eight bytes at a time.
///
/// Word loads and bulk copies are marked `unsafe`, because the standard library has no safe form of
/// them.
package enum JSONBytes {
  /// Returns the end of a run of bytes that a JSON string contains verbatim.
  ///
  /// The run ends at a quote, at a backslash, at a control byte, or at the end of the bytes.
  @inlinable
  package static func endOfPlainRun(_ bytes: Span<UInt8>, from start: Int) -> Int {
    var offset = start
    while offset &+ 8 <= bytes.count {
      // In bounds: `offset + 8` is at most `count`.
      let word = unsafe bytes.bytes.unsafeLoadUnaligned(fromByteOffset: offset, as: UInt64.self)
      if needsEscape(word) { break }
      offset &+= 8
    }
    while offset < bytes.count {
      let byte = bytes[offset]
      if byte == 0x22 || byte == 0x5C || byte < 0x20 { break }
      offset &+= 1
    }
    return offset
  }

  /// Returns the first offset of a byte at or after a start offset, or the end if there is none.
  @inlinable
  package static func firstIndex(
    of byte: UInt8,
    in bytes: Span<UInt8>,
    from start: Int
  ) -> Int {
    let ones: UInt64 = 0x0101_0101_0101_0101
    let pattern = UInt64(byte) &* ones
    var offset = start
    while offset &+ 8 <= bytes.count {
      // In bounds: `offset + 8` is at most `count`.
      let word = unsafe bytes.bytes.unsafeLoadUnaligned(fromByteOffset: offset, as: UInt64.self)
      // The classical test for a zero byte in a word, from the same source as `needsEscape`.
      let rest = word ^ pattern
      if (rest &- ones) & ~rest & (ones &* 0x80) != 0 { break }
      offset &+= 8
    }
    while offset < bytes.count, bytes[offset] != byte { offset &+= 1 }
    return offset
  }

  /// Returns whether two strings have the same bytes.
  ///
  /// Swift's `==` also equates canonically equivalent strings, and its generic comparison of UTF-8
  /// views is several times slower than this loop.
  @inlinable
  package static func areEqual(_ first: String, _ second: String) -> Bool {
    // A string consists of two words, which contain a short string or refer to a long string's
    // storage. Strings with equal words are therefore equal.
    let words = unsafe unsafeBitCast(first, to: SIMD2<UInt64>.self)
    if unsafe words == unsafeBitCast(second, to: SIMD2<UInt64>.self) { return true }
    let first = first.utf8Span.span
    let second = second.utf8Span.span
    guard first.count == second.count else { return false }
    for index in first.indices where first[index] != second[index] { return false }
    return true
  }

  /// Appends a run of bytes verbatim.
  @inlinable
  package static func append(_ bytes: Span<UInt8>, to target: inout [UInt8]) {
    unsafe bytes.withUnsafeBufferPointer { unsafe target.append(contentsOf: $0) }
  }

  /// Returns whether any of eight bytes is a quote, a backslash or a control byte.
  ///
  /// The classical test for a byte less than n in a word; bytes above 0x7F never count. Source:
  /// "Bit Twiddling Hacks", Determine if a word has a byte less than n.
  @inlinable
  static func needsEscape(_ word: UInt64) -> Bool {
    let ones: UInt64 = 0x0101_0101_0101_0101
    let highs: UInt64 = 0x8080_8080_8080_8080
    let quote = word ^ (ones &* 0x22)
    let slash = word ^ (ones &* 0x5C)
    let found =
      (quote &- ones) & ~quote
      | (slash &- ones) & ~slash
      | (word &- ones &* 0x20) & ~word
    return found & highs != 0
  }
}
