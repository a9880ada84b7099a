import ArgumentParser
import Cordial
import CordialProtocol
import Engine
import JSON

/// `cordial watch`: prints a result, then its changes.
struct Watch: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "watch",
    abstract: "Show the objects that match as a live table, or print every change as JSON lines.",
    discussion: """
      On a terminal, + marks an inserted row, ~ a changed one and - a removed one, and the table \
      continues after the service restarts.

      Elsewhere, and with --lines, the first line has a token, and so has each change. --since \
      TOKEN continues from there: it prints what changed since then instead of the objects. \
      With --search, that is the token of the first result, and then the index of a change.
      """
  )

  @OptionGroup var storeArgument: StoreArgument

  @Argument(help: "The entity's name; a search needs none.")
  var entity: String?

  @Option(help: "Show what a search finds.")
  var search: String?

  @Option(name: [.customLong("where"), .customLong("predicate")], help: "A predicate.")
  var predicate: String?

  @Option(parsing: .unconditionalSingleValue, help: "A sort key; may be repeated.")
  var sort: [String] = []

  @Option(help: "The maximum number of objects.")
  var limit: Int?

  @Option(help: "The selected values, separated by commas.")
  var select: String?

  @Option(help: "A key whose values divide the result into sections.")
  var sectionBy: String?

  @Option(help: "Print the changes since this token.")
  var since: String?

  @Flag(help: "Print IDs only.")
  var ids = false

  @Flag(help: "Print the number of objects only.")
  var count = false

  @Flag(help: "Print JSON lines on a terminal too.")
  var lines = false

  @Flag(help: "Print the messages that are sent and received.")
  var wire = false

  func validate() throws {
    if ids, count { throw ValidationError("Name either --ids or --count") }
    guard search != nil else {
      if entity == nil { throw ValidationError("Name an entity, or --search") }
      return
    }
    guard sort.isEmpty, sectionBy == nil, !count else {
      throw ValidationError("--search goes with none of --sort, --section-by and --count")
    }
  }

  func run() async throws {
    if Terminal.isOutput, !lines, !wire, since == nil {
      return try await LiveWatch(store: storeArgument, call: call, title: title).run()
    }
    let (changes, source) = AsyncStream.makeStream(of: JSONValue.self)
    let wire = wire
    let call = call
    try await storeArgument.with(
      for: .service,
      traced: wire ? Wire.show : nil,
      notified: { _, params in source.yield(params) },
      whenEnded: { source.finish() }
    ) { client in
      let answer = try await client.reply(to: call)
      if !wire { Terminal.line(answer.text) }
      for await change in changes where !wire { Terminal.line(change.text) }
      throw InputError(message: "The service ended the connection")
    }
  }

  /// The request in words, as the title of the table.
  private var title: String {
    if let search { return "Search: \(search)" }
    let order = sort.isEmpty ? nil : "by \(sort.joined(separator: ", "))"
    return ([entity ?? ""] + [predicate.map { "where \($0)" }, order].compactMap(\.self))
      .joined(separator: " ")
  }

  /// The params of `observe`.
  private var call: ObserveCall {
    var call = ObserveCall(search.map { .search(searchCall($0)) } ?? .fetch(fetchCall))
    if ids { call.mode = .ids }
    call.since = since
    return call
  }

  private var fetchCall: FetchCall {
    var call = FetchCall(entity: entity ?? "")
    call.predicate = predicate
    call.sort = sort
    call.limit = limit
    call.select = select.map { FetchCall.selections(ofPaths: $0) }
    call.sectionBy = sectionBy
    if count { call.form = .count }
    return call
  }

  private func searchCall(_ query: String) -> SearchCall {
    var call = SearchCall(query: query)
    call.entities = entity.map { [$0] }
    call.predicate = predicate
    if let limit { call.limit = limit }
    call.select = select.map { FetchCall.selections(ofPaths: $0) }
    return call
  }
}

/// `cordial subscriptions`: prints the subscriptions of all connections.
struct Subscriptions: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "subscriptions",
    abstract: "Print the subscriptions of a running service and what they cost, as JSON lines."
  )

  @OptionGroup var storeArgument: StoreArgument

  func run() async throws {
    let answer = try await storeArgument.with {
      try await $0.reply(to: ListSubscriptionsCall())
    }
    for subscription in answer[.subscriptions]?.array ?? [] { Terminal.line(subscription.text) }
  }
}
