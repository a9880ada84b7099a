import TestSeeds

/// An object of the torture, as its client reckons it to be.
struct Piece: Equatable {
  /// The number of the save that wrote it last.
  var save: Int
  /// How long its text is.
  var repeats: Int
  var version: Int

  func text(of client: Int) -> String {
    String(repeating: "client\(client) save\(save) ", count: repeats)
  }
}

/// A save of the torture: everything that it writes bears its number.
struct TortureSave {
  let number: Int
  /// The client's own name of it, as the protocol has it.
  let transaction: String
  /// Neither kind is lost with a process, whatever a loss of power does to `normal`.
  let durability: JSON
  /// Pieces by number, with the length of their text.
  var inserts: [(piece: Int, repeats: Int)] = []
  var updates: [(piece: Int, repeats: Int)] = []
  var deletes: [Int] = []

  func apply(to pieces: inout [Int: Piece]) {
    for (piece, repeats) in inserts {
      pieces[piece] = Piece(save: number, repeats: repeats, version: 1)
    }
    for (piece, repeats) in updates {
      let version = (pieces[piece]?.version ?? 0) + 1
      pieces[piece] = Piece(save: number, repeats: repeats, version: version)
    }
    for piece in deletes { pieces[piece] = nil }
  }

  func params(of client: Int) -> JSON {
    func change(_ piece: Int, _ repeats: Int) -> JSON {
      let text = Piece(save: number, repeats: repeats, version: 0).text(of: client)
      return [
        "id": Self.id(piece),
        "values": [
          "save": .integer(Int64(number)), "text": .string(text), "heap": "Heap/i\(client)",
        ],
      ]
    }
    return [
      "insert": .array(inserts.map(change)), "update": .array(updates.map(change)),
      "delete": .array(deletes.map(Self.id)), "durability": durability,
      "transaction": .string(transaction), "context": "\(client) \(number)",
    ]
  }

  /// What the log has to say of it.
  var changes: [String: String] {
    let all =
      inserts.map { ($0.piece, "insert") } + updates.map { ($0.piece, "update") }
      + deletes.map { ($0, "delete") }
    return Dictionary(uniqueKeysWithValues: all.map { (Self.id($0).string ?? "", $1) })
  }

  static func id(_ piece: Int) -> JSON { "Piece/i\(piece)" }
}

/// A client that saves at random and knows what has to become of it.
///
/// It writes to objects of its own only, so that its saves in order decide what they are.
struct TortureClient {
  /// How many saves it sends without waiting, and how many pieces it keeps, about.
  static let pipelinedMax = 3
  private static let pieceCount = 12

  let index: Int
  private var random: SplitMix64
  /// Numbers of pieces differ between clients.
  private var nextPiece: Int
  private let step: Int
  /// After every save that was made, and after every one that was acknowledged.
  private var made: [Int: Piece] = [:]
  private var acknowledged: [Int: Piece] = [:]
  private var madeCount = 0
  private var acknowledgedCount = 0
  private var loggedCount = 0
  /// Those that are not both acknowledged and found in the log, the oldest first.
  private var saves: [TortureSave] = []
  /// What the answer or the log said, until the other does.
  private var tokens: [Int: JSON] = [:]

  init(_ index: Int, of clientCount: Int, seed: UInt64) {
    self.index = index
    random = SplitMix64(seed: seed)
    nextPiece = clientCount + index
    step = clientCount
  }

  /// Those whose answer is awaited, or was lost with the process that owed it.
  var unacknowledged: [TortureSave] { saves.filter { $0.number > acknowledgedCount } }

  /// Makes another save.
  mutating func next() -> TortureSave {
    madeCount += 1
    var save = TortureSave(
      number: madeCount,
      transaction: transaction(),
      durability: random.oneIn(8) ? "normal" : "full"
    )
    for _ in 0...random.below(made.count < Self.pieceCount ? 4 : 2) {
      save.inserts.append((nextPiece, length()))
      nextPiece += step
    }
    var others = made.keys.sorted()
    for _ in 0..<min(random.below(4), others.count) {
      save.updates.append((others.remove(at: random.below(others.count)), length()))
    }
    while others.count > Self.pieceCount || (!others.isEmpty && random.oneIn(4)) {
      save.deletes.append(others.remove(at: random.below(others.count)))
    }
    save.apply(to: &made)
    saves.append(save)
    return save
  }

  /// Mostly short; some fill pages of their own.
  private mutating func length() -> Int {
    random.oneIn(12) ? 100 + random.below(400) : 1 + random.below(4)
  }

  private mutating func transaction() -> String {
    let digits = (0..<32).map { _ in String(random.below(16), radix: 16) }
    return [0..<8, 8..<12, 12..<16, 16..<20, 20..<32].map { digits[$0].joined() }
      .joined(separator: "-")
  }

  /// Takes the answer to the oldest save without one.
  mutating func acknowledge(_ answer: JSON) throws {
    guard let save = unacknowledged.first, let result = answer["result"] else {
      throw Failure("client \(index): \(answer.text)")
    }
    save.apply(to: &acknowledged)
    acknowledgedCount = save.number
    let written = save.inserts + save.updates
    let versions = written.map { piece, _ in acknowledged[piece]?.version }
    guard result["objects"]?.array?.map({ $0["version"]?.integer }) == versions else {
      throw Failure("\(save) of client \(index) was answered: \(answer.text)")
    }
    try receive(result["token"] ?? .null, of: save.number)
  }

  /// Takes what the log says of a save.
  mutating func log(_ number: Int, _ transaction: JSON) throws {
    guard number == loggedCount + 1, let save = saves.first(where: { $0.number == number }) else {
      throw Failure(
        "save \(number) of client \(index) follows \(loggedCount) in the log: \(transaction.text)"
      )
    }
    loggedCount = number
    let changes = (transaction["changes"]?.array ?? []).filter { !$0.isHeap }
    let told = changes.map { ($0["id"]?.string ?? "", $0["change"]?.string ?? "") }
    guard Dictionary(told, uniquingKeysWith: { $1 }) == save.changes else {
      throw Failure("\(save) of client \(index) is logged as \(transaction.text)")
    }
    try receive(transaction["token"] ?? .null, of: number)
  }

  /// Both the answer and the log name the position of a save, in either order.
  private mutating func receive(_ token: JSON, of number: Int) throws {
    if let other = tokens.removeValue(forKey: number) {
      guard other == token else {
        throw Failure("save \(number) of client \(index) is \(other.text) and \(token.text)")
      }
    } else {
      tokens[number] = token
    }
    saves.removeAll { $0.number <= min(acknowledgedCount, loggedCount) }
  }

  /// What the store has to hold of its pieces, once the log was read to its end.
  func expected() throws -> [Int: Piece] {
    guard loggedCount >= acknowledgedCount else {
      throw Failure("save \(acknowledgedCount) of client \(index) was acknowledged and is lost")
    }
    var pieces = acknowledged
    for save in unacknowledged where save.number <= loggedCount { save.apply(to: &pieces) }
    return pieces
  }
}

extension JSON {
  /// Whether a change is of a heap, which nobody but a trigger writes.
  fileprivate var isHeap: Bool { self["id"]?.string?.hasPrefix("Heap/") ?? false }
}
