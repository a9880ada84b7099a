import Synchronization

/// The budget of the memory that a process uses for its connections: received messages, responses,
/// and data that services keep for clients, such as the results of subscriptions.
///
/// Any thread may use the budget. Each kind of memory has its own limit:
///
/// - Unfinished messages may use all free memory. When the memory is used up, or when a response
///   needs memory, the budget drops the largest unfinished message.
/// - Requests use at most half of the memory, so that each request can be answered. Services do not
///   read from peers with requests while requests use more than a quarter.
/// - Data that services keep also counts, so that less memory is left for messages.
/// - A response begins while memory is left. A response that did not fit begins again when enough
///   memory can be reserved for it: half of the memory, or the maximum length of a response if that
///   is less.
/// - A long request counts four times while it runs, because a compiled list takes several times
///   the memory of its values. The additional part is at most a quarter of the memory.
/// - While a long request or a response that did not fit waits for memory, other requests begin
///   only while at most half of the memory is used.
package final class ByteBudget: Sendable {
  /// The memory that connections may hold, in bytes.
  package let bytesMax: Int
  /// The maximum that the service announces, in bytes: `bytesMax` plus the memory that no account
  /// counts.
  package let announcedMax: Int
  /// The length above which an unfinished message may be dropped, in bytes.
  package static let unfinishedMin = 1 << 16
  /// The memory that a message may always take, so that a full budget still admits small requests.
  private static let messageBytesMin = 1 << 16

  /// The memory from which a request is long and counts more while it runs, in bytes.
  private static let longRequestMin = 1 << 16
  /// The additional memory of a running long request, as a multiple of the request's own memory.
  ///
  /// The predicate, the SQL statement and SQLite each hold a copy of the request's values.
  private static let copiesPerRequest = 3
  /// The maximum memory of dropped messages that already counts as free, in bytes.
  ///
  /// The loop drops the messages later, so their memory is not free yet. A request that grows
  /// beyond this limit fails; the client can send the request again.
  private static let droppingMax = 16 << 20
  /// The decrease from the highest use after which `released` is called, in bytes.
  private static let releasedMin = 32 << 20

  /// Returns whether a request is long.
  ///
  /// - Parameter length: The memory of the request, in bytes.
  /// - Returns: Whether the request counts several times while it runs.
  package static func isLong(_ length: Int) -> Bool { length >= longRequestMin }

  private let released: (@Sendable () -> Void)?
  private let held = Atomic<Int>(0)
  /// The highest use since `released` was called, in bytes.
  private let highest = Atomic<Int>(0)
  private let heldByRequests = Atomic<Int>(0)
  /// The memory of responses, and the additional memory of long requests that run, in bytes.
  private let heldByAnswers = Atomic<Int>(0)
  /// The memory of messages that are being dropped; `held` includes this memory.
  private let heldByDropped = Atomic<Int>(0)
  /// The number of accounts that wait for memory.
  private let waitingCount = Atomic<Int>(0)
  private let state = Mutex(State())

  private struct Entry: Sendable {
    weak let account: Account?
    var dropped: @Sendable () -> Void
  }

  private struct State {
    var entries: [Int: Entry] = [:]
    var nextNumber = 1
    /// The work to call when memory becomes free, with the numbers of the accounts, in order.
    var waiting: [(number: Int, work: @Sendable () -> Void)] = []
    /// The accounts with a long request, or with a response that did not fit, that wait for memory.
    var reserving: Set<Int> = []
  }

  /// Creates the budget of a process whose connections use no memory yet.
  ///
  /// - Parameters:
  ///   - bytesMax: The maximum memory, in bytes.
  ///   - released: Called on any thread after much of the memory has been released. It must not
  ///     take long.
  package init(bytesMax: Int, released: (@Sendable () -> Void)? = nil) {
    self.bytesMax = bytesMax
    announcedMax = bytesMax
    self.released = released
  }

  /// Creates the budget of a process whose connections use no memory yet.
  ///
  /// A fifth of the memory is reserved for uses that no account counts: free memory between the
  /// allocator's blocks, the unused ends of responses, and the memory of saves while they are
  /// written.
  ///
  /// - Parameters:
  ///   - processBytesMax: The maximum memory, in bytes.
  ///   - released: Called on any thread after much of the memory has been released. It must not
  ///     take long.
  package init(processBytesMax: Int, released: (@Sendable () -> Void)? = nil) {
    bytesMax = processBytesMax - processBytesMax / 5
    announcedMax = processBytesMax
    self.released = released
  }

  /// The memory that all connections hold, in bytes.
  package var bytes: Int { held.load(ordering: .relaxed) }

  /// The number of connections.
  package var count: Int { state.withLock { $0.entries.count } }

  /// Whether requests use so much memory that services do not read from peers with requests.
  package var isFullOfRequests: Bool {
    heldByRequests.load(ordering: .relaxed) > bytesMax / 4
  }

  /// The memory that the next message may take, in bytes.
  package var messageBytesMax: Int {
    let room = min(bytesMax - bytes, bytesMax / 2 - heldByRequests.load(ordering: .relaxed))
    return max(room, Self.messageBytesMin)
  }

  /// The memory that a message may take if nothing else takes memory, in bytes.
  package var messageBytesAlone: Int { max(bytesMax / 2, Self.messageBytesMin) }

  /// Adds a connection.
  ///
  /// - Parameter dropped: Called on any thread when the connection has to drop its unfinished
  ///   message, the largest of all connections.
  /// - Returns: The account of the connection; the end of its last reference closes the account.
  package func open(dropped: @escaping @Sendable () -> Void = {}) -> Account {
    let number = state.withLock { state in
      defer { state.nextNumber += 1 }
      return state.nextNumber
    }
    let account = Account(self, number)
    state.withLock { $0.entries[number] = Entry(account: account, dropped: dropped) }
    return account
  }

  private func setDropped(_ number: Int, _ dropped: @escaping @Sendable () -> Void) {
    state.withLock { $0.entries[number]?.dropped = dropped }
  }

  // MARK: Changes

  /// Returns a counter for memory that a service keeps for its clients, in addition to messages.
  ///
  /// - Returns: The counter, initially 0.
  package func keep() -> Kept { Kept(self) }

  /// Adds the memory of responses, or removes it with a negative number.
  fileprivate func addAnswers(_ bytes: Int) {
    heldByAnswers.add(bytes, ordering: .relaxed)
    add(bytes)
  }

  /// Whether no response can release memory, so that a waiting request would wait forever.
  private var holdsNoAnswer: Bool { heldByAnswers.load(ordering: .relaxed) <= 0 }

  fileprivate func add(_ bytes: Int, isOfRequests: Bool = false) {
    guard bytes != 0 else { return }
    if isOfRequests { heldByRequests.add(bytes, ordering: .relaxed) }
    let now = held.add(bytes, ordering: .relaxed).newValue
    if now > highest.load(ordering: .relaxed) { highest.max(now, ordering: .relaxed) }
    guard bytes < 0 else { return }
    if let released, highest.load(ordering: .relaxed) - now > Self.releasedMin,
      highest.exchange(now, ordering: .relaxed) - now > Self.releasedMin
    {
      released()
    }
    if waitingCount.load(ordering: .relaxed) > 0 { wake() }
  }

  fileprivate func close(_ number: Int) {
    state.withLock { state in
      state.entries[number] = nil
      state.reserving.remove(number)
      state.waiting.removeAll { $0.number == number }
      waitingCount.store(state.waiting.count, ordering: .relaxed)
    }
  }

  /// Calls the work that waits for memory.
  private func wake() {
    guard bytes < bytesMax || holdsNoAnswer else { return }
    let waiting = state.withLock { state in
      defer { state.waiting = [] }
      waitingCount.store(0, ordering: .relaxed)
      return state.waiting
    }
    for entry in waiting { entry.work() }
  }

  fileprivate func wait(_ number: Int, _ work: @escaping @Sendable () -> Void) {
    state.withLock { state in
      guard !state.waiting.contains(where: { $0.number == number }) else { return }
      state.waiting.append((number, work))
      waitingCount.store(state.waiting.count, ordering: .relaxed)
    }
  }

  // MARK: Unfinished messages

  /// Drops the largest unfinished messages until the use is within the maximum.
  ///
  /// - Parameters:
  ///   - own: The number of the caller's account, whose message the caller drops itself; nil for a
  ///     caller without an unfinished message.
  ///   - needed: The memory that has to be free afterwards.
  /// - Returns: Whether the caller has to drop its message.
  fileprivate func dropLargest(own: Int? = nil, needed: Int = 0) -> Bool {
    while bytes - heldByDropped.load(ordering: .relaxed) + needed > bytesMax {
      let largest = state.withLock { state -> (Account, Entry)? in
        var largest: (account: Account, entry: Entry)?
        for entry in state.entries.values {
          guard let account = entry.account,
            account.unfinishedBytes > max(Self.unfinishedMin, largest?.account.unfinishedBytes ?? 0)
          else { continue }
          largest = (account, entry)
        }
        return largest
      }
      guard let (account, entry) = largest else { return false }
      if account.number == own { return true }
      account.markDropped()
      entry.dropped()
    }
    return false
  }

  // MARK: Responses

  /// Reserves memory for a response that is about to be built.
  ///
  /// - Parameters:
  ///   - account: The connection.
  ///   - bytes: The memory to reserve: 0 for the first attempt.
  ///   - length: The memory of the request, in bytes.
  /// - Returns: The share of the response; nil if the request has to wait.
  fileprivate func begin(
    _ account: Account,
    reserving bytes: Int,
    for length: Int
  ) -> AnswerShare? {
    let isReserving = bytes > 0
    let limit = state.withLock { state -> Int in
      if isReserving { return bytesMax - bytes }
      let reservesAlone = state.reserving.allSatisfy { $0 == account.number }
      return reservesAlone ? bytesMax - 1 : bytesMax / 2
    }
    let isLong = Self.isLong(length)
    let copies = isLong ? min(Self.copiesPerRequest * length, bytesMax / 4) : 0
    // A response with reserved memory waits only for the reservation, not for `copies` as well.
    // Otherwise, the response might never begin.
    let needed = isReserving ? 0 : copies
    if self.bytes + needed > limit { _ = dropLargest(needed: bytesMax - limit + needed) }
    // If neither responses nor dropped messages will release memory, the request would wait
    // forever.
    let isAlone = holdsNoAnswer && heldByDropped.load(ordering: .relaxed) <= 0
    guard keptBytes + needed <= limit || isAlone else {
      if isLong { setReserving(true, account.number) }
      return nil
    }
    if isReserving || isLong { setReserving(false, account.number) }
    // Requests and kept results may leave less memory than the requested reservation.
    let reserved = min(bytes, max(bytesMax - self.bytes - copies, bytesMax / 8))
    addAnswers(reserved + copies)
    return AnswerShare(account, isReserved: isReserving, reserved: reserved, copies: copies)
  }

  fileprivate func setReserving(_ isReserving: Bool, _ number: Int) {
    state.withLock { state in
      if isReserving { state.reserving.insert(number) } else { state.reserving.remove(number) }
    }
  }

  /// Whether memory is left for a growing response.
  ///
  /// The getter may drop unfinished messages to free memory.
  fileprivate var hasRoom: Bool {
    if bytes <= bytesMax { return true }
    _ = dropLargest()
    return keptBytes <= bytesMax
  }

  /// The memory in use, minus at most `droppingMax` bytes of messages that are being dropped.
  fileprivate var keptBytes: Int {
    bytes - min(heldByDropped.load(ordering: .relaxed), Self.droppingMax)
  }

  fileprivate func addDropped(_ bytes: Int) { heldByDropped.add(bytes, ordering: .relaxed) }

  /// The memory that one connection may use while other connections wait, equal for all
  /// connections.
  package var share: Int { bytesMax / max(1, count) }

  /// Whether any connection waits for memory.
  package var hasWaiting: Bool { waitingCount.load(ordering: .relaxed) > 0 }
}

extension ByteBudget {
  /// A counter for memory that a service keeps for its clients; the memory counts until the last
  /// reference to the counter ends.
  package final class Kept: Sendable {
    private let budget: ByteBudget
    private let bytes = Atomic<Int>(0)

    fileprivate init(_ budget: ByteBudget) {
      self.budget = budget
    }

    deinit {
      set(0)
    }

    /// Adds to the kept memory.
    ///
    /// - Parameter bytes: The growth, in bytes; negative if memory is released.
    package func add(_ bytes: Int) {
      self.bytes.add(bytes, ordering: .relaxed)
      budget.add(bytes)
    }

    /// Replaces the counted memory.
    ///
    /// - Parameter bytes: The memory, in bytes.
    package func set(_ bytes: Int) {
      budget.add(bytes - self.bytes.exchange(bytes, ordering: .relaxed))
    }
  }

  /// The memory that one connection uses.
  package final class Account: Sendable {
    fileprivate let budget: ByteBudget
    fileprivate let number: Int
    private let unfinished = Mutex((bytes: 0, dropped: 0))
    private let requests = Atomic<Int>(0)
    private let responses = Atomic<Int>(0)

    fileprivate init(_ budget: ByteBudget, _ number: Int) {
      self.budget = budget
      self.number = number
    }

    deinit {
      close()
    }

    /// Releases the memory of the connection, because the connection has ended.
    package func close() {
      budget.close(number)
      _ = setUnfinished(0)
      setResponses(0)
      let left = requests.exchange(0, ordering: .relaxed)
      budget.add(-left, isOfRequests: true)
    }

    /// Replaces the closure that is called on any thread when the connection has to drop its
    /// unfinished message.
    package func whenDropped(_ dropped: @escaping @Sendable () -> Void) {
      budget.setDropped(number, dropped)
    }

    /// The memory of the unfinished message, in bytes; 0 for a message that is being dropped.
    package var unfinishedBytes: Int { unfinished.withLock { $0.bytes } }

    /// Whether the decoder still has to drop the unfinished message.
    package var isDropping: Bool { unfinished.withLock { $0.dropped > 0 } }

    /// The memory of the responses that the peer has not accepted, in bytes.
    package var responseBytes: Int { responses.load(ordering: .relaxed) }

    /// The memory of the connection without the responses that are being built, in bytes.
    package var bytes: Int {
      unfinishedBytes + requests.load(ordering: .relaxed) + responseBytes
    }

    /// The memory that the next message may take, in bytes.
    package var messageBytesMax: Int { budget.messageBytesMax }

    /// The memory that a message may take if nothing else takes memory, in bytes.
    package var messageBytesAlone: Int { budget.messageBytesAlone }

    /// The announced maximum of the memory of all connections, in bytes.
    package var announcedMax: Int { budget.announcedMax }

    /// Sets the memory of the unfinished message.
    ///
    /// - Parameter bytes: The memory, in bytes.
    /// - Returns: Whether the caller has to drop the message, because the memory is used up and no
    ///   other unfinished message is larger.
    package func setUnfinished(_ bytes: Int) -> Bool {
      let former = unfinished.withLock { unfinished in
        defer { unfinished = (bytes, 0) }
        return unfinished
      }
      let growth = bytes - former.bytes - former.dropped
      if former.dropped > 0 { budget.addDropped(-former.dropped) }
      // `add` wakes waiting accounts, which must see the decrease by `addDropped`.
      budget.add(growth)
      guard growth > 0, budget.bytes > budget.bytesMax else { return false }
      return budget.dropLargest(own: number)
    }

    /// Counts the unfinished message as being dropped, until the decoder has dropped it.
    fileprivate func markDropped() {
      unfinished.withLock { unfinished in
        budget.addDropped(unfinished.bytes)
        unfinished = (0, unfinished.dropped + unfinished.bytes)
      }
    }

    /// Adds the memory of requests, or removes it with a negative number.
    package func addRequests(_ bytes: Int) {
      requests.add(bytes, ordering: .relaxed)
      budget.add(bytes, isOfRequests: true)
    }

    /// Sets the memory of the responses that the peer has not accepted.
    package func setResponses(_ bytes: Int) {
      budget.addAnswers(bytes - responses.exchange(bytes, ordering: .relaxed))
    }

    /// Reserves memory for a response that is about to be built.
    ///
    /// - Parameters:
    ///   - bytes: The memory to reserve; 0 for the first attempt.
    ///   - length: The memory of the request, in bytes.
    /// - Returns: The share of the response; nil if the request has to wait.
    package func begin(reserving bytes: Int = 0, for length: Int = 0) -> AnswerShare? {
      budget.begin(self, reserving: bytes, for: length)
    }

    /// Marks this connection as waiting.
    ///
    /// The responses of other connections then leave half of the memory free until the response of
    /// this connection begins.
    package func beginReserving() { budget.setReserving(true, number) }

    /// Ends `beginReserving`, because the request has ended.
    package func endReserving() { budget.setReserving(false, number) }

    /// Calls work once, on any thread, after memory has become free.
    package func wait(_ work: @escaping @Sendable () -> Void) { budget.wait(number, work) }

    /// Adds the memory of a response that is being built, or removes it with a negative number.
    func addAnswer(_ bytes: Int) { budget.addAnswers(bytes) }

    /// Whether memory is left for a request that grows while it is parsed.
    ///
    /// The getter drops larger unfinished messages of other connections to free memory.
    var hasRoomForRequest: Bool {
      guard budget.bytes > budget.bytesMax else { return true }
      return !budget.dropLargest(own: number) && budget.keptBytes <= budget.bytesMax
    }

    /// Whether memory is left for a response that grows.
    var hasRoom: Bool { budget.hasRoom }
  }
}
