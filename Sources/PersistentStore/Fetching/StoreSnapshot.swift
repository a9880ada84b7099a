package import CordialValues
package import JSON
package import ObjectModel
package import PersistentHistory
import SQLite
import StoreLayout

/// The state of a store in one read transaction.
package struct StoreSnapshot {
  let reader: StoreReader
  package let log: HistoryLog
  package let head: HistoryHead
  /// Whether an external client has made unsealed changes, which the snapshot hides.
  package let hidesUnsealedChanges: Bool

  package var model: Model { reader.model }

  /// The position that this snapshot shows.
  package var token: StoreToken { reader.token(head) }

  /// The number of statements that the snapshot's connection has run so far.
  package var statementCount: Int { reader.statementCount }

  func statement(_ sql: String) throws -> PreparedStatement {
    try reader.statement(sql)
  }

  // MARK: Positions

  /// Returns the commit of a token.
  ///
  /// - Parameter token: A position that a client sent.
  /// - Returns: The number of the commit.
  /// - Throws: `historyExpired` when this store never had such a commit, or no longer retains it.
  package func position(of token: StoreToken) throws -> Int64 {
    guard try reader.commits.entry(of: token) != nil else {
      throw StoreError.noCommit(token, oldest: try oldest())
    }
    return token.number
  }

  /// Returns the commit that directly precedes the first commit whose time is at or after a given
  /// time.
  ///
  /// - Parameter time: Milliseconds since 1970.
  /// - Returns: The commit number; the newest commit's number if all commits are before the time.
  /// - Throws: `SQLiteError`.
  /// - Complexity: Linear in the retained commits, because a clock that is set back breaks the
  ///   order of their times.
  package func lastCommit(before time: Int64) throws -> Int64 {
    let first = try statement(
      """
      SELECT min(number) FROM cordial_transaction
      WHERE time >= ? AND number > (SELECT min(number) FROM cordial_transaction)
      """
    )
    defer { first.reset() }
    first.bind(time, at: 1)
    guard try first.step(), let number = first.optionalInteger(0) else { return head.number }
    return number - 1
  }

  /// Returns the token of a commit of this store.
  ///
  /// - Parameter number: The number of the commit.
  /// - Returns: The commit's token.
  /// - Throws: `historyExpired` when the store no longer retains the commit.
  package func token(of number: Int64) throws -> StoreToken {
    if number == head.number { return token }
    guard let entry = try reader.commits.entry(number) else {
      throw StoreError(.historyExpired, "The store's history does not reach back that far")
    }
    return entry.token
  }

  /// Returns the oldest position from which history can be read.
  package func oldest() throws -> StoreToken {
    try reader.commits.oldest()
  }

  /// Reads the state of an earlier commit in the read transaction of this snapshot.
  ///
  /// Each call makes SQLite recompile the connection's statements. A frequent caller should
  /// therefore use a reader of past commits.
  ///
  /// - Parameters:
  ///   - position: The position of the commit. The log must still contain all changes after it.
  ///   - body: Reads the earlier state.
  /// - Returns: The result of the body.
  /// - Throws: `SQLiteError`; the errors of the body.
  package func earlier<Result>(
    _ position: LogPosition,
    _ body: (StoreSnapshot) throws -> Result
  ) throws -> Result {
    guard position.lastChange < head.lastChange else { return try body(self) }
    return try reader.earlier(position, than: self, body)
  }

  /// Returns the position of a commit whose state can be read.
  ///
  /// - Parameter token: A position that a client sent.
  /// - Returns: The position; nil when the log does not have the commit.
  /// - Throws: `SQLiteError`.
  package func logPosition(of token: StoreToken) throws -> LogPosition? {
    try reader.commits.entry(of: token)
      .map { LogPosition(commit: $0.token.number, lastChange: $0.lastChange) }
  }

  /// Returns the commit number of the newest migration; nil if the store never migrated.
  ///
  /// No state before this commit can be read.
  package func newestMigration() throws -> Int64? {
    try reader.commits.newestBarrier(.migration)?.number
  }

  /// Returns the commit number of the newest rebuild of folded texts after a change of the ICU
  /// version; nil if there was no such rebuild.
  package func newestFolding() throws -> Int64? {
    try reader.commits.newestBarrier(.folding)?.number
  }

  // MARK: Objects

  /// Whether a to-one may reference an object that does not exist.
  package var mayDangle: Bool { head.mayDangle }

  /// The inputs that determine a fetch's SQL besides the request.
  var context: FetchContext {
    FetchContext(
      model: model,
      mayDangle: mayDangle,
      hasSortKeys: reader.facts.hasCurrentTexts,
      functions: reader.facts.functions
    )
  }

  /// Returns the plan of a request.
  ///
  /// - Parameter request: The request.
  /// - Returns: The plan, which is valid for this store as long as its model is unchanged.
  /// - Throws: `unknownEntity`, `unknownProperty`, `predicateInvalid` or `invalidRequest`.
  package func plan(_ request: FetchRequest) throws -> FetchPlan {
    try FetchPlan.compile(
      request,
      in: context,
      store: reader.facts.identifier,
      texts: reader.planTexts
    )
  }

  /// Returns the plan for whole objects of an entity, or for selected values of the objects.
  ///
  /// - Parameters:
  ///   - entity: The entity.
  ///   - select: The selected values, nil for every attribute and to-one.
  /// - Returns: The plan.
  /// - Throws: `unknownProperty` or `invalidRequest`.
  package func plan(
    of entity: EntityDescription,
    select: [FetchRequest.Selection]? = nil
  ) throws -> FetchPlan {
    guard let select else {
      return try reader.wholePlan(entity, mayDangle: mayDangle)
    }
    return try plan(FetchRequest(entity: entity.name, select: select, subentities: false))
  }

  /// Writes one object in the form of a plan.
  ///
  /// - Parameters:
  ///   - object: The number of the object.
  ///   - plan: A plan of the object's entity.
  ///   - writer: The writer of the response, which is unchanged when there is no such object.
  /// - Returns: Whether the object exists.
  /// - Throws: `SQLiteError`.
  package func write(
    _ object: Int64,
    as plan: FetchPlan,
    to writer: inout JSONWriter
  ) throws -> Bool {
    let row = try statement(plan.rowSQL)
    defer { row.reset() }
    row.bind(object, at: 1)
    guard try row.step() else { return false }
    plan.encoder.write(row, to: &writer)
    return true
  }

  /// Writes the objects of a fetch as a JSON array.
  ///
  /// - Parameters:
  ///   - plan: The fetch.
  ///   - bytesMax: The maximum length of the writer's bytes.
  ///   - writer: The writer of the response.
  ///   - each: Called with the number of each object, its range in the writer's bytes, and the
  ///     bytes.
  /// - Returns: The number of objects, and whether more objects follow the window.
  /// - Throws: `limitExceeded` when the bytes are longer than allowed; `SQLiteError`.
  package func writeObjects(
    _ plan: FetchPlan,
    bytesMax: Int,
    to writer: inout JSONWriter,
    each: ((Int64, Range<Int>, [UInt8]) -> Void)? = nil
  ) throws -> (count: Int, hasMore: Bool) {
    var count = 0
    writer.raw("[")
    let hasMore = try eachRow(of: plan, plan.rowsSQL, plan.missing?.rowsSQL) { rows in
      if count > 0 { writer.raw(",") }
      writer.splitIfLong()
      let start = writer.bytes.count
      plan.encoder.write(rows, to: &writer)
      each?(rows.integer(0), start..<writer.bytes.count, writer.bytes)
      count += 1
      try Self.check(writer, bytesMax)
    }
    writer.raw("]")
    return (count, hasMore)
  }

  /// Calls a body with the objects of a fetch, in its order and window.
  ///
  /// - Parameters:
  ///   - plan: The fetch.
  ///   - spare: The maximum number of extra objects before the window, and after the window, that
  ///     the body receives.
  ///   - body: Called with the number of each object, and a function that writes the object.
  /// - Returns: Whether more objects follow.
  /// - Throws: `SQLiteError`; the errors of the body.
  @discardableResult
  package func eachObject(
    _ plan: FetchPlan,
    spare: Int = 0,
    _ body: (Int64, (inout JSONWriter) -> Void) throws -> Void
  ) throws -> Bool {
    try eachRow(of: plan, plan.rowsSQL, plan.missing?.rowsSQL, spare: spare) { rows in
      try body(rows.integer(0)) { plan.encoder.write(rows, to: &$0) }
    }
  }

  /// The error of a response for which no memory is left.
  package static var memoryIsUsed: StoreError {
    StoreError(.limitExceeded, "There is no memory for the response", hint: "Try again")
  }

  /// Throws an error for a response that is too long.
  ///
  /// - Parameters:
  ///   - writer: The writer of the response so far.
  ///   - bytesMax: The maximum length of the response, in bytes.
  /// - Throws: `limitExceeded`.
  package static func check(_ writer: JSONWriter, _ bytesMax: Int) throws(StoreError) {
    guard !writer.isRefused else { throw memoryIsUsed }
    guard writer.count > bytesMax else { return }
    throw StoreError(
      .limitExceeded,
      "The response would be longer than \(bytesMax) bytes",
      hint: "Fetch with limit, or select fewer values",
      data: [JSONMember("limit", "answerBytes"), JSONMember("max", .integer(Int64(bytesMax)))]
    )
  }

  /// Returns the numbers of the objects of a fetch, in its order and window.
  ///
  /// - Parameter plan: The fetch.
  /// - Returns: The numbers.
  /// - Throws: `SQLiteError`.
  package func objects(_ plan: FetchPlan) throws -> [Int64] {
    try page(plan).objects
  }

  /// Calls a body with the numbers of the objects of a fetch, in its order and window.
  ///
  /// The parameters and the result are those of `eachObject`. The body receives the number of each
  /// object alone.
  @discardableResult
  package func eachNumber(
    _ plan: FetchPlan,
    spare: Int = 0,
    _ body: (Int64) throws -> Void
  ) throws -> Bool {
    try eachRow(of: plan, plan.idsSQL, plan.missing?.idsSQL, spare: spare) { rows in
      try body(rows.integer(0))
    }
  }

  /// Returns the numbers of the objects of a fetch, and whether more objects follow its window.
  ///
  /// - Parameter plan: The fetch.
  /// - Returns: The numbers, and whether more objects follow.
  /// - Throws: `SQLiteError`.
  package func page(_ plan: FetchPlan) throws -> (objects: [Int64], hasMore: Bool) {
    var objects: [Int64] = []
    let hasMore = try eachNumber(plan) { objects.append($0) }
    return (objects, hasMore)
  }

  /// Calls a body with the rows of a window, and returns whether more rows follow.
  ///
  /// After a cursor, a second statement may return the objects that lack the first sort key. One
  /// extra row after the window shows whether more rows follow.
  private func eachRow(
    of plan: FetchPlan,
    _ sql: String,
    _ missingSQL: String?,
    spare: Int = 0,
    _ body: (PreparedStatement) throws -> Void
  ) throws -> Bool {
    let offset = max(0, plan.request.offset - spare)
    let limit = plan.request.limit.map { $0 + plan.request.offset - offset + spare }
    var count = 0
    func readRows(_ sql: String, _ values: [AttributeValue], offset: Int) throws -> Bool {
      let rest = limit.map { $0 - count + 1 }
      let rows = try bound(sql, values, limit: rest, offset: offset)
      defer { rows.reset() }
      let timer = reader.timer(of: plan.request, sql, rows)
      while try rows.step() {
        try timer?.stop()
        if count == limit { return true }
        try body(rows)
        count += 1
      }
      return false
    }
    if try readRows(sql, plan.values, offset: offset) { return true }
    guard let missingSQL else { return false }
    return try readRows(missingSQL, plan.wholeValues, offset: 0)
  }

  /// Returns the count of a fetch's objects, regardless of its window.
  ///
  /// - Parameter plan: The fetch.
  /// - Returns: The number of objects.
  /// - Throws: `SQLiteError`.
  package func count(_ plan: FetchPlan) throws -> Int64 {
    let row = try statement(plan.countSQL)
    defer { row.reset() }
    for (index, value) in plan.wholeValues.enumerated() { row.bind(value, at: Int32(index + 1)) }
    guard try row.step() else { return 0 }
    return row.integer(0)
  }

  /// Returns a statement with bound values: the given values, then the window's limit and offset.
  func bound(
    _ sql: String,
    _ values: [AttributeValue],
    limit: Int?,
    offset: Int
  ) throws -> PreparedStatement {
    let rows = try statement(sql)
    var index: Int32 = 1
    for value in values {
      rows.bind(value, at: index)
      index += 1
    }
    rows.bind(limit.map(Int64.init) ?? -1, at: index)
    rows.bind(Int64(offset), at: index + 1)
    return rows
  }

  // MARK: For followers

  /// Returns the texts of an object's attributes, or nil if the object does not exist.
  ///
  /// - Parameters:
  ///   - key: The object.
  ///   - attributes: The names of string attributes.
  /// - Returns: The texts, in the order of the names; nil for a missing value.
  /// - Throws: `SQLiteError`.
  package func texts(_ key: ObjectKey, _ attributes: [String]) throws -> [String?]? {
    let row = try reader.textStatement(key.entity, attributes)
    defer { row.reset() }
    row.bind(key.object, at: 1)
    guard try row.step() else { return nil }
    return attributes.indices.map { row.optionalText(Int32($0 + 1)) }
  }
}
