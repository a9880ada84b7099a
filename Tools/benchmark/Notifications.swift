/// `notify`, `notify-floor`, `redis-notify`, `pg-notify`: from one client's write to another one's
/// news of it.
enum Notifications {
  /// A save with `durability: normal` of one attribute of an object that the first client observes.
  static func cordial(_ options: Options) throws -> Report {
    guard let id = try Files.lines(of: options.text("ids")).first else {
      throw BenchmarkError("The file of IDs is empty")
    }
    let observer = try Connection(to: options.text("socket"))
    _ = try Cordial.call("observe", #"{"ids":["\#(id)"]}"#, on: observer)
    let writer = try Connection(to: options.text("socket"))
    return try measure(
      from: (writer, LineFormat()),
      to: (observer, LineFormat()),
      options
    ) { round in
      Cordial.request(
        "save",
        #"{"update":[{"id":"\#(id)","values":{"count":\#(round)}}],"durability":"normal"}"#
      )
    }
  }

  /// The rows of such a save through SQLite's C API, read back on another connection, and a message
  /// to another process and back.
  static func floor(_ options: Options) throws -> Report {
    let rounds = try options.number("rounds", default: 3_000)
    let file = try options.text("file")
    let writer = try Database(file)
    try writer.execute(
      """
      PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;
      CREATE TABLE item(id INTEGER PRIMARY KEY, version INTEGER, title TEXT, count INTEGER);
      CREATE TABLE change(number INTEGER PRIMARY KEY, entity INTEGER, object INTEGER, kind INTEGER,
        version INTEGER, before TEXT);
      CREATE TABLE entry(number INTEGER PRIMARY KEY, mark INTEGER, time INTEGER, last INTEGER);
      WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 50000)
      INSERT INTO item SELECT i, 1, 'title ' || i, 0 FROM n
      """
    )
    let reader = try Database(file)
    let begin = try writer.prepare("BEGIN IMMEDIATE")
    let update = try writer.prepare("UPDATE item SET count = ?1, version = ?1 WHERE id = 1")
    let change = try writer.prepare(
      "INSERT INTO change VALUES (?1, 1, 1, 1, ?1, ',\"count\":' || (?1 - 1))"
    )
    let entry = try writer.prepare("INSERT INTO entry VALUES (?1, ?1 * 7919, 1700000000000, ?1)")
    let commit = try writer.prepare("COMMIT")
    let start = try reader.prepare("BEGIN")
    let head = try reader.prepare("SELECT * FROM entry ORDER BY number DESC LIMIT 1")
    let changes = try reader.prepare("SELECT * FROM change WHERE number = ?1")
    let row = try reader.prepare("SELECT * FROM item WHERE id = 1")
    let end = try reader.prepare("COMMIT")
    let echo = try ChildProcess("cat", [])
    let message = [UInt8](repeating: 0x61, count: 120)
    var received = [UInt8](repeating: 0, count: message.count)
    var latencies = Latencies(reserving: rounds)
    let warmUp = rounds / 10
    for round in 1...(warmUp + rounds) {
      let clock = ContinuousClock.now
      try begin.run()
      for statement in [update, change, entry] {
        statement.bind(Int64(round), at: 1)
        try statement.run()
      }
      try commit.run()
      try start.run()
      changes.bind(Int64(round), at: 1)
      let rows = try head.readAll() + changes.readAll() + row.readAll()
      try end.run()
      guard rows == 3 else { throw BenchmarkError("\(rows) rows were read back") }
      try echo.send(message)
      var filled = 0
      while filled < message.count {
        let count = try Descriptors.readSome(from: echo.output, into: &received, at: filled)
        guard count > 0 else { throw BenchmarkError("The echo ended") }
        filled += count
      }
      if round > warmUp { latencies.add(ContinuousClock.now - clock) }
    }
    try echo.waitForSuccess()
    return Report(latencies)
  }

  /// SET and PUBLISH in one write; Redis keeps the value in memory only.
  static func redis(_ options: Options) throws -> Report {
    let subscriber = try Connection(to: options.text("socket"))
    _ = try subscriber.exchange(Redis.command("SUBSCRIBE", "changes"), RedisFormat())
    let writer = try Connection(to: options.text("socket"))
    return try measure(
      from: (writer, RedisFormat(values: 2)),
      to: (subscriber, RedisFormat()),
      options
    ) { round in
      Redis.command("SET", "observed", String(round))
        + Redis.command("PUBLISH", "changes", String(round))
    }
  }

  /// A prepared INSERT whose trigger notifies, without waiting for the disk.
  static func postgres(_ options: Options) throws -> Report {
    let listener = try Connection.postgres(options)
    try listener.run("LISTEN changes")
    let writer = try Connection.postgres(options)
    try writer.run("SET client_min_messages = warning; SET synchronous_commit = off")
    try writer.run(
      """
      DROP TABLE IF EXISTS observed;
      CREATE TABLE observed (id bigserial PRIMARY KEY, count bigint NOT NULL);
      CREATE OR REPLACE FUNCTION notify_observed() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN PERFORM pg_notify('changes', NEW.count::text); RETURN NEW; END $$;
      CREATE TRIGGER observed_notify AFTER INSERT ON observed
        FOR EACH ROW EXECUTE FUNCTION notify_observed()
      """
    )
    try writer.prepare("INSERT INTO observed (count) VALUES ($1)", named: "insert")
    return try measure(
      from: (writer, PostgresFormat.readyForQuery),
      to: (listener, PostgresFormat.notification),
      options
    ) { round in
      Postgres.execute("insert", String(round))
    }
  }

  /// The loop for all of them: from before the writer's write to the last byte of the news; the
  /// writer's own answer is read after the clock stopped.
  private static func measure(
    from writer: (connection: Connection, format: some ReplyFormat),
    to observer: (connection: Connection, format: some ReplyFormat),
    _ options: Options,
    request: (Int) -> [UInt8]
  ) throws -> Report {
    let rounds = try options.number("rounds", default: 3_000)
    let warmUp = rounds / 10
    let requests = (1...(warmUp + rounds)).map(request)
    var latencies = Latencies(reserving: rounds)
    for (round, request) in requests.enumerated() {
      let start = ContinuousClock.now
      try writer.connection.send(request)
      let news = try observer.connection.receive(observer.format)
      let elapsed = ContinuousClock.now - start
      try observer.format.refuseError(news)
      try writer.format.refuseError(writer.connection.receive(writer.format))
      if round >= warmUp { latencies.add(elapsed) }
    }
    return Report(latencies)
  }
}
