import Glibc
import SQLite
import TestSeeds
import Testing

@Suite struct `A table in a temporary file` {
  @Test(arguments: Seeds.first(5))
  func `has what was added and not taken, in order`(seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    let table = try ScratchTable()
    var expected: [Int: [String: [String]]] = [:]
    for number in 0..<2000 {
      let (kind, key) = (random.below(3), "k\(random.below(20))\0")
      switch random.below(3) {
      case 0, 1:
        let text = "\(number) \0 ä"
        try table.add(kind, key, text)
        expected[kind, default: [:]][key, default: []].append(text)
      default:
        let max = 1 + random.below(4)
        let known = expected[kind]?[key] ?? []
        #expect(try table.first(kind, key) == known.first)
        #expect(try table.take(kind, key, max: max) == Array(known.prefix(max)))
        expected[kind, default: [:]][key] = known.count > max ? Array(known.dropFirst(max)) : nil
      }
    }
    for kind in 0..<3 {
      let keys = expected[kind]?.keys.sorted() ?? []
      #expect(try table.keys(kind, max: 100).sorted() == keys, "\(Seeds.repeating(seed))")
      #expect(try table.keys(kind, max: 2).count == min(2, keys.count))
    }
  }

  /// A transaction that is open at the end of a connection is rolled back, which calls hooks.
  ///
  /// Their objects no longer are then. Here the C library overwrites what is freed.
  @Test func `can end with what it has`() async {
    await #expect(processExitsWith: .success) {
      // Swift does not import malloc.h.
      let mallopt = unsafe unsafeBitCast(
        dlsym(nil, "mallopt"),
        to: (@convention(c) (CInt, CInt) -> CInt).self
      )
      let perturb: CInt = -6
      #expect(mallopt(perturb, 165) == 1)
      for number in 0..<100 {
        let table = try ScratchTable()
        for key in 0..<(number % 10) { try table.add(0, "\(key)", "text") }
        #expect(try table.keys(0, max: 100).count == number % 10)
      }
    }
  }

  @Test func `may be larger than its memory`() throws {
    let table = try ScratchTable()
    let text = String(repeating: "x", count: 10_000)
    for number in 0..<5000 { try table.add(0, "\(number)", text) }
    #expect(try table.first(0, "0") == text)
    #expect(try table.first(0, "4999") == text)
  }
}
