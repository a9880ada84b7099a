import ArgumentParser
import Cordial
import CordialProtocol
import JSON

/// `cordial update`: sets values of all objects that match a predicate.
struct Update: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "update",
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
    var call = UpdateCall(entity: entity, predicate: predicate, values: values)
    call.returnsIDs = true
    call.isDryRun = dryRun
    call.author = author
    let answer = try await storeArgument.with { [call] in try await $0.reply(to: call) }
    if dryRun { return try DryRunOutput.write(answer) }
    for id in try UpdateCall.result(answer).ids ?? [] { Terminal.line(id) }
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

  /// Calls a method and prints the result.
  ///
  /// - Parameters:
  ///   - makeCall: Makes the call from the params.
  ///   - nothing: The sentence to print if no commit was reverted.
  /// - Throws: `ClientError`, `StoreError` or `InputError`.
  func call<Revert: CordialProtocol.Call>(
    _ makeCall: (RevertParams) -> Revert,
    _ nothing: String
  ) async throws {
    var params = RevertParams()
    params.count = count
    params.isDryRun = dryRun
    params.author = author
    params.context = context
    if keepOthers { params.mergePolicy = MergePolicy.storeTrump.rawValue }
    let call = makeCall(params)
    let answer = try await storeArgument.with { try await $0.reply(to: call) }
    if dryRun { return try DryRunOutput.write(answer) }
    for object in answer[.objects]?.array ?? [] { Terminal.line(object.text) }
    if answer[.undone] == 0 { Terminal.note(nothing + "\n") }
  }
}

/// `cordial undo`: reverts an author's newest commits.
struct Undo: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "undo",
    abstract: "Undo the newest commits of an author, from the history."
  )

  @OptionGroup var options: RevertOptions

  func run() async throws { try await options.call(UndoCall.init, "There is nothing to undo.") }
}

/// `cordial redo`: reapplies the commits that were undone last.
struct Redo: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "redo",
    abstract: "Apply again what was undone last."
  )

  @OptionGroup var options: RevertOptions

  func run() async throws { try await options.call(RedoCall.init, "There is nothing to redo.") }
}

/// The output of a dry run for a person or a program.
enum DryRunOutput {
  static func write(_ answer: JSONValue) throws {
    guard let json = answer[.dryRun] else { return }
    guard Terminal.isOutput else { return Terminal.line(json.text) }
    let dryRun = try DryRunResult.read(json)
    if let error = dryRun.error {
      throw InputError(message: "It would fail: \(error[.message]?.string ?? "")")
    }
    for id in dryRun.deletes { Terminal.line("\(VisibleText.line(id))  would be deleted") }
    for id in dryRun.updates { Terminal.line("\(VisibleText.line(id))  would be changed") }
  }
}
