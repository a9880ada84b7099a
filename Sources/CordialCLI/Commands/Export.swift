import ArgumentParser
import Cordial
import JSON
import Porting

/// `cordial export`: prints every object as a JSON line that import reads.
struct Export: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "export",
    abstract: "Export objects as JSON lines, one entity as CSV, or a whole store as an archive."
  )

  @OptionGroup var storeArgument: StoreArgument

  @Argument(help: "Only objects of these entities; all entities when none is named.")
  var entities: [String] = []

  @Flag(help: "Print comma-separated values of one entity: IDs, attributes and to-ones.")
  var csv = false

  @Flag(help: "With --csv, put an apostrophe before texts that a spreadsheet would compute.")
  var quoteFormulas = false

  @Flag(help: "Print an archive: the model, all objects, and a digest. import reads it.")
  var archive = false

  @Flag(
    help: "Print an archive with the history, and with the objects' numbers and versions."
  )
  var history = false

  func validate() throws {
    guard archive || !history else { throw ValidationError("--history is for --archive") }
    guard !archive || entities.isEmpty && !csv else {
      throw ValidationError("--archive takes the whole store")
    }
    guard !csv || entities.count == 1 else {
      throw ValidationError("--csv takes one entity")
    }
    guard csv || !quoteFormulas else { throw ValidationError("--quote-formulas is for --csv") }
  }

  func run() async throws {
    if csv {
      let left = try await storeArgument.with { client in
        try await Exporter.runCommaSeparated(
          entities[0],
          from: client,
          formulas: quoteFormulas ? .quoted : .unchanged
        ) { Terminal.text($0) }
      }
      if !left.isEmpty { Terminal.note("Left out: \(left.joined(separator: ", "))\n") }
      return
    }
    if history {
      return try await storeArgument.with { client in
        try await WholeArchive.export(client) { Terminal.line($0) }
      }
    }
    if archive {
      return try await storeArgument.with { client in
        try await Archive.run(from: client) { Terminal.line($0) }
      }
    }
    _ = try await storeArgument.with { client in
      try await Exporter.run(entities, from: client) { Terminal.line($0.text) }
    }
  }
}
