/// What a sub-command found: named figures, in the order in which they were added.
struct Report {
  private var members: [String] = []

  init() {}

  /// The figures that every latency row has.
  init(_ latencies: Latencies) {
    add("rounds", Double(latencies.count))
    add("p50Microseconds", latencies.percentile(0.50))
    add("p99Microseconds", latencies.percentile(0.99))
  }

  /// Adds a figure, kept to three decimals.
  mutating func add(_ name: String, _ figure: Double) {
    let rounded = (figure * 1000).rounded() / 1000
    members.append(
      rounded == rounded.rounded() && rounded.magnitude < 1e15
        ? "\"\(name)\":\(Int64(rounded))" : "\"\(name)\":\(rounded)"
    )
  }

  /// The one line of JSON that a sub-command prints; no name or figure needs an escape.
  func line(named subcommand: String) -> String {
    "{" + (["\"command\":\"\(subcommand)\""] + members).joined(separator: ",") + "}"
  }
}
