import GRDB
import GRDBSQLite

/// A function that SQL calls, given to a connection through SQLite's own interface: GRDB's hands
/// texts over as C strings, which end at their first NUL.
@safe package final class SQLFunction {
  /// What a function is called with, and where its answer goes.
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

    /// The text of an argument, with every NUL that it has; nil for anything but a text.
    package func text(_ index: Int) -> String? {
      guard unsafe sqlite3_value_type(arguments[index]) == SQLITE_TEXT else { return nil }
      return withText(index) { bytes in
        unsafe bytes.withUnsafeBufferPointer { unsafe String(decoding: $0, as: UTF8.self) }
      }
    }

    /// Lends the bytes of an argument to a body, of a number those of its text; nil for null.
    package func withText<Result>(_ index: Int, _ body: (Span<UInt8>) -> Result) -> Result? {
      // Asked for first: it may turn the value into UTF-8, which changes the count.
      guard let start = unsafe sqlite3_value_text(arguments[index]) else { return nil }
      let count = unsafe Int(sqlite3_value_bytes(arguments[index]))
      return unsafe body(UnsafeBufferPointer(start: start, count: count).span)
    }

    /// The number of an argument; nil for anything but an integer.
    package func integer(_ index: Int) -> Int64? {
      guard unsafe sqlite3_value_type(arguments[index]) == SQLITE_INTEGER else { return nil }
      return unsafe sqlite3_value_int64(arguments[index])
    }

    /// The number of an argument; nil for anything but a number.
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
          // The bytes of an empty string may lie nowhere, and a null pointer would answer null.
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

  private init(_ body: @escaping (Call) throws -> Void) {
    self.body = body
  }

  /// Adds a function to a connection, which keeps it for as long as it is open.
  ///
  /// - Parameters:
  ///   - name: Its name in SQL.
  ///   - argumentCount: How many arguments it takes.
  ///   - connection: The connection.
  ///   - body: Called on the connection's thread; it answers once, and the same for the same
  ///     arguments. What it throws is the error of the statement that called it.
  /// - Throws: `SQLiteError` when SQLite does not take it.
  package static func add(
    _ name: String,
    argumentCount: Int32,
    to connection: SQLiteConnection,
    _ body: @escaping (Call) throws -> Void
  ) throws {
    let kept = unsafe Unmanaged.passRetained(SQLFunction(body))
    // SQLite releases what it keeps, also when it does not take it.
    let code = unsafe sqlite3_create_function_v2(
      connection.database.sqliteConnection,
      name,
      argumentCount,
      SQLITE_UTF8 | SQLITE_DETERMINISTIC,
      kept.toOpaque(),
      { context, _, arguments in
        guard let context = unsafe context, let arguments = unsafe arguments,
          let kept = unsafe sqlite3_user_data(context)
        else { return }
        let function = unsafe Unmanaged<SQLFunction>.fromOpaque(kept).takeUnretainedValue()
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
