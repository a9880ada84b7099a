import CSQLite

/// A function that SQL calls, registered through SQLite's C interface.
@safe package final class SQLFunction {
  /// A call of the function: its arguments, and its result.
  @safe package struct Call {
    private let context: OpaquePointer
    private let arguments: UnsafeMutablePointer<OpaquePointer?>

    fileprivate init(
      _ context: OpaquePointer,
      _ arguments: UnsafeMutablePointer<OpaquePointer?>
    ) {
      unsafe self.context = context
      unsafe self.arguments = arguments
    }

    /// Returns the text of an argument, including its NULs; nil for a value that is not a text.
    package func text(_ index: Int) -> String? {
      guard unsafe sqlite3_value_type(arguments[index]) == SQLITE_TEXT else { return nil }
      return withText(index) { bytes in
        unsafe bytes.withUnsafeBufferPointer { unsafe String(decoding: $0, as: UTF8.self) }
      }
    }

    /// Lends the bytes of an argument's text to a body; returns nil when the argument is null.
    ///
    /// A number is converted to text first.
    package func withText<Result>(
      _ index: Int,
      _ body: (Span<UInt8>) throws -> Result
    ) rethrows -> Result? {
      // `sqlite3_value_text` comes first: it may convert the value to UTF-8, which changes the
      // count.
      guard let start = unsafe sqlite3_value_text(arguments[index]) else { return nil }
      let count = unsafe Int(sqlite3_value_bytes(arguments[index]))
      return try unsafe body(UnsafeBufferPointer(start: start, count: count).span)
    }

    /// Returns the bytes of an argument; nil for a value that is not a blob.
    package func blob(_ index: Int) -> [UInt8]? {
      guard unsafe sqlite3_value_type(arguments[index]) == SQLITE_BLOB else { return nil }
      // SQLite returns a null pointer for an empty blob.
      guard let start = unsafe sqlite3_value_blob(arguments[index]) else { return [] }
      let count = unsafe Int(sqlite3_value_bytes(arguments[index]))
      return unsafe Array(UnsafeRawBufferPointer(start: start, count: count))
    }

    /// Returns whether an argument is null.
    package func isNull(_ index: Int) -> Bool {
      unsafe sqlite3_value_type(arguments[index]) == SQLITE_NULL
    }

    /// Returns the integer of an argument; nil for a value that is not an integer.
    package func integer(_ index: Int) -> Int64? {
      guard unsafe sqlite3_value_type(arguments[index]) == SQLITE_INTEGER else { return nil }
      return unsafe sqlite3_value_int64(arguments[index])
    }

    /// Returns the number of an argument; nil for a value that is not a number.
    package func double(_ index: Int) -> Double? {
      switch unsafe sqlite3_value_type(arguments[index]) {
      case SQLITE_INTEGER, SQLITE_FLOAT: unsafe sqlite3_value_double(arguments[index])
      default: nil
      }
    }

    package func answer(_ text: String?) {
      guard var text else { return unsafe sqlite3_result_null(context) }
      // SQLITE_TRANSIENT: SQLite copies the text before it returns.
      let copied = unsafe unsafeBitCast(-1, to: sqlite3_destructor_type.self)
      text.withUTF8 { bytes in
        unsafe bytes.withMemoryRebound(to: CChar.self) { characters in
          // The buffer of an empty string may have no address; a null pointer would return null.
          unsafe characters.isEmpty
            ? sqlite3_result_text(context, "", 0, copied)
            : sqlite3_result_text64(
              context,
              characters.baseAddress,
              UInt64(characters.count),
              copied,
              UInt8(SQLITE_UTF8)
            )
        }
      }
    }

    /// Sets bytes as the result of the call.
    package func answer(_ bytes: ArraySlice<UInt8>) {
      // SQLITE_TRANSIENT: SQLite copies the bytes before it returns.
      let copied = unsafe unsafeBitCast(-1, to: sqlite3_destructor_type.self)
      unsafe bytes.withUnsafeBufferPointer { buffer in
        // An empty buffer may have no address, and a null pointer would return null.
        unsafe buffer.isEmpty
          ? sqlite3_result_zeroblob(context, 0)
          : sqlite3_result_blob64(context, buffer.baseAddress, UInt64(buffer.count), copied)
      }
    }

    package func answer(_ number: Int64) {
      unsafe sqlite3_result_int64(context, number)
    }

    package func answer(_ number: Double?) {
      if let number {
        unsafe sqlite3_result_double(context, number)
      } else {
        unsafe sqlite3_result_null(context)
      }
    }

    package func answer(_ isTrue: Bool?) {
      if let isTrue {
        unsafe sqlite3_result_int64(context, isTrue ? 1 : 0)
      } else {
        unsafe sqlite3_result_null(context)
      }
    }
  }

  private let body: (Call) throws -> Void
  private let progress: ProgressHandler

  private init(_ progress: ProgressHandler, _ body: @escaping (Call) throws -> Void) {
    self.progress = progress
    self.body = body
  }

  /// Adds a function to a connection, for as long as the connection is open.
  ///
  /// - Parameters:
  ///   - name: The function's name in SQL.
  ///   - argumentCount: The number of its arguments.
  ///   - connection: The connection.
  ///   - body: Called on the connection's thread. It sets one result, which must depend on the
  ///     arguments only. The error that it throws becomes the error of the calling statement.
  /// - Throws: `SQLiteError` when SQLite rejects the function.
  package static func add(
    _ name: String,
    argumentCount: Int32,
    to connection: SQLiteConnection,
    _ body: @escaping (Call) throws -> Void
  ) throws {
    try add(name, argumentCount, SQLITE_DETERMINISTIC, connection, body)
  }

  /// Adds a function with a side effect, which SQLite therefore calls for each row.
  ///
  /// - Throws: As `add(_:argumentCount:to:_:)`.
  package static func addEffect(
    _ name: String,
    argumentCount: Int32,
    to connection: SQLiteConnection,
    _ body: @escaping (Call) throws -> Void
  ) throws {
    try add(name, argumentCount, 0, connection, body)
  }

  private static func add(
    _ name: String,
    _ argumentCount: Int32,
    _ flags: Int32,
    _ connection: SQLiteConnection,
    _ body: @escaping (Call) throws -> Void
  ) throws {
    let kept = unsafe Unmanaged.passRetained(SQLFunction(connection.progress, body))
    // SQLite releases the retained object even if it rejects the function.
    let code = unsafe sqlite3_create_function_v2(
      connection.handle,
      name,
      argumentCount,
      // Triggers, views and other SQL in the file's schema cannot call the function.
      SQLITE_UTF8 | SQLITE_DIRECTONLY | flags,
      kept.toOpaque(),
      { context, _, arguments in
        guard let context = unsafe context, let arguments = unsafe arguments,
          let kept = unsafe sqlite3_user_data(context)
        else { return }
        let function = unsafe Unmanaged<SQLFunction>.fromOpaque(kept).takeUnretainedValue()
        guard !function.progress.isStopped else {
          return unsafe sqlite3_result_error_code(context, SQLITE_INTERRUPT)
        }
        do {
          try function.body(unsafe Call(context, arguments))
        } catch {
          let failure = error as? SQLiteError
          unsafe sqlite3_result_error(context, failure?.message ?? "\(error)", -1)
          if let failure {
            unsafe sqlite3_result_error_code(context, failure.extendedCode.rawValue)
          }
        }
      },
      nil,
      nil,
      { kept in
        guard let kept = unsafe kept else { return }
        unsafe Unmanaged<SQLFunction>.fromOpaque(kept).release()
      }
    )
    guard code == SQLITE_OK else { throw SQLiteError(code) }
  }
}
