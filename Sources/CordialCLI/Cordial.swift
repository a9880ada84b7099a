// CordialCLI: the program `cordial`. Arguments, tables, progress, wiring.
//
// Must not know: logic of any kind, which belongs to the service.
//
// What always holds:
// 1. Standard output carries results only; all other text goes to standard error.
// 2. Exit codes: 0 success, 1 an error or a store that cannot be opened, 64 wrong usage.
// 3. No text controls a terminal: `Terminal` shows control characters as visible text instead.

import ArgumentParser
import Cordial
import CordialService
import Glibc
import PersistentStore
import Porting
import Transport

/// The program.
@main
struct CordialProgram: AsyncParsableCommand {
  /// The version of the program.
  static let version = "0.1.0"

  static let configuration = CommandConfiguration(
    commandName: "cordial",
    abstract: "A managed object graph in SQLite, with live results and search.",
    discussion: """
      A STORE is a folder. Create a store with `cordial init Todo.cordial --model Todo.json`, add \
      objects with `cordial import`, and serve it to editors and scripts with `cordial serve`. \
      Where a command takes a STORE, the socket of a running `cordial serve --socket` works too.
      """,
    version: version,
    // Each command states its name in its configuration. Otherwise, ArgumentParser derives it from
    // the type, and Swift searches all conformances for that: 2 ms at each start.
    subcommands: [
      Serve.self, Init.self, Fetch.self, Get.self, Save.self, Update.self, Delete.self,
      Search.self, Index.self, Watch.self, Subscriptions.self, Undo.self, Redo.self, History.self,
      Followers.self,
      Import.self, Export.self, Backup.self, Restore.self, Compact.self, Doctor.self,
      Call.self, ModelCommand.self,
      PrintProtocol.self,
    ]
  )

  static func main() async {
    StandardStreams.ensureOpen()
    // When the reader of the output closes its end, the write fails and the process continues.
    signal(SIGPIPE, SIG_IGN)
    PersistentStore.surviveLostPages()
    do {
      var command = try parseAsRoot()
      try DescriptorLimit.check()
      ProcessMemory.keepLittleFree()
      if var command = command as? any AsyncParsableCommand {
        try await command.run()
      } else {
        try command.run()
      }
    } catch let error as ExitCode {
      exit(withError: error)
    } catch let error as StoreError {
      Terminal.complain(error.message, hint: error.hint?.words)
      Glibc.exit(1)
    } catch let error as TransportError {
      Terminal.complain(error.message, hint: error.commandHint ?? error.hint)
      Glibc.exit(1)
    } catch let error as ClientError {
      Terminal.complain(error.message, hint: error.hint)
      Glibc.exit(1)
    } catch let error as InputError {
      Terminal.complain(error.message, hint: nil)
      Glibc.exit(1)
    } catch let error as PortingError {
      Terminal.complain(error.message, hint: nil)
      Glibc.exit(1)
    } catch {
      end(with: error)
    }
  }

  /// Ends the process with the help or the error message of ArgumentParser.
  ///
  /// The message may quote an argument. `exit(withError:)` would send the argument's control
  /// characters to a terminal.
  private static func end(with error: any Error) -> Never {
    let code = exitCode(for: error)
    let message = fullMessage(for: error)
    if code == .success {
      Terminal.line(message)
    } else {
      Terminal.note(message + "\n")
    }
    Glibc.exit(code.rawValue)
  }
}

extension TransportError {
  /// The advice that names a command, or nil for an error that no command corrects.
  fileprivate var commandHint: String? {
    switch code {
    case .insecureFolder: "Name a folder of your own, like one made by: mktemp -d"
    case .cannotConnect: path.map { "Start it with: cordial serve STORE --socket \($0)" }
    case .alreadyServed, .cannotListen, .invalidPath, .tooFewDescriptors: nil
    }
  }
}

/// An error for input that a command cannot use.
struct InputError: Error {
  let message: String
}
