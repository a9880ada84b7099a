extension CommaSeparated {
  /// The records of a file, which is read in portions.
  struct Records {
    /// A record, with the number of its first line.
    typealias Record = (line: Int, fields: [Field])

    /// The position of the reader in a field.
    ///
    /// A quote at the beginning of a field starts quoted text. The next quote that is not doubled
    /// ends the text.
    private enum Position {
      /// In a field without quotes, or at its beginning.
      case unquoted
      /// Between the quotes.
      case quoted
      /// After the closing quote.
      case closed
    }

    private static let portionBytes = 1 << 20
    /// The maximum number of fields of a record, more than the properties that an entity can have.
    private static let fieldsMax = 10_000

    private let file: any InputFile
    private var portion: [UInt8] = []
    private var index = 0
    /// The offset in the file after the portion.
    private var offset = 0
    private var line = 1
    private var position = Position.unquoted
    private var fields: [Field] = []
    private var field: [UInt8] = []
    /// The number of the line in which the field begins.
    private var fieldLine = 1

    /// Begins to read a file, after its byte order mark if it has one.
    init(_ file: any InputFile) throws {
      self.file = file
      let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
      if try file.bytes(in: 0..<min(3, file.count)) == mark { offset = 3 }
    }

    /// Returns the next record and skips empty lines; returns nil at the end.
    ///
    /// - Throws: `PortingError` with the line, for bytes that are not UTF-8, a quote that is not
    ///   closed, a text after a closing quote, a carriage return that ends no line, and a record
    ///   that is too long; the errors of the file.
    mutating func next() throws -> Record? {
      while try peek() != nil {
        let first = line
        try readRecord()
        defer { fields = [] }
        // An empty line is no record.
        if fields != [Field(text: "")] { return (first, fields) }
      }
      return nil
    }

    /// Returns the next byte without consuming it; nil at the end.
    private mutating func peek() throws -> UInt8? {
      if index == portion.count {
        guard offset < file.count else { return nil }
        let end = min(offset + Self.portionBytes, file.count)
        portion = try file.bytes(in: offset..<end)
        offset = end
        index = 0
      }
      return portion[index]
    }

    private mutating func readRecord() throws {
      let first = line
      var length = 0
      while let byte = try peek() {
        index += 1
        length += 1
        guard length <= InputLines.lineBytesMax else {
          throw PortingError("Line \(first): the record is longer than \(length - 1) bytes")
        }
        switch (position, byte) {
        case (.quoted, quote):
          if try peek() == quote {
            field.append(quote)
            index += 1
          } else {
            position = .closed
          }
        case (.quoted, _):
          if byte == lineFeed { line += 1 }
          field.append(byte)
        case (.unquoted, quote) where field.isEmpty: position = .quoted
        case (_, comma): try endField()
        case (_, carriageReturn):
          let next = try peek()
          guard next == nil || next == lineFeed else {
            throw PortingError(
              "Line \(line): a carriage return ends no line; a text that has one needs quotes"
            )
          }
        case (_, lineFeed):
          try endField()
          line += 1
          fieldLine = line
          return
        case (.closed, _):
          throw PortingError(
            "Line \(line): a text follows a closing quote; double a quote in a text"
          )
        case (.unquoted, _): field.append(byte)
        }
      }
      guard position != .quoted else { throw PortingError("Line \(first): a quote is not closed") }
      try endField()
    }

    /// Ends a field, and refuses bytes that are not UTF-8, because decoding would replace them.
    private mutating func endField() throws {
      do {
        _ = try UTF8Span(validating: field.span)
      } catch {
        let offset = error.byteOffsets.lowerBound
        let line = fieldLine + field[..<offset].count { $0 == lineFeed }
        let digits = String(field[offset], radix: 16, uppercase: true)
        throw PortingError(
          "Line \(line): the byte 0x\(digits) is not UTF-8; save the file as UTF-8"
        )
      }
      guard fields.count < Self.fieldsMax else {
        throw PortingError("Line \(line): the record has more than \(Self.fieldsMax) fields")
      }
      let text = String(decoding: field, as: UTF8.self)
      fields.append(Field(text: text, isQuoted: position == .closed))
      field = []
      fieldLine = line
      position = .unquoted
    }
  }
}
