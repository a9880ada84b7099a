import ArgumentParser
import Cordial
import CordialProtocol
import Engine
import JSON

/// `cordial history`: prints commits, or removes old commits.
struct History: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "history",
    abstract: "Print the commits of a store with their changes, oldest first; or remove old ones.",
    discussion: """
      For example the last ten: cordial history Todo.cordial --last 10. A store that is named like \
      a subcommand is written as ./purge.
      """,
    subcommands: [ListHistory.self, PurgeHistory.self],
    defaultSubcommand: ListHistory.self
  )
}

/// `cordial history list`: prints commits, oldest first.
struct ListHistory: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "list",
    abstract: "Print the commits of a store with their changes, oldest first."
  )

  @OptionGroup var storeArgument: StoreArgument

  @Option(
    help: "Begin after this position, the token of an earlier result; or at a date, RFC 3339."
  )
  var since: String?

  @Option(help: "The maximum number of commits.")
  var limit: Int?

  @Option(help: "Only this number of the newest commits.")
  var last: Int?

  @Option(parsing: .unconditionalSingleValue, help: "Only changes of this entity; may be repeated.")
  var entity: [String] = []

  @Option(
    parsing: .unconditionalSingleValue,
    help: "Only commits of this author, or with a * at the end, of authors that begin so."
  )
  var author: [String] = []

  func validate() throws {
    guard limit.map({ $0 > 0 }) ?? true, last.map({ $0 > 0 }) ?? true else {
      throw ValidationError("--limit and --last are numbers above 0")
    }
  }

  private static func filter(_ author: String) -> HistoryCall.Author {
    author.hasSuffix("*") ? .prefix(String(author.dropLast())) : .one(author)
  }

  /// The maximum number of commits in one request.
  private static let pageSize = 1000

  func run() async throws {
    var shown: [JSONValue] = []
    var left = limit ?? Int.max
    var position = since
    try await storeArgument.with(for: .reading) { client in
      while left > 0 {
        var call = HistoryCall(since: position)
        call.limit = min(left, Self.pageSize)
        if !entity.isEmpty { call.entities = entity }
        if !author.isEmpty { call.authors = author.map(Self.filter) }
        let page = try await client.reply(to: call)
        for commit in page[.transactions]?.array ?? [] {
          left -= 1
          guard let last else {
            try Self.write(commit)
            continue
          }
          shown.append(commit)
          if shown.count > last { shown.removeFirst() }
        }
        position = page[.token]?.string
        if page[.more] != true { break }
      }
    }
    for commit in shown { try Self.write(commit) }
  }

  /// Prints a commit: as one line of JSON for a program, as several lines for a person.
  private static func write(_ json: JSONValue) throws {
    guard Terminal.isOutput else { return Terminal.line(json.text) }
    let commit = try HistoryCall.Transaction.read(json)
    let author = commit.author ?? "no author"
    let what = commit.context.map { " (\($0))" } ?? ""
    Terminal.line(VisibleText.line("\(commit.time)  \(author)\(what)  \(commit.token)"))
    for change in commit.changes {
      let line =
        "  \(change.kind) \(change.id)"
        + (change.properties.isEmpty ? "" : ": " + change.properties.joined(separator: ", "))
      Terminal.line(VisibleText.line(line))
    }
  }
}

/// `cordial history purge`: removes the oldest commits from the history.
struct PurgeHistory: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "purge",
    abstract: "Remove the oldest commits from the history, as far as nobody needs them.",
    discussion: """
      For example all but the last month: cordial history purge Todo.cordial --keep-days 30. \
      Followers and running services keep what they need.
      """
  )

  @OptionGroup var storeArgument: StoreArgument

  @Option(help: "Remove the commits before this position, a token, or before a date, RFC 3339.")
  var before: String?

  @Option(help: "Keep the commits of this number of days.")
  var keepDays: Int?

  @Option(help: "Keep this number of the newest commits.")
  var keepCommits: Int?

  @Option(help: "Keep about this number of the newest bytes.")
  var keepBytes: Int?

  func validate() throws {
    let kept = [keepDays, keepCommits, keepBytes].compactMap { $0 }
    guard (before == nil) != kept.isEmpty else {
      throw ValidationError("Name either --before or what to keep, as --keep-days 30")
    }
    guard kept.allSatisfy({ $0 >= 0 }), keepDays ?? 0 <= 36_500 else {
      throw ValidationError("What to keep is a number from 0; at most 36500 days")
    }
  }

  func run() async throws {
    var call = PurgeCall(before: before)
    call.seconds = keepDays.map { Int64($0) * 86_400 }
    call.transactions = keepCommits.map { Int64($0) }
    call.bytes = keepBytes.map { Int64($0) }
    let answer = try await storeArgument.with { [call] in try await $0.reply(to: call) }
    guard Terminal.isOutput else { return Terminal.line(answer.text) }
    let result = try PurgeCall.result(answer)
    Terminal.line("Removed \(result.transactions) commits")
    if let holder = result.heldBy {
      Terminal.line("\(VisibleText.line(holder)) needs the others")
    }
  }
}
