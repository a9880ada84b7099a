import ArgumentParser
import Cordial
import CordialProtocol
import Engine
import ObjectModel
import PersistentStore
import Porting
import Transport

/// `cordial import`: creates objects and their relationships from JSON lines.
struct Import: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "import",
    abstract: "Import objects from JSON lines or an archive, as export writes them.",
    discussion: """
      Each line is {"id": "Package/hello", "values": {…}}. An ID is the entity's name, a slash and \
      any text. Objects refer to one another by these IDs, in any order. The store assigns its own.

      An archive has the model too, so that it creates a store that does not exist. One with the \
      history can only create a store. Nothing of a damaged archive is imported.
      """
  )

  @OptionGroup var storeArgument: StoreArgument

  @Argument(help: "The file; - or nothing reads standard input.")
  var file: String?

  @Option(help: "The number of objects in one save.")
  var batch = 1000

  @Option(help: "The model's file, to create the store when it does not exist.")
  var model: String?

  @Option(
    name: .customLong("csv"),
    help: "Read comma-separated values of this entity; the first line has id and property names."
  )
  var commaSeparatedEntity: String?

  @Flag(help: "Do not wait until the search index has caught up.")
  var noIndex = false

  func validate() throws {
    guard (1...100_000).contains(batch) else {
      throw ValidationError("--batch is a number from 1 to 100000")
    }
  }

  func run() async throws {
    let input = try ImportFile(file ?? "-")
    var archived: Model?
    if try Archive.isArchive(input) {
      guard commaSeparatedEntity == nil else {
        throw InputError(message: "The file is an archive, which --csv does not read")
      }
      let contents = try Archive.read(input)
      if contents.hasHistory { return try restore(contents) }
      if model == nil, !storeArgument.exists {
        do {
          archived = try ModelDocument.model(from: contents.model)
        } catch {
          throw StoreError(error, in: "of the archive")
        }
      }
    }
    try await storeArgument.with(model: model, creating: archived, for: .writing) { client in
      var lines = input
      if let commaSeparatedEntity {
        let converted = try TemporaryInput()
        try await Importer.writeLines(
          commaSeparated: input,
          of: commaSeparatedEntity,
          for: client
        ) { try converted.write($0) }
        lines = try converted.input()
      }
      let began = ContinuousClock.now
      let summary = try await Importer.run(
        lines,
        into: client,
        of: commaSeparatedEntity,
        batch: batch
      ) { imported in
        // The saves leave gaps of free memory between the blocks that the index uses. The allocator
        // does not return these gaps to the system automatically.
        if imported % Self.returnObjects < batch { ProcessMemory.returnFree() }
        let rate = Self.rate(imported, began.duration(to: .now))
        Terminal.progress("\(imported) objects, \(rate)/s   ")
      }
      if !noIndex { try await waitForIndex(client) }
      report(summary, began.duration(to: .now))
    }
  }

  /// Creates a store from an archive that contains a store's history.
  private func restore(_ contents: Archive.Contents) throws {
    guard model == nil else {
      throw InputError(
        message: "The archive has its own model and history; import it without --model, then serve "
          + "the store with the model"
      )
    }
    guard !storeArgument.exists else {
      throw InputError(
        message: "\(storeArgument.store) exists, and only a new store can have the history of the "
          + "archive; name another folder, or export without --history"
      )
    }
    try WholeArchive.restore(contents, as: storeArgument.store)
    Terminal.note("Created \(storeArgument.store) with its history\n")
  }

  private static func rate(_ count: Int, _ duration: Duration) -> Int {
    let seconds =
      Double(duration.components.seconds) + Double(duration.components.attoseconds) / 1e18
    return seconds > 0 ? Int(Double(count) / seconds) : 0
  }

  private func report(_ summary: ImportSummary, _ duration: Duration) {
    // The report overwrites the progress line.
    Terminal.progress("")
    if let first = summary.unknown.min() {
      Terminal.note(
        "\(summary.unknownCount) referenced objects are not in the file, "
          + "\(first) among them; the references to them were left out\n"
      )
    }
    let milliseconds =
      duration.components.seconds * 1000 + duration.components.attoseconds / 1_000_000_000_000_000
    Terminal.note(
      "\(summary.imported) objects in \(milliseconds) ms, "
        + "\(Self.rate(summary.imported, duration)) a second\n"
    )
  }

  /// The number of imported objects after which free memory is returned to the system.
  private static let returnObjects = 50_000
  /// The maximum number of consecutive waits without progress of the index.
  private static let idleAttemptsMax = 6

  private func waitForIndex(_ client: ClientConnection) async throws {
    var last = ""
    var attemptsLeft = Self.idleAttemptsMax
    while true {
      do {
        // A flush waits only for the commits before its call, so later commits do not delay it.
        _ = try await client.call(FlushCall())
        return
      } catch {
        // The index may need longer than the service's maximum wait.
        let token = try await client.call(IndexStatusCall()).token
        attemptsLeft = token == last ? attemptsLeft - 1 : Self.idleAttemptsMax
        guard error.code == .storeBusy, attemptsLeft > 0 else {
          throw InputError(
            message: "\(error.message). The objects are saved, but not searchable yet"
          )
        }
        last = token
      }
    }
  }
}
