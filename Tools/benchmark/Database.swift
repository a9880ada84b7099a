import CSQLite

/// A connection to an SQLite file through its C API.
@safe final class Database {
  fileprivate let handle: OpaquePointer

  init(_ path: String) throws {
    var handle: OpaquePointer?
    guard unsafe sqlite3_open(path, &handle) == SQLITE_OK, let handle = unsafe handle else {
      throw BenchmarkError("SQLite cannot open a file")
    }
    unsafe self.handle = unsafe handle
  }

  deinit { unsafe sqlite3_close(handle) }

  func execute(_ sql: String) throws {
    try check(unsafe sqlite3_exec(handle, sql, nil, nil, nil))
  }

  /// The whole number that a query answers with.
  func integer(_ sql: String) throws -> Int64 {
    try prepare(sql).integer()
  }

  func prepare(_ sql: String) throws -> Statement {
    var statement: OpaquePointer?
    try check(unsafe sqlite3_prepare_v2(handle, sql, -1, &statement, nil))
    guard let statement = unsafe statement else { throw BenchmarkError("No statement: \(sql)") }
    return unsafe Statement(statement, self)
  }

  /// Calls a C function that extends this connection.
  func extend(_ register: (OpaquePointer) -> CInt) throws {
    try check(unsafe register(handle))
  }

  func check(_ code: CInt) throws {
    guard code == SQLITE_OK || code == SQLITE_DONE || code == SQLITE_ROW else {
      throw BenchmarkError("SQLite: \(unsafe String(cString: sqlite3_errmsg(handle)))")
    }
  }

  /// A prepared statement; it keeps its connection open.
  @safe final class Statement {
    private let handle: OpaquePointer
    private let database: Database

    fileprivate init(_ handle: OpaquePointer, _ database: Database) {
      unsafe self.handle = unsafe handle
      self.database = database
    }

    deinit { unsafe sqlite3_finalize(handle) }

    func bind(_ number: Int64, at index: CInt) {
      unsafe sqlite3_bind_int64(handle, index, number)
    }

    func bind(_ number: Double, at index: CInt) {
      unsafe sqlite3_bind_double(handle, index, number)
    }

    /// Binds bytes that SQLite copies, as any caller does whose text lives in Swift.
    func bind(_ text: inout String, at index: CInt) {
      text.withUTF8 { bytes in
        // SQLITE_TRANSIENT, a cast that Swift cannot import.
        let copies = unsafe unsafeBitCast(-1, to: sqlite3_destructor_type.self)
        unsafe bytes.withMemoryRebound(to: CChar.self) {
          _ = unsafe sqlite3_bind_text(handle, index, $0.baseAddress, CInt($0.count), copies)
        }
      }
    }

    /// Goes through all rows and looks at every value, as a program does.
    ///
    /// - Returns: How many rows there are.
    func readAll() throws -> Int {
      let columns = unsafe sqlite3_column_count(handle)
      var count = 0
      var bytes: Int64 = 0
      while true {
        let code = unsafe sqlite3_step(handle)
        try database.check(code)
        guard code == SQLITE_ROW else { break }
        count += 1
        for column in 0..<columns {
          if unsafe sqlite3_column_type(handle, column) == SQLITE_TEXT {
            _ = unsafe sqlite3_column_text(handle, column)
            bytes += Int64(unsafe sqlite3_column_bytes(handle, column))
          } else {
            bytes &+= unsafe sqlite3_column_int64(handle, column)
          }
        }
      }
      unsafe sqlite3_reset(handle)
      return bytes == 0 ? 0 : count
    }

    func integer() throws -> Int64 {
      let code = unsafe sqlite3_step(handle)
      try database.check(code)
      guard code == SQLITE_ROW else { throw BenchmarkError("SQLite: there is no row") }
      defer { unsafe sqlite3_reset(handle) }
      return unsafe sqlite3_column_int64(handle, 0)
    }

    func run() throws {
      try database.check(unsafe sqlite3_step(handle))
      unsafe sqlite3_reset(handle)
    }
  }
}
