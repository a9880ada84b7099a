import ArgumentParser
import Cordial
import CordialProtocol
import JSON

/// `cordial history`: prints commits, or removes old ones.
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

  private static func filter(_ author: String) -> JSONValue {
    author.hasSuffix("*") ? .object([.prefix: .string(String(author.dropLast()))]) : .string(author)
  }

  /// The number of commits in one request.
  private static let pageSize = 1000

  func run() async throws {
    var shown: [JSONValue] = []
    var left = limit ?? Int.max
    var position = since
    try await storeArgument.with { client in
      while left > 0 {
        var params = [JSONMember(.limit, .integer(Int64(min(left, Self.pageSize))))]
        if let position { params.append(JSONMember(.since, .string(position))) }
        if !entity.isEmpty {
          params.append(JSONMember(.entities, .array(entity.map { .string($0) })))
        }
        if !author.isEmpty {
          params.append(JSONMember(.authors, .array(author.map(Self.filter))))
        }
        let answer = try await client.call(.history, .object(params))
        for commit in answer[.transactions]?.array ?? [] {
          left -= 1
          guard let last else {
            Self.write(commit)
            continue
          }
          shown.append(commit)
          if shown.count > last { shown.removeFirst() }
        }
        position = answer[.token]?.string
        if answer[.more] != true { break }
      }
    }
    for commit in shown { Self.write(commit) }
  }

  /// Prints a line of JSON for a program, several lines for a person.
  private static func write(_ commit: JSONValue) {
    guard Terminal.isOutput else { return Terminal.line(commit.text) }
    let author = commit[.author]?.string ?? "no author"
    let what = commit[.context]?.string.map { " (\($0))" } ?? ""
    let line =
      "\(commit[.time]?.string ?? "")  \(author)\(what)  \(commit[.token]?.string ?? "")"
    Terminal.line(VisibleText.line(line))
    for change in commit[.changes]?.array ?? [] {
      let properties = (change[.properties]?.array ?? []).compactMap(\.string)
      let line =
        "  \(change[.change]?.string ?? "") \(change[.id]?.string ?? "")"
        + (properties.isEmpty ? "" : ": " + properties.joined(separator: ", "))
      Terminal.line(VisibleText.line(line))
    }
  }
}

/// `cordial history purge`: removes the beginning of the log.
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
    var keep: [JSONMember] = []
    if let keepDays { keep.append(JSONMember(.seconds, .integer(Int64(keepDays) * 86_400))) }
    if let keepCommits { keep.append(JSONMember(.transactions, .integer(Int64(keepCommits)))) }
    if let keepBytes { keep.append(JSONMember(.bytes, .integer(Int64(keepBytes)))) }
    let params: JSONValue =
      before.map { .object([.before: .string($0)]) } ?? .object([.keep: .object(keep)])
    let answer = try await storeArgument.with { try await $0.call(.purgeHistory, params) }
    guard Terminal.isOutput else { return Terminal.line(answer.text) }
    Terminal.line("Removed \(answer[.transactions]?.integer ?? 0) commits")
    if let holder = answer[.heldBy]?.string {
      Terminal.line("\(VisibleText.line(holder)) needs the others")
    }
  }
}
