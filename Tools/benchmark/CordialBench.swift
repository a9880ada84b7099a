// CordialBench: one client program for this project and for the peers it is measured beside.
//
// Must not know: the project's engine. It speaks to `cordial` over the wire, as it speaks to the
// peers; only the Swift library, module JSON and the tokenizer are called in process, for the rows
// about them alone.
//
// What always holds:
// 1. One loop measures every peer of a row; peers differ in request bytes and in where a reply ends.
// 2. Requests are built before the clock starts, replies are checked after it stopped.
// 3. A reply that is an error ends the measurement with its text: no figure is of errors.
// 4. Each run is bounded by its counts, each wait by a deadline.
import Glibc

@main
enum CordialBench {
  private struct Subcommand: Sendable {
    let name: String
    let usage: String
    let run: @Sendable (Options) throws -> Report
  }

  private static let subcommands = [
    Subcommand(name: "wait", usage: "--socket S", run: WaitForServer.run),
    Subcommand(name: "model", usage: "--file F [--index yes|no]", run: WriteModel.run),
    Subcommand(name: "point", usage: "--socket S --ids F [--rounds N]", run: PointReads.cordial),
    Subcommand(name: "redis-load", usage: "--socket S [--count N]", run: LoadPeers.redis),
    Subcommand(
      name: "redis-get",
      usage: "--socket S [--count N --rounds N]",
      run: PointReads.redis
    ),
    Subcommand(
      name: "watchman-version",
      usage: "--socket S [--rounds N]",
      run: PointReads.watchman
    ),
    Subcommand(name: "pg-load", usage: "--socket S [--count N --user U]", run: LoadPeers.postgres),
    Subcommand(
      name: "pg-select",
      usage: "--socket S [--count N --user U --rounds N]",
      run: PointReads.postgres
    ),
    Subcommand(
      name: "notify",
      usage: "--socket S --ids F [--rounds N]",
      run: Notifications.cordial
    ),
    Subcommand(name: "notify-floor", usage: "--file F [--rounds N]", run: Notifications.floor),
    Subcommand(name: "redis-notify", usage: "--socket S [--rounds N]", run: Notifications.redis),
    Subcommand(
      name: "pg-notify",
      usage: "--socket S [--user U --rounds N]",
      run: Notifications.postgres
    ),
    Subcommand(
      name: "import",
      usage: "--socket S [--count N --batch N --ids F]",
      run: ImportThroughSave.run
    ),
    Subcommand(name: "raw-insert", usage: "--file F [--count N --batch N]", run: RawInsert.run),
    Subcommand(
      name: "save",
      usage: "--socket S [--clients N --rounds N]",
      run: DurableSaves.cordial
    ),
    Subcommand(name: "sqlite-save", usage: "--file F [--rounds N]", run: DurableSaves.sqlite),
    Subcommand(
      name: "redis-set",
      usage: "--socket S [--clients N --rounds N]",
      run: DurableSaves.redis
    ),
    Subcommand(
      name: "pg-insert",
      usage: "--socket S [--user U --clients N --rounds N]",
      run: DurableSaves.postgres
    ),
    Subcommand(
      name: "update",
      usage: "--socket S [--change constant|expression --count N --rounds N]",
      run: Updates.cordial
    ),
    Subcommand(
      name: "sqlite-update",
      usage: "--file F [--change constant|expression --count N --rounds N]",
      run: Updates.sqlite
    ),
    Subcommand(name: "cost-model", usage: "--file F", run: SaveCosts.model),
    Subcommand(
      name: "cost-members",
      usage: "--socket S [--count N --rounds N]",
      run: SaveCosts.members
    ),
    Subcommand(name: "cost-undo", usage: "--socket S [--count N]", run: SaveCosts.undo),
    Subcommand(name: "cost-targets", usage: "--socket S [--count N]", run: SaveCosts.targets),
    Subcommand(name: "history-size", usage: "--file F", run: HistoryCost.size),
    Subcommand(name: "purge", usage: "--socket S --file F [--rounds N]", run: HistoryCost.purge),
    Subcommand(name: "fsync", usage: "--file F [--rounds N]", run: SyncTime.run),
    Subcommand(name: "dump", usage: "--socket S [--count N]", run: Dump.cordial),
    Subcommand(name: "sqlite-dump", usage: "--file F [--count N]", run: Dump.sqlite),
    Subcommand(name: "query-model", usage: "--file F", run: Queries.model),
    Subcommand(name: "query-fill", usage: "--file F", run: Queries.fill),
    Subcommand(name: "query", usage: "--socket S [--rounds N]", run: Queries.query),
    Subcommand(name: "pages", usage: "--socket S [--rounds N]", run: Queries.pages),
    Subcommand(
      name: "localized-pages",
      usage: "--socket S [--rounds N]",
      run: Queries.localizedPages
    ),
    Subcommand(name: "sections", usage: "--socket S [--rounds N]", run: Queries.sections),
    Subcommand(
      name: "sqlite-sections",
      usage: "--file F [--rounds N]",
      run: Queries.sqliteSections
    ),
    Subcommand(name: "include", usage: "--socket S [--rounds N]", run: Queries.include),
    Subcommand(
      name: "sqlite-include",
      usage: "--file F [--rounds N]",
      run: Queries.sqliteInclude
    ),
    Subcommand(name: "observe-model", usage: "--file F", run: Observing.model),
    Subcommand(name: "observe-fill", usage: "--file F [--count N]", run: Observing.fill),
    Subcommand(
      name: "observe-match",
      usage: "--socket S --kind K [--subscriptions N --rounds N --process PID]",
      run: Observing.match
    ),
    Subcommand(
      name: "observe-register",
      usage: "--socket S --method observe|fetch [--count N]",
      run: Observing.register
    ),
    Subcommand(
      name: "observe-large",
      usage: "--socket S --kind objects|values|ids [--rounds N --process PID]",
      run: Observing.large
    ),
    Subcommand(
      name: "observe-window",
      usage: "--socket S --place top|middle|unindexed|after|ids [--count N --rounds N]",
      run: Observing.window
    ),
    Subcommand(
      name: "observe-connections",
      usage: "--socket S [--connections N --rounds N --process PID]",
      run: Observing.connections
    ),
    Subcommand(
      name: "observe-fan",
      usage: "--socket S [--connections N --rounds N]",
      run: Observing.fan
    ),
    Subcommand(
      name: "redis-fan",
      usage: "--socket S [--connections N --rounds N]",
      run: Observing.redisFan
    ),
    Subcommand(name: "observe-since", usage: "--socket S [--rounds N]", run: Observing.since),
    Subcommand(name: "client-open", usage: "--socket S [--rounds N]", run: SwiftClient.open),
    Subcommand(
      name: "client-values",
      usage: "--socket S [--count N --rounds N]",
      run: SwiftClient.values
    ),
    Subcommand(name: "client-call", usage: "--socket S [--rounds N]", run: SwiftClient.call),
    Subcommand(name: "client-decode", usage: "[--count N --passes N]", run: SwiftClient.decode),
    Subcommand(name: "client-mock", usage: "[--count N --rounds N]", run: SwiftClient.mock),
    Subcommand(name: "json", usage: "[--passes N]", run: JSONThroughput.run),
    Subcommand(name: "foundation-json", usage: "[--passes N]", run: FoundationThroughput.run),
    Subcommand(
      name: "fts",
      usage: "--file F [--tokenizer unicode61|cordial --megabytes N]",
      run: FullText.run
    ),
    Subcommand(name: "words", usage: "--documents F --file F", run: WordIndex.run),
    Subcommand(name: "search-model", usage: "--file F", run: SearchCorpus.model),
    Subcommand(
      name: "search-fill",
      usage: "--file F --peer F [--count N]",
      run: SearchCorpus.fill
    ),
    Subcommand(
      name: "search",
      usage: "--socket S --kind two|quarter|common|or|letter|three|fuzzy [--rounds N]",
      run: Searching.search
    ),
    Subcommand(
      name: "search-peer",
      usage: "--file F --kind K [--rounds N]",
      run: Searching.peer
    ),
    Subcommand(
      name: "search-filter",
      usage: "--socket S [--rounds N]",
      run: Searching.filter
    ),
    Subcommand(name: "search-facets", usage: "--socket S [--rounds N]", run: Searching.facets),
    Subcommand(name: "search-groups", usage: "--file F [--rounds N]", run: Searching.groups),
    Subcommand(
      name: "search-beside",
      usage: "--socket S --kind alone|letters|verify [--rounds N]",
      run: SearchLoad.beside
    ),
    Subcommand(name: "search-live", usage: "--socket S [--rounds N]", run: SearchLoad.live),
    Subcommand(name: "search-save", usage: "--socket S [--rounds N]", run: SearchLoad.save),
    Subcommand(
      name: "search-aged",
      usage: "--socket S --file INDEX [--rounds N]",
      run: SearchAge.run
    ),
    Subcommand(
      name: "search-idle",
      usage: "--socket S --process PID [--rounds N]",
      run: SearchLoad.idle
    ),
    Subcommand(
      name: "search-start",
      usage: "--binary P --store D [--rounds N]",
      run: SearchLoad.start
    ),
    Subcommand(
      name: "start",
      usage: "--binary P --store D --model F [--rounds N]",
      run: StartUp.cordial
    ),
    Subcommand(name: "sqlite-start", usage: "--file F [--rounds N]", run: StartUp.sqlite),
  ]

  static func main() {
    // A peer that closes early is an error to report, not the end of the process.
    _ = signal(SIGPIPE, SIG_IGN)
    let arguments = CommandLine.arguments
    guard arguments.count > 1,
      let subcommand = subcommands.first(where: { $0.name == arguments[1] })
    else {
      print("usage: cordial-bench SUBCOMMAND [--option value]..., one line of JSON as the answer")
      for subcommand in subcommands { print("  \(subcommand.name) \(subcommand.usage)") }
      exit(2)
    }
    do {
      let options = try Options(Array(arguments.dropFirst(2)))
      print(try subcommand.run(options).line(named: subcommand.name))
    } catch {
      Self.complain("cordial-bench \(subcommand.name): \(error)\n")
      exit(1)
    }
  }

  private static func complain(_ text: String) {
    let bytes = Array(text.utf8)
    _ = unsafe write(STDERR_FILENO, bytes, bytes.count)
  }
}
