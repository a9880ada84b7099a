import JSON

/// A file that an import reads in portions, and more than once.
package protocol InputFile {
  /// The number of bytes.
  var count: Int { get }

  /// Reads bytes.
  ///
  /// - Parameter range: A range within the file.
  /// - Returns: The bytes.
  /// - Throws: An error if the file cannot be read.
  func bytes(in range: Range<Int>) throws -> [UInt8]
}

extension Array: InputFile where Element == UInt8 {
  /// Returns a part of the bytes.
  package func bytes(in range: Range<Int>) -> [UInt8] { [UInt8](self[range]) }
}

/// The lines of a file, which is read in portions.
package struct InputLines {
  /// A line without its line end.
  package struct Line {
    /// The number of the line, from 1.
    package let number: Int
    /// The offset of the line's first byte in the file.
    package let offset: Int
    package let bytes: [UInt8]
  }

  /// The maximum length of a line, in bytes: no save may be longer.
  package static let lineBytesMax = 64 << 20
  private static let portionBytes = 1 << 20

  private let file: any InputFile
  private let lineBytesMax: Int
  /// The offset after the last byte to read.
  private let end: Int
  /// The bytes that were read, from `offset` of the file on.
  private var buffer: [UInt8] = []
  private var start = 0
  private var offset: Int
  private var number: Int

  /// Begins to read lines.
  ///
  /// - Parameters:
  ///   - file: The file.
  ///   - range: The part of the file; nil for all of it.
  ///   - firstNumber: The number of the first line.
  ///   - lineBytesMax: The maximum length of a line, in bytes.
  package init(
    _ file: any InputFile,
    in range: Range<Int>? = nil,
    firstNumber: Int = 1,
    lineBytesMax: Int = InputLines.lineBytesMax
  ) {
    self.file = file
    self.lineBytesMax = lineBytesMax
    end = range?.upperBound ?? file.count
    offset = range?.lowerBound ?? 0
    number = firstNumber - 1
  }

  /// Returns the next line, which may be empty; nil at the end.
  ///
  /// - Throws: `PortingError` for a line that is too long; the errors of the file.
  package mutating func next() throws -> Line? {
    var searched = start
    while true {
      let lineEnd = JSONBytes.firstIndex(of: 0x0A, in: buffer.span, from: searched)
      if lineEnd < buffer.count || offset + buffer.count == end {
        guard start < buffer.count else { return nil }
        defer { start = min(lineEnd + 1, buffer.count) }
        number += 1
        return Line(number: number, offset: offset + start, bytes: Array(buffer[start..<lineEnd]))
      }
      guard buffer.count - start <= lineBytesMax else {
        throw PortingError("Line \(number + 1) is longer than \(lineBytesMax) bytes")
      }
      searched = buffer.count - start
      try readPortion()
    }
  }

  private mutating func readPortion() throws {
    offset += start
    buffer.removeSubrange(..<start)
    start = 0
    let first = offset + buffer.count
    buffer += try file.bytes(in: first..<min(first + Self.portionBytes, end))
  }
}

/// A check of the length of lines that are copied to a file before they are read.
///
/// Without this check, an endless input such as `/dev/zero` would fill the disk.
package struct CopiedLines {
  private var start: [UInt8] = []
  private var number = 1
  private var length = 0

  package init() {}

  /// Adds the next bytes.
  ///
  /// - Parameter bytes: The bytes that follow the bytes of the last call.
  /// - Throws: `PortingError` for a line longer than the maximum for this kind of file.
  package mutating func add(_ bytes: ArraySlice<UInt8>) throws {
    start += bytes.prefix(Archive.startBytes - start.count)
    let lengthMax =
      Archive.isStart(start) ? Archive.contentLineBytesMax : InputLines.lineBytesMax
    var rest = bytes
    while let end = rest.firstIndex(of: 0x0A) {
      try add(rest[..<end].count, lengthMax)
      number += 1
      length = 0
      rest = rest[(end + 1)...]
    }
    try add(rest.count, lengthMax)
  }

  private mutating func add(_ count: Int, _ lengthMax: Int) throws {
    length += count
    guard length <= lengthMax else {
      throw PortingError("Line \(number) is longer than \(lengthMax) bytes")
    }
  }
}
