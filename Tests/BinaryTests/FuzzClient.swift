import Glibc
import TestSeeds

/// One connection of the fuzz test: what it sends, how it reads, and which answers it expects.
///
/// Valid requests have IDs of a range that no changed message has, so that each of them is known to
/// be answered exactly once, whatever was sent around it.
final class FuzzClient {
  /// How a client reads.
  enum Pace {
    case fast
    case slow(bytes: Int)
    /// Not at all for a while, again and again.
    case pausing
  }

  /// What a client does beside sending valid and changed messages.
  enum Role {
    /// Lets the store grow, and sends nothing else.
    case growing
    /// Reads to the end.
    case staying
    /// Closes its socket in the middle of everything.
    case leaving
  }

  /// No power of two, and nothing that a template has, is among the IDs from here on.
  static let firstID = 600_000_000
  private static let recentMax = 2000
  private static let answersMax = 30
  private static let pauseMillisecondsMax = 1500

  let number: Int
  let hasHeaders: Bool
  let role: Role
  private let pace: Pace
  private let corpus: FuzzCorpus
  private let raw: RawConnection
  private var random: SplitMix64
  private var mutator: FuzzMutator
  private var remaining: Int
  private var responseValues = FuzzCorpus.ResponseValues()
  private var nextID = FuzzClient.firstID
  private var outstanding: Set<Int> = []
  private var lastAnswered = 0
  /// Whether answers come in the order of the requests: in line framing before `initialize`.
  private var isOrdered: Bool
  /// Whether something was sent that ends the connection.
  private var mayEnd = false
  private var pausedUntil: ContinuousClock.Instant?
  private var lastProgress = ContinuousClock.now
  /// What was sent last, for a report.
  private(set) var recent: [[UInt8]] = []
  /// The beginnings of the last answers, for a report.
  private(set) var answers: [String] = []
  /// How many requests that let the store grow were answered with a result.
  private(set) var growthCount = 0

  init(_ number: Int, role: Role, socket: String, corpus: FuzzCorpus, random: SplitMix64) throws {
    var random = random
    self.number = number
    self.role = role
    self.corpus = corpus
    hasHeaders = role != .growing && random.oneIn(2)
    isOrdered = !hasHeaders
    remaining = role == .growing ? .max : 50 + random.below(1500)
    switch random.below(4) {
    case 0: pace = .slow(bytes: 1 + random.below(4096))
    case 1: pace = .pausing
    default: pace = .fast
    }
    mutator = FuzzMutator(random: SplitMix64(seed: random.next()))
    self.random = random
    raw = try RawConnection(socket, hasHeaders: hasHeaders)
  }

  // MARK: Sending

  /// Whether it takes another message: nothing much is waiting, and it is not done.
  var takesMore: Bool { remaining > 0 && raw.pending < 1 << 16 && !raw.hasEnded }

  /// How many answers it waits for.
  var outstandingCount: Int { outstanding.count }

  /// Sends the next message.
  func sendNext() {
    remaining -= 1
    if nextID == Self.firstID {
      // The first bytes choose the framing.
      return sendValid(hasHeaders ? FuzzCorpus.initialize : FuzzCorpus.pick(&random))
    }
    switch random.below(100) {
    case 0..<40: sendValid(FuzzCorpus.pick(&random))
    case 40 where random.oneIn(6): sendValid(random.pick(FuzzCorpus.rare))
    case 41 where hasHeaders && random.oneIn(8):
      mayEnd = true
      transmit(mutator.header(changed()))
    case 42, 43: send(batch())
    default: send(changed())
    }
  }

  /// Sends a save that lets the store grow.
  func sendGrowth() {
    send(corpus.growing("\(expectNext())", &random))
  }

  private func expectNext() -> Int {
    let id = nextID
    nextID += 1
    outstanding.insert(id)
    responseValues.lastID = id
    return id
  }

  private func sendValid(_ template: FuzzCorpus.Template) {
    let id = template.isNotification ? 0 : expectNext()
    send(corpus.message("\(id)", template, responseValues, &random))
  }

  /// The values of a message that is changed.
  ///
  /// A change may move the ID that a message cancels to where the ID of a request is.
  private var valuesOfChanged: FuzzCorpus.ResponseValues {
    var values = responseValues
    values.lastID -= Self.firstID
    return values
  }

  private func changed() -> [UInt8] {
    let template = FuzzCorpus.pick(&random)
    let message = corpus.message("\"x\"", template, valuesOfChanged, &random)
    let other = corpus.message("\"y\"", FuzzCorpus.pick(&random), valuesOfChanged, &random)
    return mutator.mutate(message, with: other)
  }

  private func batch() -> [UInt8] {
    var bytes = [UInt8(ascii: "[")]
    for index in 0...random.below(random.oneIn(20) ? 1100 : 6) {
      if index > 0 { bytes.append(UInt8(ascii: ",")) }
      bytes += corpus.message("\"z\(index)\"", FuzzCorpus.pick(&random), valuesOfChanged, &random)
    }
    bytes.append(UInt8(ascii: "]"))
    return random.oneIn(3) ? mutator.mutate(bytes, with: bytes) : bytes
  }

  private func send(_ body: [UInt8]) {
    if hasHeaders {
      transmit(Array("Content-Length: \(body.count)\r\n\r\n".utf8) + body)
    } else {
      transmit(body + [0x0A])
    }
  }

  private func transmit(_ bytes: [UInt8]) {
    let isBackup = contains(bytes, "backup")
    // A path that was changed could lead out of the test's folder.
    if isBackup, !contains(bytes, "{\"path\":\"\(corpus.folder)/") || contains(bytes, "..") {
      return
    }
    if contains(bytes, "exit") { mayEnd = true }
    if contains(bytes, "initialize") { isOrdered = false }
    if recent.count >= Self.recentMax { recent.removeFirst() }
    recent.append(Array(bytes.prefix(8000)))
    raw.enqueue(bytes)
  }

  private func contains(_ bytes: [UInt8], _ text: String) -> Bool {
    let wanted = Array(text.utf8)
    guard let first = wanted.first, bytes.count >= wanted.count else { return false }
    return bytes.indices.dropLast(wanted.count - 1).contains {
      bytes[$0] == first && bytes[$0..<$0 + wanted.count].elementsEqual(wanted)
    }
  }

  // MARK: The loop

  /// What a poll waits for.
  func poll(_ now: ContinuousClock.Instant) -> pollfd {
    if let until = pausedUntil, now >= until { pausedUntil = nil }
    return raw.poll(reads: pausedUntil == nil)
  }

  /// Writes and reads what can be; called after a poll.
  func advance(_ events: Int16, _ now: ContinuousClock.Instant) throws {
    var count = 0
    if events & Int16(POLLOUT) != 0 { count += raw.write() }
    if events & Int16(POLLIN | POLLHUP | POLLERR) != 0 {
      var max = Int.max
      if case .slow(let bytes) = pace, remaining > 0 { max = bytes }
      count += try raw.read(max: max) { try take($0) }
      if case .pausing = pace, remaining > 0, random.oneIn(20) {
        let milliseconds = random.below(Self.pauseMillisecondsMax)
        pausedUntil = now.advanced(by: .milliseconds(milliseconds))
      }
    }
    if count > 0 || outstanding.isEmpty { lastProgress = now }
    if lastProgress.duration(to: now) > .seconds(120) {
      throw Failure("client \(number) waits for \(outstanding.count) answers, and nothing comes")
    }
  }

  private func take(_ answer: AnswerReader.Answer) throws {
    guard answer.isWhole else {
      throw Failure("client \(number): a message of another shape: \(answer.text)")
    }
    responseValues.take(answer)
    if answers.count >= Self.answersMax { answers.removeFirst() }
    answers.append("\(answer.length): \(answer.text.prefix(150))")
    guard let id = answer.integerID, id >= Self.firstID, id < Self.firstID + 100_000_000 else {
      return
    }
    guard outstanding.remove(id) != nil else {
      throw Failure("client \(number): \(id) is answered twice: \(answer.text)")
    }
    guard !isOrdered || id > lastAnswered else {
      throw Failure("client \(number): \(id) is answered after \(lastAnswered): \(answer.text)")
    }
    lastAnswered = id
    if role == .growing {
      guard answer.text.contains(#""result":"#) else {
        throw Failure("a save is refused: \(answer.text)")
      }
      growthCount += 1
    }
  }

  /// No more is sent: what was sent is read to its end.
  func stopSending() { remaining = 0 }

  /// Goes on towards the end of the connection.
  ///
  /// - Returns: Whether the connection is over.
  /// - Throws: `Failure` when the service ended it, or owes an answer.
  func finish() throws -> Bool {
    if raw.hasEnded {
      if mayEnd { return true }
      guard raw.endedInput, raw.writeError == nil else {
        throw Failure(
          "client \(number), \(pace): the service ended the connection before its input ended, "
            + "write error \(raw.writeError ?? 0), \(outstanding.count) answers missing"
        )
      }
      guard outstanding.isEmpty else {
        throw Failure(
          "client \(number), \(pace): \(outstanding.count) requests were never answered, "
            + "read error \(raw.readError ?? 0): \(outstanding.sorted().prefix(20)) of \(nextID - 1)"
        )
      }
      guard raw.isAtBoundary else {
        throw Failure("client \(number): the connection ended inside of a message")
      }
      return true
    }
    guard remaining == 0 else { return false }
    if role == .leaving {
      raw.close()
      return true
    }
    if raw.pending == 0 { raw.endInput() }
    return false
  }
}
