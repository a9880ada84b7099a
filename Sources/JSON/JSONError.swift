/// The error of a text that is not JSON, with its offset.
package struct JSONError: Error, Equatable, Sendable {
  /// The kind of fault.
  package enum Code: String, Sendable {
    case unexpectedEnd
    case unexpectedByte
    case invalidNumber
    case invalidString
    case invalidUTF8
    case loneSurrogate
    case tooDeep
    case trailingBytes
    case tooManyValues
    case tooLarge
  }

  package let code: Code
  /// The offset of the first wrong byte, from the start of the text.
  package let offset: Int

  package init(_ code: Code, at offset: Int) {
    self.code = code
    self.offset = offset
  }

  /// One sentence that states the fault and its offset.
  package var message: String {
    let what =
      switch code {
      case .unexpectedEnd: "the text ends too early"
      case .unexpectedByte: "an unexpected byte"
      case .invalidNumber: "a malformed number"
      case .invalidString: "a control character or an unknown escape in a string"
      case .invalidUTF8: "bytes that are not UTF-8"
      case .loneSurrogate: "half of a surrogate pair"
      case .tooDeep: "more levels of nesting than the limit"
      case .trailingBytes: "bytes after the end of the value"
      case .tooManyValues: "more values than the limit"
      case .tooLarge: "more memory than the limit"
      }
    return "Not JSON at byte \(offset): \(what)"
  }
}
