/// The spelling of names and constants in SQL.
package enum SQLNames {
  /// Returns a name in double quotes.
  package static func quoted(_ name: String) -> String {
    enclosed(name, in: UInt8(ascii: "\""))
  }

  /// Returns a string constant.
  package static func literal(_ text: String) -> String {
    enclosed(text, in: UInt8(ascii: "'"))
  }

  /// Returns a text between two quotes, with each quote in it doubled.
  ///
  /// SQLite reads bytes, so a quote ends a name even if a combining mark or a joiner follows. In
  /// Swift, the quote and the mark form one `Character`.
  private static func enclosed(_ text: String, in quote: UInt8) -> String {
    var bytes = [quote]
    bytes.reserveCapacity(text.utf8.count + 2)
    for byte in text.utf8 {
      if byte == quote { bytes.append(quote) }
      bytes.append(byte)
    }
    bytes.append(quote)
    return String(decoding: bytes, as: UTF8.self)
  }
}
