/// A position in a store's history: the history's generation, a commit, and that commit's mark.
///
/// Tokens are opaque to clients. Two tokens are equal if and only if they identify the same
/// position. The text of tokens has no order.
public struct StoreToken: Hashable, Sendable {
  /// The generation of the history.
  ///
  /// It changes when earlier positions are no longer comparable, as after a restore.
  package let generation: UInt32
  /// The number of the commit; 0 is the position before the first commit.
  package let number: Int64
  /// The random mark that distinguishes a lost commit from a later commit with the same number.
  package let mark: UInt32

  package init(generation: UInt32, number: Int64, mark: UInt32) {
    self.generation = generation
    self.number = number
    self.mark = mark
  }

  /// Parses the text of a token, or returns nil if the text is not a token.
  public init?(_ text: String) {
    let parts = text.split(separator: "-", omittingEmptySubsequences: false)
    guard parts.count == 3, let generation = UInt32(parts[0], radix: 16),
      let number = Int64(parts[1]), number >= 0, let mark = UInt32(parts[2], radix: 16)
    else { return nil }
    self.init(generation: generation, number: number, mark: mark)
    guard description == text else { return nil }
  }
}

extension StoreToken: CustomStringConvertible {
  /// The text on the wire.
  public var description: String {
    var text: [UInt8] = []
    text.reserveCapacity(40)
    Self.append(hexadecimal: generation, to: &text)
    text.append(UInt8(ascii: "-"))
    text += "\(number)".utf8
    text.append(UInt8(ascii: "-"))
    Self.append(hexadecimal: mark, to: &text)
    return String(decoding: text, as: UTF8.self)
  }

  /// Appends hexadecimal digits in a third of the time of `String(_:radix:)`.
  ///
  /// Every response has a token, so this time matters.
  private static func append(hexadecimal number: UInt32, to text: inout [UInt8]) {
    for shift in stride(from: max(0, 28 - number.leadingZeroBitCount & ~3), through: 0, by: -4) {
      let digit = UInt8(number >> UInt32(shift) & 15)
      text.append(digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") - 10 + digit)
    }
  }
}
