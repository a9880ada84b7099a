import Glibc
import JSON

/// The output for a person.
enum Terminal {
  /// Whether standard output is a terminal.
  static var isOutput: Bool { isatty(1) == 1 }

  /// Whether a person wants colours on standard output.
  static var hasColors: Bool {
    func variable(_ name: String) -> String {
      unsafe getenv(name).map { unsafe String(cString: $0) } ?? ""
    }
    return isOutput && variable("NO_COLOR").isEmpty && variable("TERM") != "dumb"
  }

  /// Whether standard error is a terminal.
  static var isError: Bool { isatty(2) == 1 }

  /// Writes one line to standard output.
  static func line(_ text: String) {
    write(text + "\n", to: 1)
  }

  /// Writes text to standard error, unchanged.
  static func note(_ text: String) {
    write(text, to: 2)
  }

  /// Writes a sentence about an error to standard error, and a hint.
  static func complain(_ message: String, hint: String?) {
    note("cordial: \(message)\n")
    if let hint { note("  \(hint)\n") }
  }

  /// Writes text to standard output, unchanged.
  static func raw(_ text: String) {
    write(text, to: 1)
  }

  /// The number of lines and columns of the terminal; 24 and 80 where it does not tell them.
  static var size: (lines: Int, columns: Int) {
    var size = winsize()
    guard unsafe ioctl(1, UInt(TIOCGWINSZ), &size) == 0, size.ws_row > 0, size.ws_col > 0 else {
      return (24, 80)
    }
    return (Int(size.ws_row), Int(size.ws_col))
  }

  private static func write(_ text: String, to descriptor: CInt) {
    var text = text
    text.withUTF8 { bytes in
      var done = 0
      while done < bytes.count {
        let written = unsafe Glibc.write(
          descriptor,
          bytes.baseAddress.map { unsafe $0 + done },
          bytes.count - done
        )
        if written < 0, errno == EINTR { continue }
        guard written > 0 else { return handleWriteFailure(descriptor) }
        done += written
      }
    }
  }

  /// Ends the process with an error when standard output cannot be written.
  private static func handleWriteFailure(_ descriptor: CInt) {
    guard descriptor == 1 else { return }
    // A reader that stops early, as head does, is not an error.
    if errno != EPIPE { note("cordial: Standard output cannot be written\n") }
    exit(1)
  }

  /// Returns objects as an aligned table for a terminal; long cells are shortened.
  static func table(_ objects: [JSONValue]) -> String {
    var names: [String] = []
    let lines = objects.map { object -> [JSONMember] in
      // A row of values has no ID. An object has its values in the member `values`.
      guard let id = object["id"], let values = object["values"]?.members else {
        return object.members ?? []
      }
      return [JSONMember("id", id)] + values
    }
    for member in lines.joined() where !names.contains(member.name) { names.append(member.name) }
    var rows = [names]
    for line in lines {
      rows.append(names.map { name in cell(JSONValue.object(line)[name] ?? .null) })
    }
    let widths = names.indices.map { column in
      min(cellMax, rows.map { $0[column].count }.max() ?? 0)
    }
    return rows.map { row in
      row.indices.map { column in
        let text =
          row[column].count > cellMax ? row[column].prefix(cellMax - 1) + "…" : row[column][...]
        return column == row.count - 1
          ? String(text) : text + String(repeating: " ", count: widths[column] - text.count)
      }.joined(separator: "  ")
    }.joined(separator: "\n")
  }

  private static let cellMax = 48

  private static func cell(_ value: JSONValue) -> String {
    switch value {
    case .null: ""
    case .string(let text): text.split(whereSeparator: \.isNewline).joined(separator: " ")
    default: value.text
    }
  }
}
