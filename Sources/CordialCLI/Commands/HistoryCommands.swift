import ArgumentParser
import Cordial
import JSON

/// `cordial update`: sets values of all objects that match a predicate.
struct Update: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Set properties of all objects of an entity that match a predicate.",
    discussion: """
      For example: cordial update Todo.cordial Task --where 'priority < 3' \
      --set 'title="Later"' --compute 'priority=priority + 1'
      """
  )

  @OptionGroup var storeArgument: StoreArgument

  @Argument(help: "The entity's name.")
  var entity: String

  @Option(
    name: [.customLong("where"), .customLong("predicate")],
    help: "Which objects; TRUEPREDICATE for all."
  )
  var predicate: String

  @Option(
    parsing: .unconditionalSingleValue,
    help: "A property and its value as JSON, like done=true; may be repeated."
  )
  var set: [String] = []

  @Option(
    parsing: .unconditionalSingleValue,
    help: "A property and an expression, like count='count + 1'; may be repeated."
  )
  var compute: [String] = []

  @Option(help: "The author in the history.")
  var author: String?

  @Flag(help: "Print what the update would do, and write nothing.")
  var dryRun = false

  func run() async throws {
    var values = try set.map { text in
      let (name, value) = try pair(text)
      do throws(JSONError) {
        return JSONMember(name, try JSONParser.parse(value))
      } catch {
        throw InputError(
          message: "--set \(text): \(error.message); a text needs quotes, as name='\"x\"'"
        )
      }
    }
    values += try compute.map { text in
      let (name, value) = try pair(text)
      return JSONMember(name, ["@expression": .string(value)])
    }
    var params = [
      JSONMember("entity", .string(entity)), JSONMember("predicate", .string(predicate)),
      JSONMember("set", .object(values)), JSONMember("returning", "ids"),
      JSONMember("dryRun", .bool(dryRun)),
    ]
    if let author { params.append(JSONMember("author", .string(author))) }
    let call = params
    let answer = try await storeArgument.with { try await $0.call("update", .object(call)) }
    if dryRun { return try DryRunOutput.write(answer) }
    for id in answer["ids"]?.array ?? [] { Terminal.line(id.string ?? "") }
  }

  private func pair(_ text: String) throws -> (String, String) {
    guard let sign = text.firstIndex(of: "=") else {
      throw InputError(message: "\(text) is not of the form NAME=VALUE")
    }
    return (String(text[..<sign]), String(text[text.index(after: sign)...]))
  }
}

/// The command-line options of `undo` and `redo`.
struct RevertOptions: ParsableArguments {
  @OptionGroup var storeArgument: StoreArgument

  @Option(help: "The number of groups of commits.")
  var count = 1

  @Option(help: "The author of the commits; without it, the commits without an author.")
  var author: String?

  @Option(help: "Only commits of this context.")
  var context: String?

  @Flag(help: "Leave what other saves changed later, and revert the rest.")
  var keepOthers = false

  @Flag(help: "Print what the command would do, and write nothing.")
  var dryRun = false

  /// Calls the method and prints the result.
  func call(_ method: String, _ nothing: String) async throws {
    var params = [
      JSONMember("count", .integer(Int64(count))), JSONMember("dryRun", .bool(dryRun)),
    ]
    if let author { params.append(JSONMember("author", .string(author))) }
    if let context { params.append(JSONMember("context", .string(context))) }
    if keepOthers { params.append(JSONMember("mergePolicy", "storeTrump")) }
    let call = params
    let answer = try await storeArgument.with { try await $0.call(method, .object(call)) }
    if dryRun { return try DryRunOutput.write(answer) }
    for object in answer["objects"]?.array ?? [] { Terminal.line(object.text) }
    if answer["undone"] == 0 { Terminal.note(nothing + "\n") }
  }
}

/// `cordial undo`: reverts an author's newest commits.
struct Undo: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Undo the newest commits of an author, from the history."
  )

  @OptionGroup var options: RevertOptions

  func run() async throws { try await options.call("undo", "There is nothing to undo.") }
}

/// `cordial redo`: applies again what was undone last.
struct Redo: AsyncParsableCommand {
  static let configuration = CommandConfiguration(abstract: "Apply again what was undone last.")

  @OptionGroup var options: RevertOptions

  func run() async throws { try await options.call("redo", "There is nothing to redo.") }
}

/// The output of a dry run, for a person or a program.
enum DryRunOutput {
  static func write(_ answer: JSONValue) throws {
    guard let dryRun = answer["dryRun"] else { return }
    guard Terminal.isOutput else { return Terminal.line(dryRun.text) }
    if let error = dryRun["error"] {
      throw InputError(message: "It would fail: \(error["message"]?.string ?? "")")
    }
    for (name, words) in [("delete", "would be deleted"), ("update", "would be changed")] {
      for id in dryRun[name]?.array ?? [] { Terminal.line("\(id.string ?? "")  \(words)") }
    }
  }
}

/// `cordial history`: prints commits, oldest first.
struct History: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Print the commits of a store with their changes, oldest first.",
    discussion: "For example the last ten: cordial history Todo.cordial --last 10"
  )

  @OptionGroup var storeArgument: StoreArgument

  @Option(help: "Begin after this position, the token of an earlier result.")
  var since: String?

  @Option(help: "The maximum number of commits.")
  var limit: Int?

  @Option(help: "Only this number of the newest commits.")
  var last: Int?

  @Option(parsing: .unconditionalSingleValue, help: "Only changes of this entity; may be repeated.")
  var entity: [String] = []

  @Option(parsing: .unconditionalSingleValue, help: "Only commits of this author; may be repeated.")
  var author: [String] = []

  func validate() throws {
    guard limit.map({ $0 > 0 }) ?? true, last.map({ $0 > 0 }) ?? true else {
      throw ValidationError("--limit and --last are numbers above 0")
    }
  }

  /// The number of commits in one request.
  private static let pageSize = 1000

  func run() async throws {
    var shown: [JSONValue] = []
    var left = limit ?? Int.max
    var position = since
    try await storeArgument.with { client in
      while left > 0 {
        var params = [JSONMember("limit", .integer(Int64(min(left, Self.pageSize))))]
        if let position { params.append(JSONMember("since", .string(position))) }
        if !entity.isEmpty {
          params.append(JSONMember("entities", .array(entity.map { .string($0) })))
        }
        if !author.isEmpty {
          params.append(JSONMember("authors", .array(author.map { .string($0) })))
        }
        let answer = try await client.call("history", .object(params))
        for commit in answer["transactions"]?.array ?? [] {
          left -= 1
          guard let last else {
            Self.write(commit)
            continue
          }
          shown.append(commit)
          if shown.count > last { shown.removeFirst() }
        }
        position = answer["token"]?.string
        if answer["more"] != true { break }
      }
    }
    for commit in shown { Self.write(commit) }
  }

  /// Prints a line of JSON for a program, several lines for a person.
  private static func write(_ commit: JSONValue) {
    guard Terminal.isOutput else { return Terminal.line(commit.text) }
    let author = commit["author"]?.string ?? "no author"
    let what = commit["context"]?.string.map { " (\($0))" } ?? ""
    Terminal.line(
      "\(commit["time"]?.string ?? "")  \(author)\(what)  \(commit["token"]?.string ?? "")"
    )
    for change in commit["changes"]?.array ?? [] {
      let properties = (change["properties"]?.array ?? []).compactMap(\.string)
      Terminal.line(
        "  \(change["change"]?.string ?? "") \(change["id"]?.string ?? "")"
          + (properties.isEmpty ? "" : ": " + properties.joined(separator: ", "))
      )
    }
  }
}

/// `cordial followers`: lists, registers and removes named followers of the log.
struct Followers: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "List the named followers of the history, or register and remove followers."
  )

  @OptionGroup var storeArgument: StoreArgument

  @Option(help: "Retain the history for this name from now on; prints its position.")
  var register: String?

  @Option(help: "Stop retaining the history for this name.")
  var remove: String?

  func validate() throws {
    guard register == nil || remove == nil else {
      throw ValidationError("--register and --remove exclude each other")
    }
  }

  func run() async throws {
    if let register {
      let answer = try await storeArgument.with {
        try await $0.call("follower/register", ["name": .string(register)])
      }
      return Terminal.line(answer["token"]?.string ?? "")
    }
    if let remove {
      let answer = try await storeArgument.with {
        try await $0.call("follower/remove", ["name": .string(remove)])
      }
      guard answer["removed"] == true else {
        throw InputError(message: "There is no follower \(remove)")
      }
      return
    }
    let answer = try await storeArgument.with { try await $0.call("follower/list", [:]) }
    Output.objects(answer["followers"]?.array ?? [])
  }
}
