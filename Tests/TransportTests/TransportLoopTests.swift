import Synchronization
import Testing
import Transport

@Suite struct `The loop` {
  @Test func `runs work in the order in which it was passed`() async throws {
    let loop = TransportLoop()
    let order = Mutex<[Int]>([])
    for number in 0..<100 { loop.execute { order.withLock { $0.append(number) } } }
    await withCheckedContinuation { continuation in
      loop.execute { continuation.resume() }
    }
    #expect(order.withLock { $0 } == Array(0..<100))
    try await loop.shutdown()
  }

  /// A reader may finish while the program ends.
  @Test func `drops work that comes after its end`() async throws {
    let loop = TransportLoop()
    let ran = Atomic(0)
    loop.execute { ran.add(1, ordering: .relaxed) }
    try await loop.shutdown()
    loop.execute { ran.add(10, ordering: .relaxed) }
    loop.schedule(milliseconds: 0) { ran.add(100, ordering: .relaxed) }
    #expect(ran.load(ordering: .relaxed) == 1)
  }
}
