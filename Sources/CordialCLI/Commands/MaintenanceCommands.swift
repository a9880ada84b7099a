import ArgumentParser
import Cordial
import CordialEmbedded
import Glibc
import JSON
import PersistentStore
import Transport

/// `cordial backup`: a copy of a store, while it is used.
struct Backup: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Copy a store to a new folder while it is used.",
    discussion: "The copy is a store of its own; cordial restore puts it back."
  )

  @OptionGroup var place: StoreArgument

  @Argument(help: "The folder to make.")
  var folder: String

  func run() async throws {
    let path = Paths.absolute(folder)
    let answer = try await place.with {
      try await $0.call("store/backup", ["path": .string(path)])
    }
    Terminal.line(answer.text)
  }
}

/// `cordial restore`: a store from a copy.
struct Restore: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Make a store from a backup.",
    discussion: """
      Clients that hold positions in the history of a store that is replaced start over: the \
      restored one has another history.
      """
  )

  @Argument(help: "The folder of the backup, which stays as it is.")
  var backup: String

  @Argument(help: "The store's folder.")
  var store: String

  @Flag(help: "Replace what the store holds; nobody may have it open.")
  var replace = false

  func run() async throws {
    let target = StoreContainer(path: Paths.absolute(store))
    let source = StoreContainer(path: Paths.absolute(backup))
    guard source.hasStore else { throw InputError(message: "\(backup) is no store") }
    guard replace || !target.hasStore else {
      throw InputError(message: "\(store) is a store already; --replace replaces what it holds")
    }
    let lock = target.hasStore ? try DaemonLock(path: target.lockPath) : nil
    defer { lock?.release() }
    _ = try StoreBackup.restore(source, to: target, environment: .system)
    Terminal.note("Restored \(store)\n")
  }
}

/// `cordial compact`: gives unused room back.
struct Compact: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Give the room back that a store does not use any more."
  )

  @OptionGroup var place: StoreArgument

  func run() async throws {
    let answer = try await place.with { try await $0.call("store/compact", [:]) }
    Terminal.line(answer.text)
  }
}

/// `cordial doctor`: everything that can be known of a store's health.
struct Doctor: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Look at the health of a store, its history and its index.",
    discussion: "Exits with 1 when something is wrong."
  )

  @OptionGroup var place: StoreArgument

  func run() async throws {
    let (status, store, index) = try await place.with { client in
      // What a foreign client wrote is entered first, and the index reads up to the end before its
      // part of the status is told.
      _ = try await client.call("status", [:])
      let index = try await client.call("index/verify", [:])
      let store = try await client.call("store/verify", [:])
      return (try await client.call("status", [:]), store, index)
    }
    let problems = store["problems"]?.array ?? []
    let differences = index["differences"]?.array ?? []
    if Terminal.isOutput {
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
    Terminal.line("Store     \(facts?["path"]?.string ?? place.store)")
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
