import CordialValues
package import JSON
import ObjectModel
import PersistentHistory
import SQLite
import StoreLayout

/// The whole content of a store as JSON values, similar to `.dump` in SQLite's shell.
///
/// The content includes the log, and the number and version of each object. The values are, in this
/// order:
/// 1. For each table, `{"schema": "CREATE TABLE …"}`.
/// 2. For each table with rows, `{"table": …, "columns": […]}`, then `{"row": […]}` for each row.
///    Before a row, there is `{"binary": "base64", "column": 2}` for each binary value of the row.
/// 3. The schemas of indexes, triggers and views.
package enum StoreDump {
  /// Writes the content of a store that no process changes.
  ///
  /// - Parameters:
  ///   - source: The store, such as a backup.
  ///   - add: Called with each value.
  /// - Returns: The number of objects.
  /// - Throws: `StoreError`, such as for a virtual table of another program; the errors of `add`.
  package static func write(
    _ source: StoreContainer,
    _ add: (JSONValue) throws -> Void
  ) throws -> Int64 {
    let reader = try StoreConnection.open(source.storePath, .reader)
    let objects = try reader.use { db in
      let schema = try db.rows(
        "SELECT type, name, sql FROM sqlite_master WHERE sql IS NOT NULL "
          + "AND substr(name, 1, 7) <> 'sqlite_' ORDER BY rowid"
      ) { (kind: $0.text(0), name: $0.text(1), sql: $0.text(2)) }
      if let table = schema.first(where: { $0.sql.uppercased().hasPrefix("CREATE VIRTUAL") }) {
        throw StoreError(
          .invalidRequest,
          "The virtual table \(table.name) of another program cannot be in an archive",
          hint: "Drop the table, or make a backup instead"
        )
      }
      let text = try StoreMetadata.model.value(db) ?? ""
      let entities = Set(
        try ModelDocument.parse(Array(text.utf8).span).concreteEntities.map(\.name)
      )
      let tables = schema.filter { $0.kind == "table" }
      for table in tables { try add(["schema": .string(table.sql)]) }
      var objects: Int64 = 0
      for name in tables.map(\.name) + ["sqlite_sequence"] where try db.hasTable(name) {
        let rows = try writeRows(of: name, db, add)
        if entities.contains(name) { objects += rows }
      }
      for other in schema where other.kind != "table" { try add(["schema": .string(other.sql)]) }
      return objects
    }
    try reader.close()
    return objects
  }

  private static func writeRows(
    of table: String,
    _ db: SQLiteConnection,
    _ add: (JSONValue) throws -> Void
  ) throws -> Int64 {
    let columns = try db.rows("SELECT name FROM pragma_table_info(?)", [table]) { $0.text(0) }
    let list = columns.map(SQLNames.quoted).joined(separator: ", ")
    let rows = try PreparedStatement(db, "SELECT \(list) FROM \(SQLNames.quoted(table))")
    defer { rows.reset() }
    var count: Int64 = 0
    while try rows.step() {
      if count == 0 {
        try add(["table": .string(table), "columns": .array(columns.map { .string($0) })])
      }
      count += 1
      var values: [JSONValue] = []
      for column in columns.indices {
        let index = Int32(column)
        if rows.storage(index) == .blob {
          let text = Base64Text.encode(rows.blob(index))
          try add(["binary": .string(text), "column": .integer(Int64(column))])
          values.append(.null)
        } else {
          values.append(value(rows, index))
        }
      }
      try add(["row": .array(values)])
    }
    return count
  }

  private static func value(_ row: PreparedStatement, _ column: Int32) -> JSONValue {
    switch row.storage(column) {
    case .null, .blob: .null
    case .integer: .integer(row.integer(column))
    case .real:
      row.double(column).isFinite
        ? .number(row.double(column)) : ["real": .string("\(row.double(column))")]
    case .text:
      // An external client may store bytes that are not UTF-8.
      row.withBytes(column, UTF8Check.isValid)
        ? .string(row.text(column)) : ["text": .string(Base64Text.encode(row.blob(column)))]
    }
  }

  // MARK: Reading

  /// Creates a store from the values that `write` produced for an existing store.
  ///
  /// - Parameters:
  ///   - next: Returns the next line, which has one value or is empty; nil at the end. Errors count
  ///     the first returned line as line 2.
  ///   - target: The folder to create, which must not exist.
  ///   - environment: The source of the new generation.
  /// - Throws: `StoreError`; the errors of `next`. The target then does not exist.
  package static func read(
    _ next: () throws -> [UInt8]?,
    to target: StoreContainer,
    environment: StoreEnvironment
  ) throws {
    let partial = StoreContainer(
      path: target.path + ".archive-" + String(environment.random(), radix: 16)
    )
    try partial.prepare()
    defer { partial.remove() }
    do {
      let writer = try StoreConnection.open(partial.storePath, .writer)
      // Triggers stay off, because the archive's triggers could log the rows again, or have any
      // other effect.
      try writer.use { db in try db.setFiresTriggers(false) }
      try writer.write { db in
        var content = StoredContent(db)
        try content.add(next)
        guard try StoreMetadata.generation.value(db) != nil else {
          throw StoredContent.failure("it lacks the store's metadata")
        }
      }
      try writer.use { db in
        if let damage = try db.text("PRAGMA quick_check(1)"), damage != "ok" {
          throw StoredContent.failure("it is damaged: \(damage)")
        }
        try db.checkpoint()
      }
      try writer.close()
      try StoreFile.read(at: partial.storePath, role: .reader, requested: nil) {
        StoredContent.failure($0.clause)
      }
    } catch let error as SQLiteError {
      throw StoreError(any: error)
    }
    _ = try StoreBackup.copy(partial, to: target, environment: environment)
  }
}

/// A builder that writes the content of an archive to the empty file of a new store.
private struct StoredContent {
  static func failure(_ reason: String) -> StoreError {
    StoreError(
      .invalidRequest,
      "The archive does not have the content of a store: \(reason)",
      hint: "Export it again; nothing was created"
    )
  }

  /// The error for a line that `StoreDump.write` never produces.
  private struct UnknownLine: Error {}

  private let db: SQLiteConnection
  private var table = ""
  private var columns: [String] = []
  private var binaries: [Int: [UInt8]] = [:]
  private var statements = TextCache<PreparedStatement>(countMax: 256, bytesMax: 8 << 20)

  init(_ db: SQLiteConnection) { self.db = db }

  mutating func add(_ next: () throws -> [UInt8]?) throws {
    var number = 1
    while let line = try next() {
      number += 1
      guard !line.isEmpty else { continue }
      do {
        try add(try JSONParser.parse(line.span))
      } catch is UnknownLine {
        throw Self.failure("line \(number) is no part of one")
      } catch let error as JSONError {
        throw Self.failure("line \(number) is not JSON (\(error.message))")
      } catch {
        throw Self.failure("line \(number) is wrong (\(StoreError(any: error).message))")
      }
    }
  }

  private mutating func add(_ line: JSONValue) throws {
    if let sql = line["schema"]?.string {
      try create(sql)
    } else if let table = line["table"]?.string, let columns = line["columns"]?.array {
      self.table = table
      self.columns = columns.compactMap(\.string)
      // SQLite added rows to this table when objects were inserted. The archive's rows replace
      // them.
      if table == "sqlite_sequence" { try db.execute("DELETE FROM sqlite_sequence") }
    } else if let text = line["binary"]?.string, let column = line["column"]?.integer,
      let bytes = Base64Text.decode(text)
    {
      binaries[Int(column)] = bytes
    } else if let row = line["row"]?.array, row.count == columns.count {
      try insert(row)
      binaries = [:]
    } else {
      throw UnknownLine()
    }
  }

  /// Runs one statement that creates a part of a store, and refuses every other statement.
  private func create(_ sql: String) throws {
    let kinds = ["TABLE", "INDEX", "UNIQUE INDEX", "TRIGGER", "VIEW"]
    guard kinds.contains(where: { sql.hasPrefix("CREATE \($0) ") }) else { throw UnknownLine() }
    // `CREATE TABLE … AS SELECT` would run a query of any length.
    guard !sql.hasPrefix("CREATE TABLE ") || Self.hasColumns(sql) else { throw UnknownLine() }
    // SQLite prepares the first statement of a text, and ignores the rest.
    try PreparedStatement(db, sql).run()
  }

  /// Returns whether the definition of a table has a list of columns after the name.
  private static func hasColumns(_ sql: String) -> Bool {
    var rest = sql.utf8.dropFirst("CREATE TABLE ".utf8.count)
    if let quote = rest.first, let end = closingQuotes[quote] {
      repeat {
        guard let close = rest.dropFirst().firstIndex(of: end) else { return false }
        rest = rest[rest.index(after: close)...]
        // A doubled quote belongs to the name.
      } while rest.first == end && end == quote
    } else {
      rest = rest.drop { $0 >= 0x80 || $0 == 0x5F || $0 == 0x24 || isAlphanumeric($0) }
    }
    while let byte = rest.first {
      switch byte {
      case 0x20, 0x09, 0x0A, 0x0C, 0x0D: rest = rest.dropFirst()
      case UInt8(ascii: "-") where rest.starts(with: "--".utf8):
        rest = rest.drop { $0 != 0x0A }
      case UInt8(ascii: "/") where rest.starts(with: "/*".utf8):
        rest = rest.dropFirst(2)
        while !rest.isEmpty, !rest.starts(with: "*/".utf8) { rest = rest.dropFirst() }
        rest = rest.dropFirst(2)
      default: return byte == UInt8(ascii: "(")
      }
    }
    return false
  }

  private static let closingQuotes: [UInt8: UInt8] = [
    UInt8(ascii: "\""): UInt8(ascii: "\""), UInt8(ascii: "'"): UInt8(ascii: "'"),
    UInt8(ascii: "`"): UInt8(ascii: "`"), UInt8(ascii: "["): UInt8(ascii: "]"),
  ]

  private static func isAlphanumeric(_ byte: UInt8) -> Bool {
    (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte & 0xDF)
  }

  private mutating func statement(_ sql: String) throws -> PreparedStatement {
    if let known = statements[sql] { return known }
    let statement = try PreparedStatement(db, sql)
    statements.insert(statement, for: sql, valueBytes: statement.bytes)
    return statement
  }

  private mutating func insert(_ row: [JSONValue]) throws {
    let places = row.map { $0["text"] == nil ? "?" : "CAST(? AS TEXT)" }.joined(separator: ", ")
    let names = columns.map(SQLNames.quoted).joined(separator: ", ")
    let sql = "INSERT INTO \(SQLNames.quoted(table))(\(names)) VALUES (\(places))"
    let statement = try statement(sql)
    statement.clearArguments()
    for (index, value) in row.enumerated() {
      let place = Int32(index + 1)
      if let bytes = binaries[index] {
        statement.bind(bytes, at: place)
        continue
      }
      switch value {
      case .null: break
      case .integer(let number): statement.bind(number, at: place)
      case .number(let number): statement.bind(number, at: place)
      case .string(let text): statement.bind(text, at: place)
      case .object:
        if let bytes = value["text"]?.string.flatMap(Base64Text.decode) {
          statement.bind(bytes, at: place)
        } else if let number = value["real"]?.string.flatMap(Double.init) {
          statement.bind(number, at: place)
        } else {
          throw UnknownLine()
        }
      case .bool, .array: throw UnknownLine()
      }
    }
    try statement.run()
  }
}
