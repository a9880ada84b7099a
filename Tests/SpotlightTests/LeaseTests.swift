import Glibc
import Spotlight
import Synchronization
import TestStores
import Testing

@Suite struct `The lease of an index` {
  private func commit(_ index: TestIndex, _ number: Int64) {
    index.commit([number: (body: nil, title: "milk")])
  }

  // Evidence: P-094b
  @Test func `has one process index each commit, while all of them follow`() async throws {
    let first = try TestIndex()
    #expect(await first.catchUp())
    let others = try (0..<3).map { _ in try TestIndex(first.library, in: first.folder) }
    let all = [first] + others
    for index in all { #expect(await index.catchUp()) }
    for number in 1...100 {
      commit(first, Int64(number))
      let newest = first.library.newest
      // All of them wake at once.
      let (reached, answer) = AsyncStream.makeStream(of: Bool.self)
      for index in all.map(\.index) {
        index.follow()
        _ = index.whenReached(newest) { answer.yield($0) }
      }
      var answers = reached.makeAsyncIterator()
      for _ in all { #expect(await answers.next() == true) }
    }
    #expect(first.library.state.withLock { $0.documents } == 100)
    for index in all { #expect(try index.found("milk").count == 100) }
  }

  // Evidence: P-094b
  @Test func `ends with its process`() async throws {
    let index = try TestIndex()
    #expect(await index.catchUp())
    // Another process has the lease and does not index.
    let path = index.folder.path + "/index.sqlite-lease"
    let descriptor = unsafe open(path, O_RDWR | O_CLOEXEC)
    #expect(descriptor >= 0 && flock(descriptor, LOCK_EX) == 0)
    commit(index, 1)
    let newest = index.library.newest
    let (reached, answer) = AsyncStream.makeStream(of: Bool.self)
    index.index.follow()
    _ = index.index.whenReached(newest) { answer.yield($0) }
    // Searches answer meanwhile, from what the index has.
    #expect(try index.found("milk") == [])
    #expect(index.library.state.withLock { $0.documents } == 0)
    #expect(close(descriptor) == 0)
    var answers = reached.makeAsyncIterator()
    #expect(await answers.next() == true)
    #expect(try index.found("milk") == [1])
  }

  // Evidence: P-094b
  @Test func `is not needed to read what another process has indexed`() async throws {
    let index = try TestIndex()
    commit(index, 1)
    #expect(await index.catchUp())
    let descriptor = unsafe open(index.folder.path + "/index.sqlite-lease", O_RDWR | O_CLOEXEC)
    #expect(descriptor >= 0 && flock(descriptor, LOCK_EX) == 0)
    let other = try TestIndex(index.library, in: index.folder)
    #expect(await other.catchUp())
    #expect(try other.found("milk") == [1])
    #expect(index.library.state.withLock { $0.wholeReadings } == 1)
    #expect(close(descriptor) == 0)
  }

  // Evidence: P-094b
  @Test func `of a process that does not advance is passed over`() async throws {
    let index = try TestIndex(leaseWaitMax: 20)
    #expect(await index.catchUp())
    let descriptor = unsafe open(index.folder.path + "/index.sqlite-lease", O_RDWR | O_CLOEXEC)
    #expect(descriptor >= 0 && flock(descriptor, LOCK_EX) == 0)
    for number in 1...3 {
      commit(index, Int64(number))
      #expect(await index.catchUp())
    }
    #expect(try index.found("milk") == [1, 2, 3])
    #expect(close(descriptor) == 0)
  }

  @Test func `of another process is no reason to stop late`() async throws {
    let index = try TestIndex()
    #expect(await index.catchUp())
    let descriptor = unsafe open(index.folder.path + "/index.sqlite-lease", O_RDWR | O_CLOEXEC)
    #expect(descriptor >= 0 && flock(descriptor, LOCK_EX) == 0)
    commit(index, 1)
    let newest = index.library.newest
    let (reached, answer) = AsyncStream.makeStream(of: Bool.self)
    index.index.follow()
    _ = index.index.whenReached(newest) { answer.yield($0) }
    index.index.stop()
    var answers = reached.makeAsyncIterator()
    #expect(await answers.next() == false)
    #expect(close(descriptor) == 0)
    #expect(index.library.state.withLock { $0.documents } == 0)
  }
}
