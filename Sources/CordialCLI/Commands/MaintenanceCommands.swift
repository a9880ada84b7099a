import ArgumentParser
import Cordial
import CordialProtocol
import Engine
import Glibc
import JSON
import PersistentStore
import Transport

/// `cordial backup`: copies a store while it is in use.
struct Backup: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "backup",
    abstract: "Copy a store to a new folder while it is in use.",
    discussion: "The copy is an independent store. Use cordial restore to restore it."
  )

  @OptionGroup var storeArgument: StoreArgument

  @Argument(help: "The folder to create.")
  var folder: String

  func run() async throws {
    let path = Paths.absolute(folder)
    let answer = try await storeArgument.with {
      try await $0.reply(to: BackupCall(path: path))
    }
    Terminal.line(answer.text)
  }
}

/// `cordial restore`: creates a store from a backup.
struct Restore: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "restore",
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
    commandName: "compact",
    abstract: "Reclaim unused disk space."
  )

  @OptionGroup var storeArgument: StoreArgument

  func run() async throws {
    let answer = try await storeArgument.with { try await $0.reply(to: CompactCall()) }
    Terminal.line(answer.text)
  }
}
