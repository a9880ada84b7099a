import ArgumentParser
import Cordial
import CordialProtocol
import JSON

/// `cordial doctor`: checks the health of a store.
struct Doctor: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "doctor",
    abstract: "Check the health of a store, its history and its index.",
    discussion: """
      The exit code is 1 when the check finds a problem. With the socket of a running service, the \
      page has the slow sorts that its clients requested, and the indexes that they did not use.
      """
  )

  @OptionGroup var storeArgument: StoreArgument

  @Flag(help: "Print JSON on a terminal too.")
  var json = false

  func run() async throws {
    let isSocket = storeArgument.isSocket
    let report = try await storeArgument.with { client in
      // The first status request seals changes made by external SQLite clients. The index catches
      // up before the last status request reports its state.
      _ = try await client.call(.status, [:])
      let comparison = try await client.call(.verifyIndex, [:])
      let verification = try await client.call(.verifyStore, [:])
      var counts: [JSONMember] = []
      for entity in try await client.call(.model, [:])[.entities]?.array ?? [] {
        guard let name = entity[.name]?.string, entity["abstract"]?.bool != true else { continue }
        let answer = try await client.call(
          .fetch,
          .object([.entity: .string(name), .result: "count", .subentities: false])
        )
        counts.append(JSONMember(name, answer[.count] ?? 0))
      }
      let index = try await client.call(.indexStatus, [:])
      return DoctorReport(
        status: try await client.call(.status, [:]),
        counts: .object(counts),
        store: verification,
        index: .object((comparison.members ?? []) + [JSONMember(.bytes, index[.bytes] ?? 0)]),
        isOfService: isSocket
      )
    }
    if Terminal.isOutput, !json {
      for line in report.page { Terminal.line(VisibleText.line(line)) }
    } else {
      Terminal.line(report.json.text)
    }
    if !report.problems.isEmpty { throw ExitCode(1) }
  }
}

/// The answers of a service about its store's health.
struct DoctorReport: Sendable {
  /// The answer to `status`.
  let status: JSONValue
  /// The number of objects of each entity.
  let counts: JSONValue
  /// The answer to `store/verify`.
  let store: JSONValue
  /// The answer to `index/verify`, with the size of the index in bytes.
  let index: JSONValue

  /// Whether a service with other clients gave the answers.
  let isOfService: Bool

  /// The report for scripts.
  var json: JSONValue {
    ["status": status, "counts": counts, "store": store, "index": index]
  }

  /// The problems that were found, a sentence for each.
  var problems: [String] {
    (store[.problems]?.array ?? []).compactMap { $0[.message]?.string }
      + (index[.differences]?.array ?? []).map { difference in
        "the index and the store differ in \(difference[.id]?.string ?? ""): "
          + (difference[.what]?.string ?? "")
      }
  }

  /// What other programs added to the store's file.
  private var foreign: [String] {
    (store[.foreign]?.array ?? []).map { part in
      "the \(part[.what]?.string ?? "") \(part[.name]?.text ?? "") of another program"
    }
  }

  /// The page for a person, a line for each element.
  var page: [String] {
    var lines = section("Store", [status[.store]?[.path]?.string ?? "", sizes])
    let largest = (counts.members ?? []).map { ($0.name, $0.value.integer ?? 0) }
    let width = largest.map { "\($0.1)".count }.max() ?? 0
    lines += section("Objects", largest.map { "\(padded("\($0.1)", width)) \($0.0)" })
    lines += section(
      "History",
      [
        "at \(status[.token]?.string ?? "")",
        "from \(status[.history]?[.oldest]?.string ?? "")",
      ]
    )
    lines += section("Followers", (status[.followers]?.array ?? []).map(follower))
    lines += section("Sorts", (status[.slowSorts]?.array ?? []).map(sort))
    if isOfService {
      lines += section("Indexes", (status[.unusedIndexes]?.array ?? []).map(index))
    }
    lines += section("Foreign", foreign)
    lines += section("Wrong", problems)
    return problems.isEmpty ? lines + ["All is well."] : lines
  }

  private var sizes: String {
    let (bytes, indexBytes) = (status[.store]?[.bytes], index[.bytes])
    return "\(store[.checked]?.integer ?? 0) objects, \(Self.size(bytes)), "
      + "and \(Self.size(indexBytes)) for the index"
  }

  private func follower(_ follower: JSONValue) -> String {
    let behind = follower[.behind]?.integer ?? 0
    let hasExpired = follower[.expired] == true
    let kept = hasExpired ? ", expired" : ", which the history retains"
    let late = behind > 0 ? "\(behind) commits behind\(kept)" : "up to date"
    return "\(follower[.name]?.string ?? ""): \(late)"
  }

  private func sort(_ sort: JSONValue) -> String {
    let keys = (sort[.sort]?.array ?? []).compactMap(\.string).joined(separator: ", ")
    let time = Double(sort[.microsecondsMax]?.integer ?? 0) / 1000
    return "\(sort[.entity]?.string ?? "") by \(keys) has no index: "
      + "\(sort[.count]?.integer ?? 0) requests, up to \(time) ms"
  }

  private func index(_ index: JSONValue) -> String {
    let keys = (index[.keys]?.array ?? []).compactMap(\.string).joined(separator: ", ")
    return "\(index[.entity]?.string ?? "") by \(keys): no request used it since the start"
  }

  /// Returns lines after a title; no lines without content.
  private func section(_ title: String, _ lines: [String]) -> [String] {
    lines.enumerated().map { index, line in
      (index == 0 ? title : "") + String(repeating: " ", count: 11 - (index == 0 ? title.count : 0))
        + line
    }
  }

  private func padded(_ text: String, _ width: Int) -> String {
    String(repeating: " ", count: max(0, width - text.count)) + text
  }

  private static func size(_ bytes: JSONValue?) -> String {
    let bytes = bytes?.integer ?? 0
    return bytes < 1_000_000 ? "\(bytes / 1000) kB" : "\(bytes / 1_000_000) MB"
  }
}
