/// The unit of positions in texts, as LSP names it.
package enum PositionEncoding: String, Sendable, CaseIterable {
  case utf8 = "utf-8"
  case utf16 = "utf-16"
  case utf32 = "utf-32"

  /// Returns the number of units of a code point.
  ///
  /// - Parameter lead: The first byte of the code point in UTF-8.
  /// - Returns: The number.
  package func width(ofLead lead: UInt8) -> Int {
    switch self {
    case .utf8: lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4
    case .utf16: lead < 0xF0 ? 1 : 2
    case .utf32: 1
    }
  }

  /// Returns the number of units of a text.
  package func count(_ text: String) -> Int {
    switch self {
    case .utf8: text.utf8.count
    case .utf16: text.utf16.count
    case .utf32: text.unicodeScalars.count
    }
  }
}
