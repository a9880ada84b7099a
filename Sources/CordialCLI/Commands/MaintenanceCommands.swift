import ArgumentParser
import Cordial
import CordialEmbedded
import Glibc
import JSON
import PersistentStore
import Transport

/// `cordial backup`: copies a store while it is in use.
struct Backup: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Copy a store to a new folder while it is in use.",
    discussion: "The copy is an independent store. Use cordial restore to restore it."
  )

  @OptionGroup var storeArgument: StoreArgument

  @Argument(help: "The folder to create.")
  var folder: String

  func run() async throws {
    let path = Paths.absolute(folder)
    let answer = try await storeArgument.with {
      try await $0.call("store/backup", ["path": .string(path)])
    }
    Terminal.line(answer.text)
  }
}

/// `cordial restore`: creates a store from a backup.
struct Restore: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Create a store from a backup.",
    discussion: """
      The restored store has another history. Clients that hold positions in the history of a \
      replaced store must start over.
      """
  )

  @Argument(help: "The folder of the backup, which is not changed.")
  var backup: String

  @Argument(help: "The store's folder.")
  var store: String

  @Flag(help: "Replace the content of the store; no other process may have it open.")
  var replace = false

  func run() async throws {
    let target = StoreContainer(path: Paths.absolute(store))
    let source = StoreContainer(path: Paths.absolute(backup))
    guard source.hasStore else { throw InputError(message: "\(backup) is not a store") }
    guard replace || !target.hasStore else {
      throw InputError(message: "\(store) is already a store; --replace replaces its content")
    }
    let lock = target.hasStore ? try DaemonLock(path: target.lockPath) : nil
    defer { lock?.release() }
    _ = try StoreBackup.restore(source, to: target, environment: .system)
    Terminal.note("Restored \(store)\n")
  }
}

/// `cordial compact`: reclaims unused disk space.
struct Compact: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Reclaim unused disk space."
  )

  @OptionGroup var storeArgument: StoreArgument

  func run() async throws {
    let answer = try await storeArgument.with { try await $0.call("store/compact", [:]) }
    Terminal.line(answer.text)
  }
}

/// `cordial doctor`: checks the health of a store.
struct Doctor: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Check the health of a store, its history and its index.",
    discussion: "The exit code is 1 when the check finds a problem."
  )

  @OptionGroup var storeArgument: StoreArgument

  @Flag(help: "Print JSON on a terminal too.")
  var json = false

  func run() async throws {
    let (status, store, index) = try await storeArgument.with { client in
      // The first status request seals changes made by external SQLite clients. The index catches
      // up before the last status request reports its state.
      _ = try await client.call("status", [:])
      let index = try await client.call("index/verify", [:])
      let store = try await client.call("store/verify", [:])
      return (try await client.call("status", [:]), store, index)
    }
    let problems = store["problems"]?.array ?? []
    let differences = index["differences"]?.array ?? []
    if Terminal.isOutput, !json {
      write(status, store, index)
    } else {
      Terminal.line(
        JSONValue.object([
          JSONMember("status", status), JSONMember("store", store), JSONMember("index", index),
        ]).text
      )
    }
    if !problems.isEmpty || !differences.isEmpty { throw ExitCode(1) }
  }

  private func write(_ status: JSONValue, _ store: JSONValue, _ index: JSONValue) {
    func number(_ value: JSONValue?) -> Int64 { value?.integer ?? 0 }
    let facts = status["store"]
    Terminal.line("Store     \(facts?["path"]?.string ?? storeArgument.store)")
    Terminal.line(
      "          \(number(store["checked"])) objects, \(size(number(facts?["bytes"])))"
    )
    Terminal.line("History   at \(status["token"]?.string ?? "")")
    Terminal.line("          from \(status["history"]?["oldest"]?.string ?? "")")
    for follower in status["followers"]?.array ?? [] {
      let late =
        number(follower["behind"]) == 0 ? "up to date" : "\(follower["behind"]?.text ?? "") behind"
      let end = follower["expired"] == true ? ", expired" : ""
      Terminal.line("Follower  \(follower["name"]?.string ?? ""): \(late)\(end)")
    }
    let problems = (store["problems"]?.array ?? []).compactMap { $0["message"]?.string }
    let differences = (index["differences"]?.array ?? []).map { difference in
      "the index and the store differ in \(difference["id"]?.string ?? ""): "
        + (difference["what"]?.string ?? "")
    }
    for sentence in problems + differences { Terminal.line("Wrong     \(sentence)") }
    if problems.isEmpty, differences.isEmpty { Terminal.line("All is well.") }
  }

  private func size(_ bytes: Int64) -> String {
    bytes < 10_000_000 ? "\(bytes / 1000) kB" : "\(bytes / 1_000_000) MB"
  }
}
