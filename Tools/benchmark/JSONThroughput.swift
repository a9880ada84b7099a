import JSON

/// `json`: module JSON over save requests, bytes to tree and tree to bytes.
enum JSONThroughput {
  static func run(_ options: Options) throws -> Report {
    let passes = try options.number("passes", default: 30)
    let requests = SaveRequests.make()
    let trees = try requests.map { try JSONParser.parse($0.span) }
    let byteCount = requests.reduce(0) { $0 + $1.count }
    var report = Report()
    report.add("bytes", Double(byteCount))
    report.add(
      "parseMegabytesPerSecond",
      try SaveRequests.megabytesPerSecond(of: byteCount, passes: passes) {
        try requests.reduce(0) { $0 + (try JSONParser.parse($1.span).members?.count ?? 0) }
      }
    )
    report.add(
      "writeMegabytesPerSecond",
      try SaveRequests.megabytesPerSecond(of: byteCount, passes: passes) {
        trees.reduce(0) { total, tree in
          var writer = JSONWriter(reserving: 512)
          writer.value(tree)
          return total + writer.bytes.count
        }
      }
    )
    return report
  }
}
