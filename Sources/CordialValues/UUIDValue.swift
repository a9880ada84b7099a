/// A universally unique identifier (RFC 9562), without Foundation.
public struct UUIDValue: Hashable, Sendable, TextCodable {
  private let high: UInt64
  private let low: UInt64

  /// Creates a UUID from its bits.
  ///
  /// - Parameters:
  ///   - high: The first eight bytes, the first byte in the most significant bits.
  ///   - low: The last eight bytes.
  public init(high: UInt64, low: UInt64) {
    self.high = high
    self.low = low
  }

  /// Parses the text of a UUID, in upper or lower case.
  ///
  /// - Parameter description: `0b3c1f9e-5c7e-4a53-9e57-1f2f3a4b5c6d`; the result is nil for any
  ///   other form.
  public init?(_ description: String) {
    guard let text = UUIDText.canonical(description) else { return nil }
    var halves: (high: UInt64, low: UInt64) = (0, 0)
    for (index, digit) in text.utf8.filter({ $0 != UInt8(ascii: "-") }).enumerated() {
      let value = UInt64(digit < UInt8(ascii: "a") ? digit - 0x30 : digit - 0x57)
      if index < 16 {
        halves.high = halves.high << 4 | value
      } else {
        halves.low = halves.low << 4 | value
      }
    }
    self.init(high: halves.high, low: halves.low)
  }

  /// The text of the UUID, in lower case.
  public var description: String {
    let digits = Array("0123456789abcdef".utf8)
    var text: [UInt8] = []
    for index in 0..<32 {
      if [8, 12, 16, 20].contains(index) { text.append(UInt8(ascii: "-")) }
      let half = index < 16 ? high : low
      text.append(digits[Int(half >> UInt64(60 - index % 16 * 4) & 15)])
    }
    return String(decoding: text, as: UTF8.self)
  }
}
