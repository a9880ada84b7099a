import CSQLite

/// A connection of another program to a SQLite file, which knows nothing of Cordial.
///
/// It waits while the service writes. It ends with its last user, or with `close`.
@safe package final class ForeignConnection {
  /// What SQLite reports for a statement of the other program.
  package struct Failure: Error, Equatable, CustomStringConvertible {
    package let code: Int32
    package let description: String
  }

  /// A value in a row.
  package enum Value: Equatable, CustomStringConvertible {
    case null
    case integer(Int64)
    case real(Double)
    case text(String)
    case blob([UInt8])

    package var description: String {
      switch self {
      case .null: "null"
      case .integer(let number): "\(number)"
      case .real(let number): "\(number)"
      case .text(let text): text
      case .blob(let bytes): "\(bytes)"
      }
    }
  }

  private static let waitMilliseconds: Int32 = 60_000
  private var handle: OpaquePointer?

  /// Opens a file; creates a missing one.
  package init(_ path: String) throws {
    try check(unsafe sqlite3_open(path, &handle))
    unsafe sqlite3_busy_timeout(handle, Self.waitMilliseconds)
  }

  deinit { unsafe sqlite3_close_v2(handle) }

  package func close() throws {
    try check(unsafe sqlite3_close(handle))
    unsafe handle = nil
  }

  /// Runs SQL of one statement or several.
  package func execute(_ sql: String) throws {
    try check(unsafe sqlite3_exec(handle, sql, nil, nil, nil))
  }

  /// The number of rows that the last writing statement changed.
  package var changes: Int { unsafe Int(sqlite3_changes(handle)) }

  /// Returns the rows of a query.
  package func rows(_ sql: String) throws -> [[Value]] {
    var statement: OpaquePointer?
    try check(unsafe sqlite3_prepare_v2(handle, sql, -1, &statement, nil))
    defer { unsafe sqlite3_finalize(statement) }
    var rows: [[Value]] = []
    while true {
      let code = unsafe sqlite3_step(statement)
      guard code == SQLITE_ROW else {
        if code != SQLITE_DONE { try check(code) }
        return rows
      }
      let columns = 0..<(unsafe sqlite3_column_count(statement))
      rows.append(columns.map { unsafe Self.value(statement, $0) })
    }
  }

  /// Returns the first value of each row of a query.
  package func values(_ sql: String) throws -> [Value] { try rows(sql).map { $0[0] } }

  private static func value(_ statement: OpaquePointer?, _ column: Int32) -> Value {
    switch unsafe sqlite3_column_type(statement, column) {
    case SQLITE_INTEGER: return unsafe .integer(sqlite3_column_int64(statement, column))
    case SQLITE_FLOAT: return unsafe .real(sqlite3_column_double(statement, column))
    case SQLITE_NULL: return .null
    case let type:
      let start = unsafe sqlite3_column_blob(statement, column)
      let count = unsafe Int(sqlite3_column_bytes(statement, column))
      let bytes = unsafe UnsafeRawBufferPointer(start: start, count: start == nil ? 0 : count)
      return unsafe type == SQLITE_TEXT
        ? .text(String(decoding: bytes, as: UTF8.self)) : .blob(Array(bytes))
    }
  }

  private func check(_ code: Int32) throws {
    guard code != SQLITE_OK else { return }
    throw Failure(code: code, description: unsafe String(cString: sqlite3_errmsg(handle)))
  }
}
