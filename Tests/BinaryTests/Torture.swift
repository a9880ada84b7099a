import TestSeeds

/// Clients that save while the processes which serve their store are killed.
///
/// One process serves a socket; another, on the same store, its standard streams. A round starts
/// those that were killed, holds the store against what its clients know, sends again what was not
/// answered, saves on, and kills one or both in the middle of it.
final class Torture {
  static let model = """
    {"name":"Torture","version":"1","entities":[
      {"name":"Heap","identity":"number",
       "attributes":[{"name":"number","type":"int64"},
                     {"name":"size","type":"int64","derived":"pieces.@count"}],
       "relationships":[
         {"name":"pieces","destination":"Piece","toMany":true,"inverse":"heap"}]},
      {"name":"Piece","identity":"number",
       "attributes":[{"name":"number","type":"int64"},{"name":"save","type":"int64"},
                     {"name":"text","type":"string"}],
       "relationships":[{"name":"heap","destination":"Heap","inverse":"pieces"}],
       "spotlight":{"displayName":"text"}}]}
    """
  private static let clientCount = 4

  /// A client's way to the store in one round.
  private struct Connection {
    let client: Int
    let server: TortureServer
    let peer: Peer
    /// What is sent before anything new.
    var again: [TortureSave]
    /// The requests under way, the oldest first, and the answers to the first of them.
    var requests: [Int] = []
    var answers: [String] = []
  }

  private let fixture: Fixture
  private let store: String
  private let watch: FolderWatch
  private let servers: [TortureServer]
  private var random: SplitMix64
  private var clients: [TortureClient]
  private var audit: TortureAudit
  private(set) var killCount = 0

  init(seed: UInt64) throws {
    fixture = try Fixture()
    store = try fixture.store(model: try fixture.write(Self.model, to: "model.json"))
    watch = try FolderWatch(store)
    servers = [TortureServer(store, socket: fixture.path("s")), TortureServer(store)]
    var random = SplitMix64(seed: seed)
    clients = (0..<Self.clientCount).map {
      TortureClient($0, of: Self.clientCount, seed: random.next())
    }
    self.random = random
    let heaps = clients.map { ["id": "Heap/i\($0.index)"] as JSON }
    let child = try Child(["serve", store])
    let saved = try Peer(child).call("save", ["insert": .array(heaps)])
    audit = TortureAudit(after: saved["token"] ?? .null)
    child.end()
  }

  /// Starts, checks, saves and kills.
  func round() throws {
    watch.restart()
    let started = servers.filter { !$0.isRunning }
    for server in started { try server.start() }
    if random.oneIn(4), try !areReady(started, before: 1 + random.below(32)) {
      return kill(started)
    }
    _ = try areReady(started, before: .max)
    if random.oneIn(2) {
      let pageMax = random.pick([2, 10, 99])
      try audit.check(try random.pick(started).connect(), &clients, pageMax: pageMax)
    }
    try saveAndKill(random.pick([[servers[0]], [servers[1]], servers]))
    if random.oneIn(10) { try checkFiles() }
  }

  /// Lets everybody get what is owed, checks for the last time, and ends the processes in order.
  func end() throws {
    servers.forEach { $0.kill() }
    for server in servers { try server.start() }
    _ = try areReady(servers, before: .max)
    try audit.check(try servers[0].connect(), &clients, pageMax: 99)
    for client in clients.indices {
      let peer = try servers[0].connect()
      for save in clients[client].unacknowledged {
        let id = try peer.request("save", save.params(of: client))
        try clients[client].acknowledge(try peer.answer(id))
      }
    }
    for server in servers {
      let peer = try server.connect()
      try audit.check(peer, &clients, pageMax: 99)
      let verified = try peer.call("index/verify")
      guard verified["differences"] == [] else { throw Failure("the index: \(verified.text)") }
    }
    for server in servers {
      let code = try server.stop()
      guard code == 0 else { throw Failure("an end in order answers \(code)") }
    }
    try checkFiles()
  }

  /// Waits until processes are ready; false when so many things happened to the files before.
  private func areReady(_ started: [TortureServer], before moment: Int) throws -> Bool {
    while started.contains(where: { !$0.isReady }) {
      let starting = started.filter { !$0.isReady }
      try ByteStream.waitForAny(of: starting.compactMap(\.readyOutput), or: watch.descriptor)
      watch.readEvents()
      if watch.count >= moment { return false }
      for server in starting { try server.checkReady() }
    }
    return true
  }

  private func kill(_ victims: [TortureServer]) {
    victims.forEach { $0.kill() }
    killCount += victims.count
  }

  // MARK: Saving

  private func saveAndKill(_ victims: [TortureServer]) throws {
    // Each round another client has the standard streams to itself.
    let aside = random.below(clients.count)
    var connections = try clients.indices.map { client in
      let server = servers[client == aside ? 1 : 0]
      return Connection(
        client: client,
        server: server,
        peer: try server.connect(),
        again: clients[client].unacknowledged
      )
    }
    watch.restart()
    try save(&connections, before: random.below(32))
    try answer(&connections, before: watch.count + random.below(64))
    kill(victims)
    for index in connections.indices { try drain(&connections[index]) }
  }

  /// Has every client save until so many things happened to the files.
  private func save(_ connections: inout [Connection], before moment: Int) throws {
    while true {
      for index in connections.indices {
        try take(&connections[index])
        try send(&connections[index])
      }
      if watch.count >= moment { return }
      try wait(&connections)
    }
  }

  /// Sends nothing and looks at no answer, so that each thing that happens is told by itself.
  private func answer(_ connections: inout [Connection], before moment: Int) throws {
    while watch.count < moment,
      connections.contains(where: { $0.answers.count < $0.requests.count })
    {
      try wait(&connections)
    }
  }

  private func wait(_ connections: inout [Connection]) throws {
    try ByteStream.waitForAny(of: connections.map(\.peer.stream), or: watch.descriptor)
    watch.readEvents()
    for index in connections.indices {
      let stream = connections[index].peer.stream
      while let line = stream.availableLine() { connections[index].answers.append(line) }
      try connections[index].server.checkAlive(stream)
    }
  }

  /// Sends saves until enough are under way.
  private func send(_ connection: inout Connection) throws {
    while connection.requests.count < TortureClient.pipelinedMax {
      let client = connection.client
      let save =
        connection.again.isEmpty ? clients[client].next() : connection.again.removeFirst()
      connection.requests.append(try connection.peer.request("save", save.params(of: client)))
    }
  }

  /// Takes the last answers of a process: everything that was under way where it lives on, and
  /// what it had written where it was killed.
  private func drain(_ connection: inout Connection) throws {
    while connection.answers.count < connection.requests.count {
      guard let line = try connection.peer.stream.line() else {
        if connection.server.isRunning { try connection.server.checkAlive(connection.peer.stream) }
        break
      }
      connection.answers.append(line)
    }
    try take(&connection)
  }

  private func take(_ connection: inout Connection) throws {
    for line in connection.answers {
      let answer = try JSON(line)
      guard let id = connection.requests.first, answer["id"]?.integer == id else {
        throw Failure("an answer to something else: \(line.prefix(500))")
      }
      connection.requests.removeFirst()
      try clients[connection.client].acknowledge(answer)
    }
    connection.answers = []
  }

  /// SQLite's own opinion of the files, which a foreign client opens first after a kill.
  private func checkFiles() throws {
    let integrityCheck = try ForeignClient.run(store, "PRAGMA integrity_check")
    guard integrityCheck == "ok\n" else { throw Failure("integrity_check: \(integrityCheck)") }
  }
}
