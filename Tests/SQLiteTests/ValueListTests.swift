import SQLite
import TestStores
import Testing

@Suite struct `A list of values in one argument` {
  private let queue: SQLiteQueue

  init() throws {
    var options = SQLiteQueue.Options()
    options.isScratch = true
    options.prepare = { try $0.addValueLists() }
    queue = try SQLiteQueue(path: "", options)
  }

  private func rows(_ bytes: [UInt8]) throws -> [String] {
    try queue.use { db in
      let select = try PreparedStatement(
        db,
        "SELECT typeof(value) || ' ' || quote(value) || ' ' || octet FROM "
          + "(SELECT value, length(CAST(value AS BLOB)) AS octet FROM cordial_values(?))"
      )
      defer { select.reset() }
      select.bind(bytes, at: 1)
      var rows: [String] = []
      while try select.step() { rows.append(select.text(0)) }
      return rows
    }
  }

  @Test func `has the values in their types and order`() throws {
    var list = ValueList()
    list.append(Int64.min)
    list.append(0.1)
    list.append("é\0x")
    list.append("")
    list.append([0, 255])
    list.append([] as [UInt8])
    list.append(7 as Int64)
    #expect(
      try rows(list.bytes) == [
        "integer -9223372036854775808 20", "real 0.1 3", "text 'é' 4", "text '' 0",
        "blob X'00FF' 2", "blob X'' 0", "integer 7 1",
      ]
    )
    var nulls = ValueList()
    nulls.appendNull()
    nulls.appendNull()
    try queue.use { db in
      let counts = try PreparedStatement(db, "SELECT count(*), count(value) FROM cordial_values(?)")
      counts.bind(nulls.bytes, at: 1)
      #expect(try counts.step())
      #expect(counts.integer(0) == 2 && counts.integer(1) == 0)
      counts.reset()
    }
    #expect(try rows([]) == [])
  }

  @Test func `is an error where it is damaged`() throws {
    var list = ValueList()
    list.append("text")
    list.append(1 as Int64)
    for end in 1..<list.bytes.count where end != 9 {
      #expect(throws: SQLiteError.self) { try rows(Array(list.bytes[..<end])) }
    }
    #expect(throws: SQLiteError.self) { try rows([200]) }
    #expect(throws: SQLiteError.self) { try rows([3, 255, 255, 255, 255, 0]) }
  }

  @Test func `is no list where it is no blob, and none without an argument`() throws {
    let counts = try queue.use { db in
      try ["'text'", "NULL"].map { try db.integer("SELECT count(*) FROM cordial_values(\($0))") }
    }
    #expect(counts == [0, 0])
    #expect(throws: SQLiteError.self) {
      try queue.use { try $0.integer("SELECT count(*) FROM cordial_values") }
    }
  }

  @Test func `has rows for each of several lists`() throws {
    var list = ValueList()
    for number in 1...3 as ClosedRange<Int64> { list.append(number) }
    try queue.use { db in
      let pairs = try PreparedStatement(
        db,
        "SELECT sum(a.value * 10 + b.value) FROM cordial_values(?1) a, cordial_values(?1) b "
          + "WHERE a.value IN cordial_values(?1)"
      )
      pairs.bind(list.bytes, at: 1)
      #expect(try pairs.step())
      #expect(pairs.integer(0) == 198)
      pairs.reset()
    }
  }
}
