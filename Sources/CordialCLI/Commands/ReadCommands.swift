import ArgumentParser
import Cordial
import CordialProtocol
import CordialService
import Engine
import JSON
import PersistentStore
import ProtocolSchemas

/// `cordial fetch`: prints the matching objects of an entity, as a table or as JSON lines.
struct Fetch: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "fetch",
    abstract: "Fetch the objects of an entity that match a predicate.",
    discussion: """
      For example: cordial fetch Packages.cordial Package --where 'section.name == "web"' \
      --sort -installedSize --limit 5
      """
  )

  @OptionGroup var storeArgument: StoreArgument

  @Argument(help: "The entity's name.")
  var entity: String

  @Option(name: [.customLong("where"), .customLong("predicate")], help: "A predicate.")
  var predicate: String?

  @Option(
    parsing: .unconditionalSingleValue,
    help: "A sort key, like name or -size; may be repeated."
  )
  var sort: [String] = []

  @Option(help: "The maximum number of objects.")
  var limit: Int?

  @Option(help: "The number of objects to skip.")
  var offset: Int?

  @Option(help: "The selected values, separated by commas.")
  var select: String?

  @Option(help: "Begin after the page of this cursor, which was printed with the page.")
  var after: String?

  @Option(help: "Group by these paths, separated by commas; select then accepts @count, @sum.size.")
  var groupBy: String?

  @Option(help: "Show the result as it was at the commit with this token.")
  var asOf: String?

  @Flag(help: "Print only the number of objects.")
  var count = false

  @Flag(help: "Print the SQL and SQLite's query plan instead of the objects.")
  var explain = false

  func run() async throws {
    if explain { return try explained() }
    let answer = try await storeArgument.with(for: .reading) { try await $0.reply(to: call) }
    if let number = answer[.count]?.integer { return Terminal.line("\(number)") }
    Output.objects(answer[.objects]?.array ?? answer[.rows]?.array ?? [])
    if let next = answer[.next]?.string, Terminal.isOutput {
      Terminal.note("There are more: --after \(next)\n")
    }
  }

  private func explained() throws {
    guard !storeArgument.isSocket else {
      throw InputError(message: "--explain needs the store's folder, not a socket")
    }
    let store = try PersistentStore(
      container: StoreContainer(path: Paths.absolute(storeArgument.store)),
      model: nil,
      mode: .readOnly,
      environment: .system
    )
    defer { store.close() }
    let call = try FetchCall.read(call.json)
    let explanation = try FetchExplainer.explain(call, in: store)
    Terminal.line(explanation.sql)
    if !explanation.values.isEmpty {
      Terminal.line("-- with \(explanation.values.map(\.text).joined(separator: ", "))")
    }
    for line in explanation.plan { Terminal.line("-- \(line)") }
    if explanation.sortsWholly {
      Terminal.line(
        "-- No index has the order \(sort.joined(separator: ", ")): SQLite sorts the whole result"
      )
    }
  }

  /// The params of the fetch.
  private var call: FetchCall {
    var call = FetchCall(entity: entity)
    call.predicate = predicate
    call.sort = sort
    call.limit = limit
    call.offset = offset ?? 0
    call.select = select.map { FetchCall.selections(ofPaths: $0) }
    call.after = after
    if let groupBy {
      call.groupBy = groupBy.split(separator: ",").map(String.init)
      call.form = .values
    }
    call.asOf = asOf
    if count { call.form = .count }
    return call
  }
}

extension FetchCall {
  /// Returns one selection for each path of a comma-separated list.
  static func selections(ofPaths text: String) -> [Selection] {
    text.split(separator: ",").map { Selection(path: String($0)) }
  }
}

/// The output of objects.
enum Output {
  /// Prints a table on a terminal, JSON lines elsewhere.
  static func objects(_ objects: [JSONValue]) {
    guard Terminal.isOutput else {
      for object in objects { Terminal.line(object.text) }
      return
    }
    if objects.isEmpty { return Terminal.note("Nothing found.\n") }
    Terminal.line(Terminal.table(objects))
  }
}

/// `cordial get`: prints objects by their IDs.
struct Get: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "get",
    abstract: "Get objects by their IDs."
  )

  @OptionGroup var storeArgument: StoreArgument

  @Argument(help: "Wrapped IDs, like Package/p17.")
  var ids: [String]

  func run() async throws {
    let answer = try await storeArgument.with(for: .reading) { client in
      try await client.call(FetchCall(ids: ids))
    }
    Output.objects((answer.objects ?? []).filter { !$0.isNull })
    let missing = answer.missing ?? []
    for member in missing {
      let why = member.value.string == "deleted" ? "was deleted" : "is unknown"
      Terminal.complain("\(member.name) \(why)", hint: nil)
    }
    if !missing.isEmpty { throw ExitCode(1) }
  }
}

/// `cordial protocol`: prints the OpenRPC document.
struct PrintProtocol: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "protocol",
    abstract: "Print the protocol as an OpenRPC document."
  )

  func run() async throws {
    Terminal.line(ProtocolDocument.text)
  }
}
