/// An answer read to its end without being kept: how long it was, and that it held no error.
struct Drain {
  enum End {
    /// A line: a peer that keeps the connection open.
    case endOfLine
    /// The end of the input: a peer that exits.
    case endOfFile
  }

  let byteCount: Int
  /// The beginning, enough to see an error in.
  let beginning: [UInt8]

  init(from descriptor: CInt, until end: End) throws {
    var chunk = [UInt8](repeating: 0, count: 1_048_576)
    var total = 0
    var beginning: [UInt8] = []
    while true {
      let count = try Descriptors.readSome(from: descriptor, into: &chunk, at: 0)
      if beginning.isEmpty { beginning = Array(chunk[..<min(count, 500)]) }
      total += count
      switch end {
      case .endOfLine:
        guard count > 0 else { throw BenchmarkError("The server closed the connection") }
        // A text in line framing has its only newline at the end.
        guard chunk[count - 1] == 0x0A else { continue }
      case .endOfFile:
        guard count == 0 else { continue }
      }
      byteCount = total
      self.beginning = beginning
      return
    }
  }
}
