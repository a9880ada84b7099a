import ArgumentParser
import Cordial
import CordialProtocol
import JSON
import LiveTable

/// `cordial search`: finds objects by a query that a person types.
struct Search: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "search",
    abstract: "Search for words, \"phrases\", -not, OR, name:word and word*."
  )

  @OptionGroup var storeArgument: StoreArgument

  @Argument(help: "The query; several words need no quotes.")
  var query: [String] = []

  @Option(help: "Only objects of this entity; repeatable.")
  var entity: [String] = []

  @Option(name: .customLong("where"), help: "Only objects that match this predicate.")
  var predicate: String?

  @Option(help: "The maximum number of hits.")
  var limit = 20

  @Option(help: "The words that an object must have: forgiving, all as typed, or any as typed.")
  var match = SearchCall.Match.forgiving

  @Flag(inversion: .prefixedNo, help: "Treat the last word as unfinished.")
  var prefix: Bool?

  @Flag(inversion: .prefixedNo, help: "Find words with typing mistakes too, after the others.")
  var fuzzy: Bool?

  @Flag(
    inversion: .prefixedNo,
    help: "Find Chinese by pinyin, kana by romaji and Korean by initials too, last."
  )
  var readings: Bool?

  @Option(help: "Search as of a past commit.")
  var asOf: String?

  @Flag(help: "Print how the score of each object was made.")
  var explain = false

  @Option(help: "Tell why the search finds the object of this ID, or why it does not.")
  var why: String?

  @Flag(help: "Search on the terminal while you type; Enter opens a hit, Tab takes words as typed.")
  var interactive = false

  @Flag(help: "Print queries that you may be typing, and how many objects each finds.")
  var suggest = false

  func validate() throws {
    guard interactive || !query.isEmpty else {
      throw ValidationError("A query is missing; --interactive asks for it")
    }
    if interactive, explain || suggest || why != nil {
      throw ValidationError("--interactive goes with none of --explain, --suggest and --why")
    }
    if explain, suggest || why != nil {
      throw ValidationError("--explain goes with neither --suggest nor --why")
    }
    guard suggest,
      predicate != nil || prefix != nil || fuzzy != nil || readings != nil
        || match != .forgiving || why != nil || asOf != nil
    else { return }
    throw ValidationError(
      "--suggest proposes queries; it takes none of --where, --match, --prefix, "
        + "--fuzzy, --readings, --as-of and --why"
    )
  }

  private var call: SearchCall {
    var call = SearchCall(query: query.joined(separator: " "))
    call.limit = limit
    call.match = match
    call.isPrefix = prefix
    call.isFuzzy = fuzzy
    call.hasReadings = readings
    call.highlights = true
    call.snippets = true
    call.explains = explain
    if !entity.isEmpty { call.entities = entity }
    call.asOf = asOf
    call.predicate = predicate
    return call
  }

  func run() async throws {
    guard !interactive else { return try await searchInteractively() }
    guard !suggest else { return try await printSuggestions() }
    if let why { return try await printReason(why) }
    let answer = try await storeArgument.with { client in
      // If this command has just opened the store, the index must first catch up.
      try await client.catchUp()
      return try await client.reply(to: call)
    }
    let hits = answer[.hits]?.array ?? []
    guard Terminal.isOutput else {
      for hit in hits { Terminal.line(hit.text) }
      return
    }
    let width = hits.map { CellText.width(CellText.text($0[.id] ?? .null)) }.max() ?? 0
    let marks = Terminal.hasColors ? ("\u{1B}[1;33m", "\u{1B}[0m") : nil
    for hit in hits {
      // The marks are the program's own control sequences; `HitLines` escapes control characters of
      // texts.
      for line in HitLines(hit, idWidth: width, marks: marks).lines { Terminal.raw(line + "\n") }
      for term in hit[.explanation]?.array ?? [] {
        let indent = String(repeating: " ", count: width + 2)
        let documents = term[.frequency]?.integer ?? 0
        Terminal.line(
          "\(indent)\(term[.share]?.text ?? "") for \(CellText.text(term[.term] ?? .null)), "
            + "\(term[.count]?.integer ?? 0) times here, in \(documents) objects"
        )
      }
    }
    Terminal.note(summary(answer))
  }

  private func searchInteractively() async throws {
    var call = call
    // While the person types, the last word is unfinished.
    call.isPrefix = true
    call.highlights = false
    call.facets = []
    try await InteractiveSearch(store: storeArgument, call: call).run()
  }

  private func printReason(_ id: String) async throws {
    let answer = try await storeArgument.with { client in
      try await client.catchUp()
      return try await client.reply(to: SearchExplainCall(search: call, id: id))
    }
    Terminal.line(answer.text)
  }

  private func printSuggestions() async throws {
    var call = SuggestCall(query: call.query)
    if !entity.isEmpty { call.entities = entity }
    call.limit = limit
    let answer = try await storeArgument.with { [call] client in
      try await client.catchUp()
      return try await client.reply(to: call)
    }
    guard Terminal.isOutput else {
      for suggestion in answer[.suggestions]?.array ?? [] { Terminal.line(suggestion.text) }
      return
    }
    for suggestion in try SuggestCall.result(answer).suggestions {
      let kind = suggestion.kind.flatMap { $0 == "word" ? nil : ", \($0)" } ?? ""
      Terminal.line(
        "\(VisibleText.line(suggestion.text)) (\(suggestion.documents ?? 0)\(kind))"
      )
    }
  }

  /// Returns the number of hits, and hints about words of the query that prevent hits.
  private func summary(_ answer: JSONValue) -> String {
    let atLeast = answer[.totalIsAtLeast]?.bool == true ? "At least " : ""
    var lines = ["\(atLeast)\(answer[.total]?.integer ?? 0) found"]
    let entities = (answer[.notIndexed]?.array ?? []).compactMap(\.string)
    if !entities.isEmpty {
      lines.append(
        "Not indexed, because the model has no spotlight for it: "
          + entities.joined(separator: ", ")
      )
    }
    let forgiven = answer[.hits]?.array?.contains { $0[.class] != nil } == true
    let lacking = HitLines.wordsLacking(in: answer[.hits]?.array ?? [])
    if !lacking.isEmpty { lines.append("Without: \(lacking.joined(separator: ", "))") }
    if forgiven { lines.append("Only the words as typed: --match all") }
    let missing = (answer[.missing]?.array ?? []).compactMap(\.string)
    if !missing.isEmpty { lines.append("In no object: \(missing.joined(separator: ", "))") }
    for word in answer[.instead]?.members ?? [] {
      let nearest = (word.value.array ?? []).compactMap(\.string).joined(separator: ", ")
      lines.append("Instead of \(word.name): \(nearest)")
    }
    for without in answer[.omit]?.members ?? [] {
      lines.append("Without \(without.name): \(without.value.integer ?? 0)")
    }
    return lines.joined(separator: "\n") + "\n"
  }
}

extension SearchCall.Match: ExpressibleByArgument {}
