import JSON

/// `import`: many inserts through `save`, until they can be searched.
///
/// The next request is sent when the answer to the last one arrived; the requests are built before
/// the clock starts, the answers read as JSON after it stopped.
enum ImportThroughSave {
  static func run(_ options: Options) throws -> Report {
    let count = try options.number("count", default: 200_000)
    let requests = requests(count: count, batch: try options.number("batch", default: 1_000))
    let connection = try Connection(to: options.text("socket"))

    let start = ContinuousClock.now
    var answers: [[UInt8]] = []
    for request in requests {
      answers.append(try connection.exchange(request, LineFormat()))
    }
    let saved = ContinuousClock.now
    let token = try answers.last.flatMap { try Cordial.result(of: $0)["token"] }
    try Cordial.waitUntilIndexed(token, on: connection)
    let searchable = ContinuousClock.now

    let ids = try answers.flatMap(permanentIDs)
    guard ids.count == count else {
      throw BenchmarkError("Of \(count) inserts \(ids.count) were answered with an ID")
    }
    if options.has("ids") {
      try Files.write(ids.joined(separator: "\n") + "\n", to: options.text("ids"))
    }
    var report = Report()
    report.add("count", Double(count))
    report.add("saveSeconds", (saved - start).seconds)
    report.add("seconds", (searchable - start).seconds)
    report.add("saveRowsPerSecond", Double(count) / (saved - start).seconds)
    report.add("rowsPerSecond", Double(count) / (searchable - start).seconds)
    return report
  }

  private static func requests(count: Int, batch: Int) -> [[UInt8]] {
    let items = Item.make(count)
    return stride(from: 0, to: count, by: batch).map { start in
      let inserts = (start..<min(start + batch, count)).map {
        #"{"id":"Item/t\#($0)","values":\#(items[$0].json)}"#
      }
      return Cordial.request("save", #"{"insert":[\#(inserts.joined(separator: ","))]}"#)
    }
  }

  private static func permanentIDs(_ answer: [UInt8]) throws -> [String] {
    try Cordial.result(of: answer)["ids"]?.members?.compactMap(\.value.string) ?? []
  }
}
