import PersistentStore
import TestSeeds
import Testing

/// A schedule whose changes an expectation can have.
private final class Schedule {
  private var value = ReadSchedule()

  var count: Int { value.count }
  func begin(_ read: Int) { value.begin(read) }
  func check(_ read: Int, hasUsedSlice: Bool, at now: UInt64) -> Bool {
    value.check(read, hasUsedSlice: hasUsedSlice, at: now)
  }
  func resume(at now: UInt64) -> Int? { value.resume(at: now) }
  func leave(_ read: Int) { value.leave(read) }
  func end(_ read: Int, at now: UInt64) { value.end(read, at: now) }
}

// Evidence: P-018c
@Suite struct `The schedule of reads` {
  private static let millisecond: UInt64 = 1_000_000
  /// A time long after the last quick read.
  private static let calm = 1000 * millisecond

  @Test func `lets quick reads continue whatever else runs`() {
    let schedule = Schedule()
    for read in 1...4 {
      schedule.begin(read)
      // Two of them pause.
      _ = schedule.check(read, hasUsedSlice: true, at: Self.calm)
    }
    for read in 5...20 { schedule.begin(read) }
    for read in 5...20 {
      #expect(!schedule.check(read, hasUsedSlice: false, at: Self.calm))
    }
    #expect(schedule.count == 20)
  }

  @Test func `runs two slow reads, and continues the others in turn`() {
    let schedule = Schedule()
    for read in 1...5 { schedule.begin(read) }
    let pauses = (1...5).map { schedule.check($0, hasUsedSlice: true, at: Self.calm) }
    // One slow read runs beside quick ones, and the last one gives way to those that pause.
    #expect(pauses == [false, true, true, true, true])
    #expect(schedule.resume(at: Self.calm) == 2)
    #expect(schedule.resume(at: Self.calm) == nil)
    schedule.end(1, at: Self.calm)
    #expect(schedule.resume(at: Self.calm) == 3)
    // A read keeps its slice, and no more while others wait.
    #expect(!schedule.check(2, hasUsedSlice: false, at: Self.calm))
    #expect(schedule.check(2, hasUsedSlice: true, at: Self.calm))
    for read in [4, 5, 2] {
      #expect(schedule.resume(at: Self.calm) == read)
      #expect(schedule.resume(at: Self.calm) == nil)
      #expect(!schedule.check(3, hasUsedSlice: false, at: Self.calm))
      schedule.end(read, at: Self.calm)
    }
    #expect(schedule.resume(at: Self.calm) == nil)
    // Nothing waits any more.
    #expect(!schedule.check(3, hasUsedSlice: true, at: Self.calm))
    schedule.end(3, at: Self.calm)
    #expect(schedule.count == 0)
  }

  @Test func `leaves a processor to quick reads, and some milliseconds longer`() {
    let schedule = Schedule()
    for read in 1...2 {
      schedule.begin(read)
      #expect(!schedule.check(read, hasUsedSlice: true, at: Self.calm))
    }
    schedule.begin(3)
    #expect(schedule.check(1, hasUsedSlice: false, at: Self.calm))
    #expect(!schedule.check(2, hasUsedSlice: false, at: Self.calm))
    schedule.end(3, at: Self.calm)
    #expect(schedule.resume(at: Self.calm + 4 * Self.millisecond) == nil)
    #expect(schedule.resume(at: Self.calm + 5 * Self.millisecond) == 1)
  }

  @Test func `continues a paused read that has to end, and forgets one that ended`() {
    let schedule = Schedule()
    for read in 1...4 { schedule.begin(read) }
    let pauses = (1...4).map { schedule.check($0, hasUsedSlice: true, at: Self.calm) }
    #expect(pauses == [false, true, true, true])
    schedule.leave(4)
    schedule.end(2, at: Self.calm)
    #expect(schedule.count == 3)
    // 1 and 4 run.
    #expect(schedule.resume(at: Self.calm) == nil)
    schedule.end(4, at: Self.calm)
    #expect(schedule.resume(at: Self.calm) == 3)
    #expect(schedule.resume(at: Self.calm) == nil)
  }

  @Test(arguments: Seeds.first(50))
  func `continues reads in the order of their pauses, and all of them`(_ seed: UInt64) {
    var random = SplitMix64(seed: seed)
    let schedule = Schedule()
    var now = Self.calm
    var running: [Int] = []
    var paused: [Int] = []
    /// The slices that each read still needs.
    var needs: [Int: Int] = [:]
    var slices = 0
    for read in 1...30 { needs[read] = random.below(12) }
    let total = needs.values.reduce(0, +)
    var next = 1
    while next <= 30 || !running.isEmpty || !paused.isEmpty {
      now += UInt64(random.below(10)) * Self.millisecond
      if next <= 30, random.oneIn(3) {
        schedule.begin(next)
        running.append(next)
        next += 1
      }
      while let read = schedule.resume(at: now) {
        #expect(paused.first == read, "\(Seeds.repeating(seed))")
        paused.removeAll { $0 == read }
        running.append(read)
      }
      if !running.isEmpty {
        let read = running.remove(at: random.below(running.count))
        if needs[read, default: 0] == 0 {
          schedule.end(read, at: now)
        } else {
          needs[read, default: 0] -= 1
          slices += 1
          if schedule.check(read, hasUsedSlice: true, at: now) {
            paused.append(read)
          } else {
            running.append(read)
          }
        }
      } else if next > 30 {
        Issue.record("\(paused.count) reads pause for ever. \(Seeds.repeating(seed))")
        return
      }
      #expect(schedule.count == running.count + paused.count, "\(Seeds.repeating(seed))")
    }
    #expect(slices == total)
    #expect(schedule.count == 0)
  }
}
