import Foundation

/// `foundation-json`: Foundation over the same save requests, as trees and as Swift types.
enum FoundationThroughput {
  static func run(_ options: Options) throws -> Report {
    let passes = try options.number("passes", default: 10)
    let requests = SaveRequests.make().map { Data($0) }
    let byteCount = requests.reduce(0) { $0 + $1.count }
    let decoder = JSONDecoder()
    let encoder = JSONEncoder()
    let trees = try requests.map { try JSONSerialization.jsonObject(with: $0) }
    let values = try requests.map { try decoder.decode(Request.self, from: $0) }
    var report = Report()
    func add(_ name: String, _ work: () throws -> Int) throws {
      report.add(
        name,
        try SaveRequests.megabytesPerSecond(of: byteCount, passes: passes, work)
      )
    }
    report.add("bytes", Double(byteCount))
    try add("parseMegabytesPerSecond") {
      try requests.reduce(0) { total, request in
        let tree = try JSONSerialization.jsonObject(with: request) as? [String: Any]
        return total + (tree?.count ?? 0)
      }
    }
    try add("writeMegabytesPerSecond") {
      try trees.reduce(0) { try $0 + JSONSerialization.data(withJSONObject: $1).count }
    }
    try add("decodeMegabytesPerSecond") {
      try requests.reduce(0) { try $0 + decoder.decode(Request.self, from: $1).method.utf8.count }
    }
    try add("encodeMegabytesPerSecond") {
      try values.reduce(0) { try $0 + encoder.encode($1).count }
    }
    return report
  }

  private struct Request: Codable {
    let jsonrpc: String
    let id: Int
    let method: String
    let params: Parameters
  }

  private struct Parameters: Codable {
    let insert: [Insert]
  }

  private struct Insert: Codable {
    let id: String
    let values: Values
  }

  private struct Values: Codable {
    let name: String
    let count: Int64
    let size: Int32
    let done: Bool
    let weight: Double
    let text: String
  }
}
