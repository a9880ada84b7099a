/// Holds a store against what the clients of the torture know.
struct TortureAudit {
  /// Up to where the log was read.
  private var position: JSON
  /// The versions of pieces that follow from the log, by ID.
  private var versions: [String: Int] = [:]

  /// Begins behind what the torture began with.
  init(after position: JSON) {
    self.position = position
  }

  /// Checks the log, then every object; nothing is saved meanwhile.
  mutating func check(_ peer: Peer, _ clients: inout [TortureClient], pageMax: Int) throws {
    try readLog(peer, &clients, pageMax: pageMax)
    let fetched = try peer.call("fetch", ["entity": "Piece", "sort": ["number"]])
    guard fetched["token"] == position else {
      throw Failure("the log ends at \(position.text), a fetch sees \(fetched["token"] ?? .null)")
    }
    var found: [[Int: Piece]] = clients.map { _ in [:] }
    var seen: [String: Int] = [:]
    for object in fetched["objects"]?.array ?? [] {
      let (client, number, piece) = try read(object)
      found[client][number] = piece
      seen[object["id"]?.string ?? ""] = piece.version
    }
    guard seen == versions else {
      throw Failure("versions: the log has \(versions), the objects have \(seen)")
    }
    for client in clients { try compare(found[client.index], client) }
    try checkHeaps(peer, clients.map { found[$0.index].count })
  }

  /// Commits follow each other, every save is there once and in order.
  private mutating func readLog(
    _ peer: Peer,
    _ clients: inout [TortureClient],
    pageMax: Int
  ) throws {
    var hasMore = true
    while hasMore {
      let page = try peer.call(
        "history",
        ["since": position, "limit": .integer(Int64(pageMax))]
      )
      for transaction in page["transactions"]?.array ?? [] {
        let token = transaction["token"] ?? .null
        guard let (generation, number) = Self.parts(position), let next = Self.parts(token),
          next.generation == generation, next.number == number + 1
        else { throw Failure("\(token.text) follows \(position.text) in the log") }
        position = token
        let names = (transaction["context"]?.string ?? "").split(separator: " ").map { Int($0) }
        guard names.count == 2, let client = names[0], let save = names[1] else {
          throw Failure("a save without a client is in the log: \(transaction.text)")
        }
        try clients[client].log(save, transaction)
        for change in transaction["changes"]?.array ?? [] { replay(change) }
      }
      hasMore = page["more"] == true
      guard page["token"] == position else {
        throw Failure("a page that ends at \(position.text) says \(page["token"] ?? .null)")
      }
    }
  }

  private mutating func replay(_ change: JSON) {
    guard let id = change["id"]?.string, id.hasPrefix("Piece/") else { return }
    switch change["change"]?.string {
    case "insert": versions[id] = 1
    case "update": versions[id, default: 0] += 1
    default: versions[id] = nil
    }
  }

  /// The generation and the number of the commit in a token.
  private static func parts(_ token: JSON) -> (generation: Substring, number: Int)? {
    let parts = (token.string ?? "").split(separator: "-")
    guard parts.count == 3, let number = Int(parts[1]) else { return nil }
    return (parts[0], number)
  }

  private func read(_ object: JSON) throws -> (client: Int, number: Int, piece: Piece) {
    guard let values = object["values"], let number = values["number"]?.integer,
      let save = values["save"]?.integer, let text = values["text"]?.string,
      let version = object["version"]?.integer, object["id"] == TortureSave.id(number),
      let client = (values["heap"]?.string?.split(separator: "/i").last).flatMap({ Int($0) })
    else { throw Failure("no piece: \(object.text.prefix(500))") }
    let one = Piece(save: save, repeats: 1, version: version).text(of: client)
    let piece = Piece(save: save, repeats: text.utf8.count / one.utf8.count, version: version)
    guard piece.text(of: client) == text else {
      throw Failure("a text that nobody wrote: \(object.text.prefix(500))")
    }
    return (client, number, piece)
  }

  private func compare(_ found: [Int: Piece], _ client: TortureClient) throws {
    let expected = try client.expected()
    guard found != expected else { return }
    let numbers = Set(found.keys).union(expected.keys).sorted()
    let lines = numbers.filter { found[$0] != expected[$0] }.map { number in
      let sides = [expected[number], found[number]].map { $0.map { "\($0)" } ?? "nothing" }
      return "\(number): \(sides[0]) expected, \(sides[1]) found"
    }
    throw Failure("pieces of client \(client.index):\n\(lines.joined(separator: "\n"))")
  }

  /// What triggers keep agrees with what it is kept of.
  private func checkHeaps(_ peer: Peer, _ counts: [Int]) throws {
    let heaps = try peer.call("fetch", ["entity": "Heap", "sort": ["number"]])["objects"]
    let sizes = heaps?.array?.map { $0["values"]?["size"]?.integer ?? -1 }
    guard sizes == counts else { throw Failure("heaps of \(counts): \(heaps?.text ?? "")") }
  }
}
