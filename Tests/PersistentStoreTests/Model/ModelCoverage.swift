import Synchronization

/// Counts what the random operations came to, so that a loss of coverage is seen.
final class ModelCoverage: Sendable {
  /// The largest share of all requests that one open case of the contract may have.
  static let openShareMax = 0.02
  /// Fewer requests say nothing about shares.
  static let requestsMin = 1000

  private let counts = Mutex<[String: Int]>([:])

  func count(_ name: String) {
    counts.withLock { $0[name, default: 0] += 1 }
  }

  /// All cases with their counts: requests by their outcome, `open` for requests that are not sent
  /// because the contract leaves their answer open, `off` for those that need a feature that is off.
  var table: [(name: String, count: Int)] {
    counts.withLock { $0.sorted { $0.key < $1.key } }.map { ($0.key, $0.value) }
  }

  var text: String {
    table.map { "\($0.count)\t\($0.name)" }.joined(separator: "\n")
  }

  /// The open cases that make up more than the allowed share of the requests.
  var excessive: [String] {
    let all = table.filter { $0.name.hasPrefix("request") }.map(\.count).reduce(0, +)
    guard all >= Self.requestsMin else { return [] }
    return table.filter { name, count in
      name.hasPrefix("open: ") && Double(count) > Double(all) * Self.openShareMax
    }.map { "\($0.count) of \(all): \($0.name)" }
  }
}
