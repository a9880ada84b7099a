/// Why a text is not JSON, and where.
package struct JSONError: Error, Equatable, Sendable {
  /// What was wrong.
  package enum Code: String, Sendable {
    case unexpectedEnd
    case unexpectedByte
    case invalidNumber
    case invalidString
    case invalidUTF8
    case loneSurrogate
    case tooDeep
    case trailingBytes
  }

  package let code: Code
  /// The offset of the first wrong byte, from the start of the text.
  package let offset: Int

  package init(_ code: Code, at offset: Int) {
    self.code = code
    self.offset = offset
  }

  /// One sentence: what is wrong and at which byte.
  package var message: String {
    let what =
      switch code {
      case .unexpectedEnd: "the text ends too early"
      case .unexpectedByte: "a byte that cannot stand here"
      case .invalidNumber: "a number that is not written as JSON writes numbers"
      case .invalidString: "a control character or an unknown escape in a string"
      case .invalidUTF8: "bytes that are not UTF-8"
      case .loneSurrogate: "half of a surrogate pair"
      case .tooDeep: "more levels of nesting than the limit"
      case .trailingBytes: "something after the end of the value"
      }
    return "Not JSON at byte \(offset): \(what)"
  }
}
