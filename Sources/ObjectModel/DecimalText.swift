/// Decimal numbers as text.
package enum DecimalText {
  /// Returns the shortest plain notation of a decimal number, or nil if the text is not a decimal
  /// number of at most 38 digits.
  package static func canonical(_ text: String) -> String? {
    canonical(text, digitsMax: 38)
  }

  static func canonical(_ text: String, digitsMax: Int) -> String? {
    var rest = Array(text.utf8)[...]
    let negative = rest.first == UInt8(ascii: "-")
    if negative { rest = rest.dropFirst() }
    // Without `maxSplits`, a text of points alone would be split into as many parts as it has
    // points.
    let parts = rest.split(
      separator: UInt8(ascii: "."),
      maxSplits: 2,
      omittingEmptySubsequences: false
    )
    guard parts.count <= 2, !rest.isEmpty,
      parts.allSatisfy({ part in
        !part.isEmpty && part.allSatisfy { 0x30...0x39 ~= $0 }
      })
    else { return nil }
    var whole = parts[0].drop { $0 == 0x30 }
    var fraction = parts.count == 2 ? parts[1] : []
    while fraction.last == 0x30 { fraction = fraction.dropLast() }
    guard whole.count + fraction.count <= digitsMax else { return nil }
    if whole.isEmpty { whole = [0x30] }
    var bytes = Array(whole)
    if !fraction.isEmpty { bytes += [UInt8(ascii: ".")] + fraction }
    let plain = String(decoding: bytes, as: UTF8.self)
    return negative && plain != "0" ? "-" + plain : plain
  }

  /// Compares two canonical decimals by value; returns a negative number, zero or a positive
  /// number.
  package static func compare(_ first: String, _ second: String) -> Int {
    let firstNegative = first.hasPrefix("-")
    let secondNegative = second.hasPrefix("-")
    guard firstNegative == secondNegative else { return firstNegative ? -1 : 1 }
    let order = compareMagnitudes(
      firstNegative ? first.dropFirst() : first[...],
      secondNegative ? second.dropFirst() : second[...]
    )
    return firstNegative ? -order : order
  }

  private static func compareMagnitudes(_ first: Substring, _ second: Substring) -> Int {
    let a = first.split(separator: ".")
    let b = second.split(separator: ".")
    let wholeA = a.first ?? ""
    let wholeB = b.first ?? ""
    if wholeA.utf8.count != wholeB.utf8.count {
      return wholeA.utf8.count < wholeB.utf8.count ? -1 : 1
    }
    if wholeA != wholeB { return wholeA < wholeB ? -1 : 1 }
    let fractionA = a.count > 1 ? a[1] : ""
    let fractionB = b.count > 1 ? b[1] : ""
    return fractionA == fractionB ? 0 : fractionA < fractionB ? -1 : 1
  }
}
