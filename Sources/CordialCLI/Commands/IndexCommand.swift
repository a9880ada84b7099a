import ArgumentParser
import Cordial
import CordialProtocol
import JSON

/// `cordial index`: shows the full-text index of a store, and pauses, resumes or rebuilds it.
struct Index: AsyncParsableCommand {
  /// What the command does with the index.
  enum Action: String, CaseIterable, ExpressibleByArgument {
    case status, verify, pause, resume, rebuild

    var method: MethodName {
      switch self {
      case .status: .indexStatus
      case .verify: .verifyIndex
      case .pause: .pauseIndex
      case .resume: .resumeIndex
      case .rebuild: .rebuildIndex
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
      // The index of a store that this command has just opened catches up first.
      if action == .status { try await client.catchUp() }
      return try await client.call(action.method, [:])
    }
    Terminal.line(answer.text)
  }
}
