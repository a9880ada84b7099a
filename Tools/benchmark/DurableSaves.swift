/// `save`, `sqlite-save`, `redis-set`, `pg-insert`: objects that are written one by one, each answered
/// when it is on the disk.
enum DurableSaves {
  static func cordial(_ options: Options) throws -> Report {
    let path = try options.text("socket")
    return try measure(LineFormat(), options) {
      try Connection(to: path)
    } request: { _, item in
      request(item)
    }
  }

  /// The values as JSON under a key; the server is one that appends each to a file and syncs it.
  static func redis(_ options: Options) throws -> Report {
    let path = try options.text("socket")
    return try measure(RedisFormat(), options) {
      try Connection(to: path)
    } request: { index, item in
      Redis.command("SET", Redis.key(index), item.json)
    }
  }

  /// A prepared INSERT, which is a transaction by itself.
  static func postgres(_ options: Options) throws -> Report {
    let table = try Connection.postgres(options)
    try table.run("SET client_min_messages = warning; DROP TABLE IF EXISTS saved")
    try table.run("CREATE TABLE saved (id bigserial PRIMARY KEY, \(Item.columns))")
    return try measure(PostgresFormat.readyForQuery, options) {
      let connection = try Connection.postgres(options)
      // What it does unless it is told otherwise, as `fsync = on` is, which only its files can tell.
      try connection.run("SET synchronous_commit = on")
      try connection.prepare(
        """
        INSERT INTO saved (name, count, size, done, weight, text)
        VALUES ($1, $2, $3, $4, $5, $6)
        """,
        named: "insert"
      )
      return connection
    } request: { _, item in
      Postgres.execute(
        "insert",
        item.name,
        String(item.count),
        String(item.size),
        String(item.done),
        String(item.weight),
        item.text
      )
    }
  }

  /// The same rows and the same history by SQLite's C API: a store that nobody serves is opened as any
  /// client may, its triggers log the change, and each transaction enters its commit itself.
  static func sqlite(_ options: Options) throws -> Report {
    let rounds = try options.number("rounds", default: 1_000)
    let warmUp = rounds / 10
    var items = Item.make(warmUp + rounds)
    let database = try Database(options.text("file"))
    try database.execute("PRAGMA synchronous = FULL")
    let insert = try database.prepare(Item.insertion)
    let enter = try database.prepare(
      """
      INSERT INTO cordial_transaction(number, lastChange, mark, time, process)
      VALUES (1 + (SELECT max(number) FROM cordial_transaction),
        (SELECT max(number) FROM cordial_change), ?1, ?2, 'cordial-bench')
      """
    )
    // Of the length that a mark and a time have.
    enter.bind(3_000_000_000 as Int64, at: 1)
    enter.bind(1_750_000_000_000 as Int64, at: 2)
    let begin = try database.prepare("BEGIN IMMEDIATE")
    let commit = try database.prepare("COMMIT")

    var latencies = Latencies(reserving: rounds)
    for index in items.indices {
      let start = ContinuousClock.now
      try begin.run()
      insert.bind(&items[index])
      try insert.run()
      try enter.run()
      try commit.run()
      if index >= warmUp { latencies.add(ContinuousClock.now - start) }
    }
    var report = Report(latencies)
    report.add("maxMicroseconds", latencies.percentile(1))
    report.add("perSecond", Double(rounds) / latencies.total.seconds)
    return report
  }

  /// A save of one new object.
  static func request(_ item: Item) -> [UInt8] {
    Cordial.request(
      "save",
      #"{"insert":[{"id":"Item/t1","values":\#(item.json)}],"durability":"full"}"#
    )
  }

  private static func measure(
    _ format: some ReplyFormat,
    _ options: Options,
    connect: () throws -> Connection,
    request: (Int, Item) -> [UInt8]
  ) throws -> Report {
    let rounds = try options.number("rounds", default: 1_000)
    let warmUp = rounds / 10
    let requests = Item.make(warmUp + rounds).enumerated().map(request)
    let clients = try Clients(options.number("clients", default: 1), format, connect: connect)
    return try clients.measure(warmUp: warmUp, requests)
  }
}
