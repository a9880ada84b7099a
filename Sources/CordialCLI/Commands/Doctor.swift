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
      // The first status request seals changes by external SQLite clients into a commit. The index
      // reads this commit before the last status request reports the state of the index.
      _ = try await client.call(StatusCall())
      let comparison = try await client.reply(to: IndexVerifyCall())
      let verification = try await client.reply(to: VerifyCall())
      var counts: [(entity: String, count: Int64)] = []
      for entity in try await client.call(ModelCall()).json[.entities]?.array ?? [] {
        guard let name = entity[.name]?.string, entity["abstract"]?.bool != true else { continue }
        var call = FetchCall(entity: name)
        call.form = .count
        call.subentities = false
        counts.append((name, try await client.call(call).count ?? 0))
      }
      return try DoctorReport(
        indexBytes: try await client.call(IndexStatusCall()).bytes,
        status: try await client.reply(to: StatusCall()),
        counts: counts,
        store: verification,
        index: comparison,
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

/// A report on the health of a store, made from the answers of its service.
struct DoctorReport: Sendable {
  /// The size of the index on disk, in bytes.
  let indexBytes: Int64
  let status: StatusCall.Result
  /// The number of objects of each entity.
  let counts: [(entity: String, count: Int64)]
  let store: VerifyCall.Result
  let index: IndexVerifyCall.Result

  /// Whether the answers come from a running service, which may have other clients.
  let isOfService: Bool
  /// The report for scripts, with all members of the answers.
  let json: JSONValue

  /// Creates the report of answers to `status`, `store/verify` and `index/verify`.
  init(
    indexBytes: Int64,
    status: JSONValue,
    counts: [(entity: String, count: Int64)],
    store: JSONValue,
    index: JSONValue,
    isOfService: Bool
  ) throws {
    self.indexBytes = indexBytes
    self.counts = counts
    self.isOfService = isOfService
    self.status = try StatusCall.result(status)
    self.store = try VerifyCall.result(store)
    self.index = try IndexVerifyCall.result(index)
    json = [
      "status": status,
      "counts": .object(counts.map { JSONMember($0.entity, .integer($0.count)) }),
      "store": store,
      "index": .object((index.members ?? []) + [JSONMember(.bytes, .integer(indexBytes))]),
    ]
  }

  /// The problems that the check found, as one sentence each.
  var problems: [String] {
    store.problems.map(\.message)
      + index.differences.map { difference in
        "the index and the store differ in \(difference.id): \(difference.kind)"
      }
  }

  /// The tables, indexes and other parts that other programs added to the store's file.
  private var foreign: [String] {
    (store.foreign ?? []).map { part in
      "the \(part.kind) \(JSONValue.string(part.name).text) of another program"
    }
  }

  /// The page for a person, a line for each element.
  var page: [String] {
    var lines = section("Store", [status.store.path, sizes])
    let width = counts.map { "\($0.count)".count }.max() ?? 0
    lines += section("Objects", counts.map { "\(padded("\($0.count)", width)) \($0.entity)" })
    lines += section(
      "History",
      ["at \(status.token ?? "")", "from \(status.oldest ?? "")"]
    )
    lines += section("Followers", status.followers.map(follower))
    lines += section("Sorts", status.slowSorts.map(sort))
    if isOfService {
      lines += section("Indexes", status.unusedIndexes.map(unused))
    }
    lines += section("Foreign", foreign)
    lines += section("Wrong", problems)
    return problems.isEmpty ? lines + ["All is well."] : lines
  }

  private var sizes: String {
    "\(store.checked) objects, \(Self.size(status.store.bytes ?? 0)), "
      + "and \(Self.size(indexBytes)) for the index"
  }

  private func follower(_ follower: ListFollowersCall.Follower) -> String {
    let kept = follower.isExpired == true ? ", expired" : ", which the history retains"
    let late = follower.behind > 0 ? "\(follower.behind) commits behind\(kept)" : "up to date"
    return "\(follower.name): \(late)"
  }

  private func sort(_ sort: StatusCall.SlowSort) -> String {
    "\(sort.entity) by \(sort.sort.joined(separator: ", ")) has no index: "
      + "\(sort.count) requests, up to \(Double(sort.microsecondsMax) / 1000) ms"
  }

  private func unused(_ index: StatusCall.UnusedIndex) -> String {
    "\(index.entity) by \(index.keys.joined(separator: ", ")): "
      + "no request used it since the start"
  }

  /// Returns the lines of a section, with the title before the first line.
  private func section(_ title: String, _ lines: [String]) -> [String] {
    lines.enumerated().map { index, line in
      (index == 0 ? title : "") + String(repeating: " ", count: 11 - (index == 0 ? title.count : 0))
        + line
    }
  }

  private func padded(_ text: String, _ width: Int) -> String {
    String(repeating: " ", count: max(0, width - text.count)) + text
  }

  private static func size(_ bytes: Int64) -> String {
    bytes < 1_000_000 ? "\(bytes / 1000) kB" : "\(bytes / 1_000_000) MB"
  }
}
