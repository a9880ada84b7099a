/// `redis-load`, `pg-load`: gives the peers of the point reads the same objects.
enum LoadPeers {
  private static let batch = 1_000

  /// Each object's attributes as JSON under a key of its own.
  static func redis(_ options: Options) throws -> Report {
    let items = Item.make(try options.number("count", default: 200_000))
    let connection = try Connection(to: options.text("socket"))
    for start in stride(from: 0, to: items.count, by: batch) {
      let rows = items[start..<min(start + batch, items.count)]
      let commands = rows.indices.flatMap {
        Redis.command("SET", Redis.key($0 + 1), items[$0].json)
      }
      _ = try connection.exchange(commands, RedisFormat(values: rows.count))
    }
    return Report()
  }

  /// Each object as a row of a table with its attributes as columns.
  static func postgres(_ options: Options) throws -> Report {
    let items = Item.make(try options.number("count", default: 200_000))
    let connection = try Connection.postgres(options)
    try connection.run("SET client_min_messages = warning; DROP TABLE IF EXISTS item")
    try connection.run("CREATE TABLE item (id bigint PRIMARY KEY, \(Item.columns))")
    _ = try connection.exchange(Postgres.query("COPY item FROM STDIN"), PostgresFormat.copyIn)
    for start in stride(from: 0, to: items.count, by: batch) {
      let rows = items[start..<min(start + batch, items.count)]
      let lines = rows.indices.map { copyLine(items[$0], id: $0 + 1) }.joined()
      try connection.send(Postgres.copyData(Array(lines.utf8)))
    }
    _ = try connection.exchange(Postgres.copyDone, PostgresFormat.readyForQuery)
    try connection.run("VACUUM ANALYZE item")
    return Report()
  }

  private static func copyLine(_ item: Item, id: Int) -> String {
    """
    \(id)\t\(item.name)\t\(item.count)\t\(item.size)\t\(item.done)\t\(item.weight)\t\(item.text)\n
    """
  }
}
