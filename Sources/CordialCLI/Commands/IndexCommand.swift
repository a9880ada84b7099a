import ArgumentParser
import Cordial
import CordialProtocol
import JSON

/// `cordial index`: shows the full-text index of a store, and pauses, resumes or rebuilds it.
struct Index: AsyncParsableCommand {
  /// The action of the command on the index.
  enum Action: String, CaseIterable, ExpressibleByArgument {
    case status, verify, pause, resume, rebuild

    /// Calls the method of the action and returns its reply.
    func reply(of client: ClientConnection) async throws -> JSONValue {
      switch self {
      case .status: try await client.reply(to: IndexStatusCall())
      case .verify: try await client.reply(to: IndexVerifyCall())
      case .pause: try await client.reply(to: IndexPauseCall())
      case .resume: try await client.reply(to: IndexResumeCall())
      case .rebuild: try await client.reply(to: IndexRebuildCall())
      }
    }
  }

  static let configuration = CommandConfiguration(
    commandName: "index",
    abstract: "Show, verify, pause, resume or rebuild the full-text index of a store."
  )

  @OptionGroup var storeArgument: StoreArgument

  @Argument(help: "What to do.")
  var action = Action.status

  func run() async throws {
    let answer = try await storeArgument.with { client in
      // If this command has just opened the store, the index must first catch up.
      if action == .status { try await client.catchUp() }
      return try await action.reply(of: client)
    }
    Terminal.line(answer.text)
  }
}
