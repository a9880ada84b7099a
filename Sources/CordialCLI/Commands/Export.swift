import ArgumentParser
import Cordial
import JSON
import Porting

/// `cordial export`: prints every object as a JSON line that import reads.
struct Export: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Export objects and their relationships as JSON lines."
  )

  @OptionGroup var storeArgument: StoreArgument

  @Argument(help: "Only objects of these entities; all entities when none is named.")
  var entities: [String] = []

  func run() async throws {
    try await storeArgument.with { client in
      try await Exporter.run(entities, from: client) { Terminal.line($0.text) }
    }
  }
}
