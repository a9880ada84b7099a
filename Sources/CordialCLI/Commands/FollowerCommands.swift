import ArgumentParser
import Cordial
import CordialProtocol
import JSON

/// `cordial followers`: lists, registers and removes named followers of the history.
struct Followers: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "followers",
    abstract: "List the named followers of the history; register, advance and remove them.",
    discussion: "A store that is named like a subcommand is written as ./list.",
    subcommands: [
      ListFollowers.self, RegisterFollower.self, AcknowledgeFollower.self, RemoveFollower.self,
    ],
    defaultSubcommand: ListFollowers.self
  )
}

/// `cordial followers list`: lists the followers.
struct ListFollowers: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "list",
    abstract: "List the named followers with their positions."
  )

  @OptionGroup var storeArgument: StoreArgument

  func run() async throws {
    let answer = try await storeArgument.with { try await $0.reply(to: ListFollowersCall()) }
    Output.objects(answer[.followers]?.array ?? [])
  }
}

/// `cordial followers register`: retains the history for a follower.
struct RegisterFollower: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "register",
    abstract: "Retain the history for a name from now on, and print its position."
  )

  @OptionGroup var storeArgument: StoreArgument

  @Argument(help: "The follower's name.")
  var name: String

  @Option(help: "The position of a new or expired follower, instead of now.")
  var since: String?

  func run() async throws {
    let call = RegisterFollowerCall(follower: name, since: since)
    let result = try await storeArgument.with { try await $0.call(call) }
    Terminal.line(result.token)
  }
}

/// `cordial followers acknowledge`: records the position up to which a follower has read.
struct AcknowledgeFollower: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "acknowledge",
    abstract: "Record that a follower has read the history up to a position."
  )

  @OptionGroup var storeArgument: StoreArgument

  @Argument(help: "The follower's name.")
  var name: String

  @Argument(help: "The position, a token of cordial history.")
  var token: String

  func run() async throws {
    let call = AcknowledgeCall(follower: name, token: token)
    let result = try await storeArgument.with { try await $0.call(call) }
    Terminal.line(result.token)
  }
}

/// `cordial followers remove`: removes a follower.
struct RemoveFollower: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "remove",
    abstract: "Stop retaining the history for a name."
  )

  @OptionGroup var storeArgument: StoreArgument

  @Argument(help: "The follower's name.")
  var name: String

  func run() async throws {
    let call = RemoveFollowerCall(follower: name)
    let result = try await storeArgument.with { try await $0.call(call) }
    guard result.isRemoved else {
      throw InputError(message: "There is no follower \(name)")
    }
  }
}
