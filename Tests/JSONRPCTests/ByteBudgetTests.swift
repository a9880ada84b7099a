import JSONRPC
import Synchronization
import Testing

/// The number of times that memory became free.
private final class Count: Sendable {
  private let value = Mutex(0)
  var count: Int { value.withLock { $0 } }
  func add() { value.withLock { $0 += 1 } }
}

// Evidence: P-019d
@Suite struct `The memory of responses` {
  private let budget = ByteBudget(bytesMax: 1000)

  @Test func `a response begins while there is memory`() throws {
    let (first, second) = (budget.open(), budget.open())
    first.setResponses(999)
    #expect(second.begin() != nil)
    first.setResponses(1000)
    #expect(second.begin() == nil)
    first.setResponses(0)
    #expect(second.begin() != nil)
  }

  @Test func `a fifth of the process's maximum is for the allocator`() {
    let budget = ByteBudget(processBytesMax: 800)
    let (account, other) = (budget.open(), budget.open())
    account.setResponses(639)
    #expect(other.begin() != nil)
    account.setResponses(640)
    #expect(other.begin() == nil)
    // What is announced is what an error states.
    #expect(account.announcedMax == 800)
  }

  @Test func `a long request counts four times while it runs, up to a quarter`() throws {
    let budget = ByteBudget(bytesMax: 1 << 20)
    let account = budget.open()
    for (length, counted) in [(65_535, 0), (65_536, 3 * 65_536), (1 << 19, 1 << 18)] {
      let share = try #require(account.begin(for: length))
      #expect(budget.bytes == counted)
      #expect(share.grew(by: 1000))
      #expect(budget.bytes == counted + 1000)
      share.end()
      #expect(budget.bytes == 0)
    }
    let reserved = try #require(account.begin(reserving: 1 << 19, for: 70_000))
    #expect(budget.bytes == 1 << 19 + 210_000)
    reserved.end()
  }

  @Test func `a long request waits for the memory that it needs, unless nothing else runs`() throws
  {
    let budget = ByteBudget(bytesMax: 1 << 20)
    let (first, second) = (budget.open(), budget.open())
    let length = 1 << 16
    first.addRequests(13 << 16)
    // Requests alone may leave less than it needs, which no other response would release.
    let alone = try #require(second.begin(for: length))
    #expect(second.begin(for: length) == nil)
    let woken = Count()
    second.wait { woken.add() }
    alone.end()
    #expect(woken.count == 1)
    first.setResponses(1)
    #expect(second.begin(for: length) == nil)
    #expect(second.begin(for: length - 1) != nil)
    first.addRequests(-(1 << 16))
    #expect(second.begin(for: length) != nil)
  }

  @Test func `the release of much memory is reported once`() {
    let count = Count()
    let mebibyte = 1 << 20
    let budget = ByteBudget(bytesMax: 512 * mebibyte) { count.add() }
    let account = budget.open()
    for bytes in [33, 0, 32, 0, 33, 1].map({ $0 * mebibyte }) { account.setResponses(bytes) }
    #expect(count.count == 1)
    account.setResponses(50 * mebibyte)
    for left in stride(from: 50, through: 0, by: -1) { account.setResponses(left * mebibyte) }
    #expect(count.count == 2)
    account.setResponses(33 * mebibyte)
    account.close()
    #expect(count.count == 3)
  }

  @Test func `others begin below half while a long request waits`() throws {
    let budget = ByteBudget(bytesMax: 1 << 20)
    let (first, second, third) = (budget.open(), budget.open(), budget.open())
    let share = try #require(first.begin())
    #expect(share.grew(by: 900_000))
    #expect(third.begin() != nil)
    #expect(second.begin(for: 1 << 16) == nil)
    #expect(third.begin() == nil)
    // A short request of the same connection does not wait for it.
    #expect(second.begin() != nil)
    second.endReserving()
    #expect(third.begin() != nil)
    #expect(second.begin(for: 1 << 16) == nil)
    share.end()
    #expect(second.begin(for: 1 << 16) != nil)
    let other = try #require(first.begin())
    #expect(other.grew(by: 900_000))
    #expect(third.begin() != nil)
  }

  @Test func `a request begins where no response will release memory`() throws {
    let (first, second) = (budget.open(), budget.open())
    let kept = budget.keep()
    kept.add(300)
    first.addRequests(250)
    // A short unfinished message is not dropped, and may stay as it is.
    #expect(!second.setUnfinished(1))
    first.beginReserving()
    let reserved = try #require(first.begin(reserving: 500))
    #expect(budget.bytes == 1000)
    let woken = Count()
    #expect(second.begin(reserving: 500) == nil)
    second.wait { woken.add() }
    kept.add(1000)
    #expect(woken.count == 0)
    reserved.end()
    // The results alone take more than all memory.
    #expect(budget.bytes > 1000)
    #expect(woken.count == 1)
    #expect(second.begin() != nil)
  }

  @Test func `results leave less memory to responses, and hold up none that reserves`() throws {
    let account = budget.open()
    var kept: ByteBudget.Kept? = budget.keep()
    kept?.add(900)
    #expect(budget.bytes == 900)
    let share = try #require(account.begin())
    #expect(!share.grew(by: 200))
    share.end()
    // Nothing of the results will be released for it.
    let reserved = try #require(account.begin(reserving: 500))
    #expect(account.begin(reserving: 500) == nil)
    reserved.end()
    kept?.set(100)
    #expect(budget.bytes == 100)
    kept = nil
    #expect(budget.bytes == 0)
  }

  @Test func `a response that grows beyond it is refused, and releases what it took`() throws {
    let account = budget.open()
    let share = try #require(account.begin())
    #expect(share.grew(by: 600))
    #expect(budget.bytes == 600)
    #expect(!share.wasRefused)
    #expect(!share.grew(by: 600))
    #expect(share.wasRefused)
    share.end()
    #expect(budget.bytes == 0)
    // A second end has no effect.
    share.end()
    #expect(budget.bytes == 0)
  }

  @Test func `a reservation is taken at once, and what exceeds it as it grows`() throws {
    let (first, second) = (budget.open(), budget.open())
    first.setResponses(400)
    let share = try #require(second.begin(reserving: 500))
    #expect(share.isReserved)
    #expect(budget.bytes == 900)
    #expect(share.grew(by: 500))
    #expect(budget.bytes == 900)
    #expect(share.grew(by: 50))
    #expect(budget.bytes == 950)
    #expect(!share.grew(by: 100))
    share.end()
    #expect(budget.bytes == 400)
    #expect(second.begin(reserving: 601) == nil)
  }

  @Test func `half of it is left to a response that did not fit`() throws {
    let (small, large) = (budget.open(), budget.open())
    small.setResponses(600)
    #expect(small.begin() != nil)
    large.beginReserving()
    #expect(small.begin() == nil)
    small.setResponses(500)
    #expect(small.begin() != nil)
    #expect(large.begin(reserving: 500) != nil)
    // The response has begun, so that others may use the rest.
    #expect(small.begin() != nil)
  }

  @Test func `half of it is not left to a connection that has ended`() throws {
    let small = budget.open()
    small.setResponses(600)
    do {
      let large = budget.open()
      large.beginReserving()
      #expect(small.begin() == nil)
    }
    #expect(small.begin() != nil)
  }

  @Test func `a waiter is called once when memory is free, and not after its end`() {
    let (first, second, third) = (budget.open(), budget.open(), budget.open())
    let (called, uncalled) = (Count(), Count())
    first.setResponses(1200)
    second.wait { called.add() }
    second.wait { called.add() }
    third.wait { uncalled.add() }
    #expect(budget.hasWaiting)
    third.close()
    first.setResponses(1000)
    #expect(called.count == 0)
    first.setResponses(900)
    #expect(called.count == 1)
    first.setResponses(0)
    #expect(called.count == 1)
    #expect(uncalled.count == 0)
    #expect(!budget.hasWaiting)
  }

  @Test func `a response drops unfinished messages that need its memory`() throws {
    let dropped = Count()
    let budget = ByteBudget(bytesMax: 1 << 20)
    let sender = budget.open { dropped.add() }
    let reader = budget.open()
    #expect(!sender.setUnfinished(1 << 20))
    let share = try #require(reader.begin())
    #expect(dropped.count == 1)
    #expect(sender.unfinishedBytes == 0)
    #expect(share.grew(by: 1 << 20))
  }

  @Test func `requests use at most half of it, so that each can be answered`() {
    let budget = ByteBudget(bytesMax: 1 << 20)
    let account = budget.open()
    #expect(budget.messageBytesMax == 1 << 19)
    account.addRequests(1 << 18)
    #expect(!budget.isFullOfRequests)
    account.addRequests(1)
    #expect(budget.isFullOfRequests)
    account.addRequests((1 << 18) - 1)
    // A small message is read at the bound too.
    #expect(budget.messageBytesMax == 1 << 16)
    #expect(account.begin(reserving: 1 << 19) != nil)
    account.addRequests(-1 << 19)
    #expect(budget.bytes == 0)
  }
}
