import CSQLite
import Glibc

/// An error that SQLite reported.
package struct SQLiteError: Error, Sendable, CustomStringConvertible {
  /// One of SQLite's result codes, extended or not.
  package struct Code: RawRepresentable, Hashable, Sendable {
    package let rawValue: Int32

    package init(rawValue: Int32) { self.rawValue = rawValue }

    package static let busy = Code(rawValue: SQLITE_BUSY)
    package static let locked = Code(rawValue: SQLITE_LOCKED)
    package static let full = Code(rawValue: SQLITE_FULL)
    package static let noMemory = Code(rawValue: SQLITE_NOMEM)
    package static let inputOutput = Code(rawValue: SQLITE_IOERR)
    package static let inputOutputShortRead = Code(rawValue: SQLITE_IOERR | 2 << 8)
    package static let inputOutputWrite = Code(rawValue: SQLITE_IOERR | 3 << 8)
    package static let inputOutputSharedMemorySize = Code(rawValue: SQLITE_IOERR | 19 << 8)
    /// The file has a rollback journal, which only a writing connection can apply.
    package static let readOnlyRollback = Code(rawValue: SQLITE_READONLY | 3 << 8)
    package static let corrupt = Code(rawValue: SQLITE_CORRUPT)
    package static let notADatabase = Code(rawValue: SQLITE_NOTADB)
    package static let readOnly = Code(rawValue: SQLITE_READONLY)
    package static let permission = Code(rawValue: SQLITE_PERM)
    package static let cannotOpen = Code(rawValue: SQLITE_CANTOPEN)
    package static let interrupted = Code(rawValue: SQLITE_INTERRUPT)
    package static let tooBig = Code(rawValue: SQLITE_TOOBIG)
    package static let error = Code(rawValue: SQLITE_ERROR)
    package static let misuse = Code(rawValue: SQLITE_MISUSE)
    package static let constraint = Code(rawValue: SQLITE_CONSTRAINT)
    package static let constraintCheck = Code(rawValue: SQLITE_CONSTRAINT | 1 << 8)
    package static let constraintNotNull = Code(rawValue: SQLITE_CONSTRAINT | 5 << 8)
    package static let constraintPrimaryKey = Code(rawValue: SQLITE_CONSTRAINT | 6 << 8)
    package static let constraintUnique = Code(rawValue: SQLITE_CONSTRAINT | 8 << 8)
    package static let constraintDatatype = Code(rawValue: SQLITE_CONSTRAINT | 12 << 8)
  }

  /// SQLite's extended code.
  package let extendedCode: Code
  /// SQLite's message, nil when only the code is known.
  package let message: String?
  /// The statement that failed, nil when it is not known.
  package let sql: String?

  /// Whether SQLite could not open a file because the process had no file descriptor left.
  package let lacksDescriptors: Bool

  /// The code without its extension.
  package var code: Code { Code(rawValue: extendedCode.rawValue & 0xFF) }

  /// Whether the database's file is damaged.
  ///
  /// For some damaged tables, FTS5 reports only the generic message of `SQLITE_ERROR`. Other errors
  /// in a statement have specific messages. A damaged column name in the schema causes the message
  /// `no such column`.
  package var isDamage: Bool {
    switch code {
    case .corrupt, .notADatabase: true
    case .error: message == "SQL logic error" || message?.hasPrefix("no such column") == true
    default: false
    }
  }

  package init(_ code: Code, _ message: String? = nil, sql: String? = nil) {
    extendedCode = code
    self.message = message
    self.sql = sql
    lacksDescriptors = false
  }

  /// Creates the error for a result code of SQLite's C interface.
  ///
  /// Call the initializer directly after the failure, because it checks for free file descriptors.
  init(_ code: Int32, _ message: String? = nil, sql: String? = nil) {
    extendedCode = Code(rawValue: code)
    self.message = message
    self.sql = sql
    lacksDescriptors = code & 0xFF == SQLITE_CANTOPEN && !Self.hasDescriptors
  }

  /// Whether the process can open as many files as SQLite needs for a database.
  ///
  /// SQLite needs the database, its log and their shared memory, or a temporary file. After a
  /// failure, SQLite has closed the files that it could open.
  private static var hasDescriptors: Bool {
    var files: [Int32] = []
    defer { for file in files { _ = close(file) } }
    for _ in 0..<4 {
      let file = unsafe open("/dev/null", O_RDONLY | O_CLOEXEC)
      guard file >= 0 else { return errno != EMFILE && errno != ENFILE }
      files.append(file)
    }
    return true
  }

  package var description: String {
    let statement = sql.map { " - while executing `\($0)`" } ?? ""
    return "SQLite error \(extendedCode.rawValue): \(message ?? "no message")\(statement)"
  }
}
