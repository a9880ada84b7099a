/// About a megabyte of save requests, and how fast something goes over them.
enum SaveRequests {
  /// Requests with one insert each; one in four has escapes in it, one in eight Chinese.
  static func make(byteCount: Int = 1_000_000) -> [[UInt8]] {
    var sample = SampleText(seed: 4)
    var requests: [[UInt8]] = []
    var total = 0
    while total < byteCount {
      var item = Item(from: &sample)
      if requests.count.isMultiple(of: 4) { item.text += #" \"quoted\"\nand \\ more"# }
      if requests.count.isMultiple(of: 8) { item.name += " 数据库" }
      let insert = #"{"id":"Item/t\#(requests.count)","values":\#(item.json)}"#
      let request =
        #"{"jsonrpc":"2.0","id":\#(requests.count),"method":"save","params":{"insert":[\#(insert)]}}"#
      requests.append(Array(request.utf8))
      total += requests[requests.count - 1].count
    }
    return requests
  }

  /// The median of some passes, in megabytes a second; the work answers with a number that depends
  /// on its outcome, so that none of it can be left out.
  static func megabytesPerSecond(
    of byteCount: Int,
    passes: Int,
    _ work: () throws -> Int
  ) throws -> Double {
    var latencies = Latencies(reserving: passes)
    for _ in 0..<passes {
      let start = ContinuousClock.now
      let outcome = try work()
      latencies.add(ContinuousClock.now - start)
      guard outcome > 0 else { throw BenchmarkError("The work had no outcome") }
    }
    return Double(byteCount) / 1e3 / latencies.medianMilliseconds
  }
}
