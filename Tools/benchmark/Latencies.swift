/// How long each of many rounds took.
struct Latencies {
  private var samples: [Duration] = []

  var count: Int { samples.count }

  init(reserving count: Int) { samples.reserveCapacity(count) }

  mutating func add(_ sample: Duration) { samples.append(sample) }

  /// The sample below which that fraction of all lies, in microseconds.
  func percentile(_ fraction: Double) -> Double {
    let sorted = samples.sorted()
    guard !sorted.isEmpty else { return 0 }
    let rank = Int((Double(sorted.count) * fraction).rounded(.up)) - 1
    return sorted[min(max(rank, 0), sorted.count - 1)].microseconds
  }

  /// How long all rounds took together.
  var total: Duration { samples.reduce(.zero, +) }

  /// The middle sample, in milliseconds.
  var medianMilliseconds: Double { percentile(0.5) / 1000 }
}

extension Duration {
  var seconds: Double {
    Double(components.seconds) + Double(components.attoseconds) / 1e18
  }

  var microseconds: Double { seconds * 1e6 }
}
