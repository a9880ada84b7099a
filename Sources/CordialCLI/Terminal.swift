import CordialProtocol
import Glibc
import JSON
import LiveTable

/// The output for a person.
///
/// No text of a store, a file or another process can control a terminal. If the output is a
/// terminal, all functions except `raw` make control characters visible. If the output is not a
/// terminal, the functions write every text unchanged.
enum Terminal {
  /// Whether standard output is a terminal.
  static let isOutput = isatty(1) == 1

  /// Whether a person wants colours on standard output.
  static var hasColors: Bool {
    func variable(_ name: String) -> String {
      unsafe getenv(name).map { unsafe String(cString: $0) } ?? ""
    }
    return isOutput && variable("NO_COLOR").isEmpty && variable("TERM") != "dumb"
  }

  /// Whether standard error is a terminal.
  static let isError = isatty(2) == 1

  /// Writes one line to standard output.
  static func line(_ text: String) {
    self.text(text + "\n")
  }

  /// Writes text that includes its line ends to standard output.
  static func text(_ text: String) {
    write(isOutput ? VisibleText.lines(text) : text, to: 1)
  }

  /// Writes text that includes its line ends to standard error.
  static func note(_ text: String) {
    write(isError ? VisibleText.lines(text) : text, to: 2)
  }

  /// Writes text that includes its line ends to standard error, without waiting.
  ///
  /// Drops the rest of the text when standard error accepts no more bytes, because a service must
  /// not wait for a reader of its log output.
  static func log(_ text: String) {
    write(isError ? VisibleText.lines(text) : text, to: 2, mayWait: false)
  }

  /// Overwrites the current line on standard error; writes nothing if standard error is no
  /// terminal.
  static func progress(_ text: String) {
    if isError { write("\r" + VisibleText.line(text), to: 2) }
  }

  /// Writes an error message and a hint to standard error.
  static func complain(_ message: String, hint: String?) {
    note("cordial: \(message)\n")
    if let hint { note("  \(hint)\n") }
  }

  /// Writes text with the program's own control sequences to standard output, unchanged.
  ///
  /// The caller passes the other parts of the text through `CellText` or `VisibleText`.
  static func raw(_ text: String) {
    write(text, to: 1)
  }

  /// The numbers of lines and columns of the terminal; 24 and 80 if it does not report them.
  static var size: (lines: Int, columns: Int) {
    var size = winsize()
    guard unsafe ioctl(1, UInt(TIOCGWINSZ), &size) == 0, size.ws_row > 0, size.ws_col > 0 else {
      return (24, 80)
    }
    return (Int(size.ws_row), Int(size.ws_col))
  }

  /// The minimum number of bytes that a writable pipe accepts without blocking.
  private static let pipeBytesMin = Int(PIPE_BUF)

  private static func write(_ text: String, to descriptor: CInt, mayWait: Bool = true) {
    var text = text
    text.withUTF8 { bytes in
      var done = 0
      while done < bytes.count {
        var room = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        let hasRoom = unsafe poll(&room, 1, 0) == 1
        guard mayWait || hasRoom else { return }
        let rest = bytes.count - done
        let written = unsafe Glibc.write(
          descriptor,
          bytes.baseAddress.map { unsafe $0 + done },
          mayWait ? rest : min(rest, pipeBytesMin)
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
      guard let id = object[.id], let values = object[.values]?.members else {
        return object.members ?? []
      }
      return [JSONMember(.id, id)] + values
    }
    for member in lines.joined() where !names.contains(member.name) { names.append(member.name) }
    var rows = [names.map { CellText.text(.string($0)) }]
    for line in lines {
      let values = JSONValue.object(line)
      rows.append(names.map { CellText.text(values[$0] ?? .null) })
    }
    let widths = names.indices.map { column in
      min(cellMax, rows.map { CellText.width($0[column]) }.max() ?? 0)
    }
    return rows.map { row in
      var line = zip(row, widths).map { CellText.fitted($0, to: $1) }.joined(separator: "  ")
      while line.last == " " { line.removeLast() }
      return line
    }.joined(separator: "\n")
  }

  /// The maximum number of columns of a cell.
  private static let cellMax = 48
}
