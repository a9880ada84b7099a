/// `notify`, `redis-notify`, `pg-notify`: from one client's write to another one's news of it.
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
