/// A text that is compared by its UTF-8 bytes.
package struct ExactText: Hashable, Sendable {
  package let text: String

  package init(_ text: String) {
    self.text = text
  }

  package static func == (first: ExactText, second: ExactText) -> Bool {
    first.text.utf8.elementsEqual(second.text.utf8)
  }

  package func hash(into hasher: inout Hasher) {
    var text = text
    text.withUTF8 { bytes in unsafe hasher.combine(bytes: UnsafeRawBufferPointer(bytes)) }
  }
}

/// RFC 3986 percent-encoding of all bytes except unreserved characters.
package enum PercentText {
  /// Returns the encoded text, with upper-case digits.
  package static func encode(_ text: String) -> String {
    let digits = Array("0123456789ABCDEF".utf8)
    var bytes: [UInt8] = []
    for byte in text.utf8 {
      if isUnreserved(byte) {
        bytes.append(byte)
      } else {
        bytes += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
      }
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// Returns the decoded text, or nil if the text is not an exact result of `encode`.
  package static func decode(_ text: Substring) -> String? {
    var bytes: [UInt8] = []
    var rest = text.utf8[...]
    while let byte = rest.popFirst() {
      if byte == UInt8(ascii: "%") {
        guard let high = rest.popFirst().flatMap(hexValue),
          let low = rest.popFirst().flatMap(hexValue)
        else { return nil }
        bytes.append(high << 4 | low)
      } else {
        bytes.append(byte)
      }
    }
    guard let decoded = String(validating: bytes, as: UTF8.self), encode(decoded) == text
    else { return nil }
    return decoded
  }

  package static func isAlphanumeric(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"):
      true
    default: false
    }
  }

  private static func isUnreserved(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "~"): true
    default: isAlphanumeric(byte)
    }
  }

  private static func hexValue(_ byte: UInt8) -> UInt8? {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
    case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
    default: nil
    }
  }
}

/// The text form of a UUID.
package enum UUIDText {
  /// Returns the lower-case form of a UUID in either case, or nil if the text is not a UUID.
  package static func canonical(_ text: String) -> String? {
    let bytes = Array(text.utf8)
    guard bytes.count == 36 else { return nil }
    var lower: [UInt8] = []
    for (index, byte) in bytes.enumerated() {
      switch index {
      case 8, 13, 18, 23:
        guard byte == UInt8(ascii: "-") else { return nil }
        lower.append(byte)
      default:
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"):
          lower.append(byte)
        case UInt8(ascii: "A")...UInt8(ascii: "F"): lower.append(byte | 0x20)
        default: return nil
        }
      }
    }
    return String(decoding: lower, as: UTF8.self)
  }
}

/// Base64 (RFC 4648, section 4) with padding.
package enum Base64Text {
  private static let alphabet = Array(
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8
  )

  /// Returns the Base64 text of bytes.
  package static func encode(_ bytes: [UInt8]) -> String {
    var text: [UInt8] = []
    text.reserveCapacity((bytes.count + 2) / 3 * 4)
    for start in stride(from: 0, to: bytes.count, by: 3) {
      let second = start + 1 < bytes.count ? bytes[start + 1] : 0
      let third = start + 2 < bytes.count ? bytes[start + 2] : 0
      text.append(alphabet[Int(bytes[start] >> 2)])
      text.append(alphabet[Int((bytes[start] & 3) << 4 | second >> 4)])
      text.append(
        start + 1 < bytes.count
          ? alphabet[Int((second & 15) << 2 | third >> 6)] : UInt8(ascii: "=")
      )
      text.append(start + 2 < bytes.count ? alphabet[Int(third & 63)] : UInt8(ascii: "="))
    }
    return String(decoding: text, as: UTF8.self)
  }

  /// Returns the bytes of a Base64 text, or nil if the text is not an exact result of `encode`.
  package static func decode(_ text: String) -> [UInt8]? {
    let input = Array(text.utf8)
    guard input.count % 4 == 0 else { return nil }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(input.count / 4 * 3)
    for start in stride(from: 0, to: input.count, by: 4) {
      var word: UInt32 = 0
      var padding = 0
      for byte in input[start..<start + 4] {
        if byte == UInt8(ascii: "=") {
          padding += 1
          word <<= 6
        } else {
          guard padding == 0, let digit = value(byte) else { return nil }
          word = word << 6 | UInt32(digit)
        }
      }
      guard padding <= 2, padding == 0 || start + 4 == input.count else { return nil }
      let triple = [UInt8(word >> 16 & 255), UInt8(word >> 8 & 255), UInt8(word & 255)]
      bytes += triple.prefix(3 - padding)
    }
    return encode(bytes) == text ? bytes : nil
  }

  private static func value(_ byte: UInt8) -> UInt8? {
    switch byte {
    case UInt8(ascii: "A")...UInt8(ascii: "Z"): byte - UInt8(ascii: "A")
    case UInt8(ascii: "a")...UInt8(ascii: "z"): byte - UInt8(ascii: "a") + 26
    case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0") + 52
    case UInt8(ascii: "+"): 62
    case UInt8(ascii: "/"): 63
    default: nil
    }
  }
}

extension String {
  /// The first hundred scalars of the text, for errors that quote a text of a peer.
  ///
  /// The limit counts scalars, because one character may have a million scalars.
  package var excerpt: String { String(String.UnicodeScalarView(unicodeScalars.prefix(100))) }
}
