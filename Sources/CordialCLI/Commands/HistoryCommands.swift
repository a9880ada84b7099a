import ArgumentParser
import Cordial
import JSON

/// `cordial update`: values for all objects that match.
struct Update: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Set properties of all objects of an entity that match a predicate.",
    discussion: """
      For example: cordial update Todo.cordial Task --where 'priority < 3' \
      --set 'title="Later"' --compute 'priority=priority + 1'
      """
  )

  @OptionGroup var place: StoreArgument

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

  @Option(help: "Who is entered in the history.")
  var author: String?

  @Flag(help: "Tell what it would do, and do nothing.")
  var dryRun = false

  func run() async throws {
    var values = try set.map { text in
      let (name, value) = try pair(text)
      do throws(JSONError) {
        return JSONMember(name, try JSONParser.parse(value))
      } catch {
        throw InputError(
          message: "--set \(text): \(error.message); a text stands in quotes, as name='\"x\"'"
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
    let answer = try await place.with { try await $0.call("update", .object(call)) }
    if dryRun { return try DryRunOutput.write(answer) }
    for id in answer["ids"]?.array ?? [] { Terminal.line(id.string ?? "") }
  }

  private func pair(_ text: String) throws -> (String, String) {
    guard let sign = text.firstIndex(of: "=") else {
      throw InputError(message: "\(text) is no NAME=VALUE")
    }
    return (String(text[..<sign]), String(text[text.index(after: sign)...]))
  }
}

/// What `undo` and `redo` take on the command line.
struct RevertOptions: ParsableArguments {
  @OptionGroup var place: StoreArgument

  @Option(help: "How many groups of commits.")
  var count = 1

  @Option(help: "Whose; without it those that were saved without an author.")
  var author: String?

  @Option(help: "Only commits of this context.")
  var context: String?

  @Flag(help: "Leave what others changed later, and revert the rest.")
  var keepOthers = false

  @Flag(help: "Tell what it would do, and do nothing.")
  var dryRun = false

  /// Calls the method and says what came of it.
  func call(_ method: String, _ nothing: String) async throws {
    var params = [
      JSONMember("count", .integer(Int64(count))), JSONMember("dryRun", .bool(dryRun)),
    ]
    if let author { params.append(JSONMember("author", .string(author))) }
    if let context { params.append(JSONMember("context", .string(context))) }
    if keepOthers { params.append(JSONMember("mergePolicy", "storeTrump")) }
    let call = params
    let answer = try await place.with { try await $0.call(method, .object(call)) }
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

/// `cordial redo`: does again what was undone.
struct Redo: AsyncParsableCommand {
  static let configuration = CommandConfiguration(abstract: "Do again what was undone last.")

  @OptionGroup var options: RevertOptions

  func run() async throws { try await options.call("redo", "There is nothing to do again.") }
}

/// What a dry run answers, for a person or a program.
enum DryRunOutput {
  static func write(_ answer: JSONValue) throws {
    guard let dryRun = answer["dryRun"] else { return }
    guard Terminal.isOutput else { return Terminal.line(dryRun.text) }
    if let error = dryRun["error"] {
      throw InputError(message: "It would fail: \(error["message"]?.string ?? "")")
    }
    for (name, words) in [("delete", "would be gone"), ("update", "would be changed")] {
      for id in dryRun[name]?.array ?? [] { Terminal.line("\(id.string ?? "")  \(words)") }
    }
  }
}

/// `cordial history`: commits, oldest first.
struct History: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Print the commits of a store with their changes, oldest first.",
    discussion: "For example the last ten: cordial history Todo.cordial --last 10"
  )

  @OptionGroup var place: StoreArgument

  @Option(help: "Begin behind this position, a token that came with an answer.")
  var since: String?

  @Option(help: "How many commits at most.")
  var limit: Int?

  @Option(help: "Only the newest so many commits.")
  var last: Int?

  @Option(parsing: .unconditionalSingleValue, help: "Only changes of this entity; may be repeated.")
  var entity: [String] = []

  @Option(parsing: .unconditionalSingleValue, help: "Only this author's; may be repeated.")
  var author: [String] = []

  func validate() throws {
    guard limit.map({ $0 > 0 }) ?? true, last.map({ $0 > 0 }) ?? true else {
      throw ValidationError("--limit and --last are numbers above 0")
    }
  }

  /// How many commits are asked for at once.
  private static let pageSize = 1000

  func run() async throws {
    var shown: [JSONValue] = []
    var left = limit ?? Int.max
    var position = since
    try await place.with { client in
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

  /// A line of JSON for a program, some lines for a person.
  private static func write(_ commit: JSONValue) {
    guard Terminal.isOutput else { return Terminal.line(commit.text) }
    let who = commit["author"]?.string ?? "nobody"
    let what = commit["context"]?.string.map { " (\($0))" } ?? ""
    Terminal.line(
      "\(commit["time"]?.string ?? "")  \(who)\(what)  \(commit["token"]?.string ?? "")"
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

/// `cordial followers`: who follows the log by name.
struct Followers: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "List who follows the history by name, or register and remove followers."
  )

  @OptionGroup var place: StoreArgument

  @Option(help: "Keep the history for this name from now on; prints its position.")
  var register: String?

  @Option(help: "Keep the history for this name no more.")
  var remove: String?

  func validate() throws {
    guard register == nil || remove == nil else {
      throw ValidationError("--register and --remove exclude each other")
    }
  }

  func run() async throws {
    if let register {
      let answer = try await place.with {
        try await $0.call("follower/register", ["name": .string(register)])
      }
      return Terminal.line(answer["token"]?.string ?? "")
    }
    if let remove {
      let answer = try await place.with {
        try await $0.call("follower/remove", ["name": .string(remove)])
      }
      guard answer["removed"] == true else {
        throw InputError(message: "There is no follower \(remove)")
      }
      return
    }
    let answer = try await place.with { try await $0.call("follower/list", [:]) }
    Output.objects(answer["followers"]?.array ?? [])
  }
}
