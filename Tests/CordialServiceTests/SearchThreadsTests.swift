import CordialService
import Dispatch
import JSON
import JSONRPC
import Synchronization
import TestStores
import Testing

@Suite struct `The threads of searches` {
  private static var bytes: MessageBytes {
    var writer = JSONWriter()
    writer.value(["done": true])
    return MessageBytes(writer)
  }

  /// Waits for a semaphore off the threads of Swift's own concurrency.
  private func wait(_ semaphore: DispatchSemaphore) async {
    await withCheckedContinuation { continuation in
      DispatchQueue(label: "waiter").async {
        semaphore.wait()
        continuation.resume()
      }
    }
  }

  // Evidence: P-094d
  @Test func `run beside each other, and beside a comparison`() async throws {
    let host = try ServiceHost(model: TestModels.todo)
    let threads = SearchThreads(store: host.store, index: host.index)
    let (begun, release, ended) = (
      DispatchSemaphore(value: 0), DispatchSemaphore(value: 0), DispatchSemaphore(value: 0)
    )
    let body: SearchThreads.Body<MessageBytes> = { _, _ in
      begun.signal()
      release.wait()
      return Self.bytes
    }
    let order = Mutex<[Int]>([])
    threads.compare(body) { _ in ended.signal() }
    for number in 0..<SearchThreads.countMax + 2 {
      threads.search(body) { result in
        order.withLock { $0.append(number) }
        if case .failure(let error) = result { Issue.record("\(error)") }
        ended.signal()
      }
    }
    // The comparison and as many searches as there are threads have begun, and no other.
    for _ in 0...SearchThreads.countMax { await wait(begun) }
    #expect(begun.wait(timeout: .now()) == .timedOut)
    release.signal()
    await wait(ended)
    for _ in 0..<SearchThreads.countMax + 2 { release.signal() }
    for _ in 0..<SearchThreads.countMax + 2 { await wait(ended) }
    #expect(Set(order.withLock { $0 }) == Set(0..<SearchThreads.countMax + 2))
  }

  @Test func `go on after a search that fails`() async throws {
    struct Failure: Error {}
    let host = try ServiceHost(model: TestModels.todo)
    let threads = SearchThreads(store: host.store, index: host.index)
    for number in 0..<3 * SearchThreads.countMax {
      let result = await withCheckedContinuation { continuation in
        threads.search(
          { _, _ in
            guard number % 2 == 0 else { throw Failure() }
            return Self.bytes
          },
          completion: { continuation.resume(returning: $0) }
        )
      }
      if case .success = result { #expect(number % 2 == 0) } else { #expect(number % 2 == 1) }
    }
  }
}
