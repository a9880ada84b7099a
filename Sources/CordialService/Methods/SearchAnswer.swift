import CordialProtocol
import CordialValues
import Indexing
import JSON
import ObjectModel
import PersistentHistory
import PersistentStore
import Spotlight

/// The encoder of a result of `search`.
struct SearchAnswer {
  let call: SearchCall
  let snapshot: StoreSnapshot
  let token: StoreToken
  /// The texts of the store's objects.
  let indexed: IndexedTexts
  /// The plans that write the objects of hits, by entity number; empty if the call requests no
  /// objects.
  private var plans: [Int: FetchPlan] = [:]
  /// The numbers of the entities for which a facet can be counted, by property.
  private var facets: [String: Set<Int>] = [:]
  /// The objects that match the predicate; nil without a predicate.
  private(set) var filter: ObjectFilter?
  /// Whether the predicate reads the time or random numbers.
  private(set) var isVolatile = false

  /// Prepares the response to a search.
  ///
  /// - Throws: `StoreError` for a predicate or a selection that is invalid for an entity of the
  ///   search, and for a facet that is invalid for all these entities.
  init(
    _ call: SearchCall,
    _ wanted: SearchRequest,
    _ snapshot: StoreSnapshot,
    _ rules: IndexRules,
    token: StoreToken
  ) throws {
    self.call = call
    self.snapshot = snapshot
    self.token = token
    indexed = try IndexedTexts(snapshot, rules)
    let entities = snapshot.model.entities.filter { entity in
      entity.spotlight != nil && (wanted.entities?.contains(entity.number) ?? true)
    }
    if call.withObjects || call.select != nil {
      let select = call.select?.map { selection in
        FetchRequest.Selection(
          name: selection.name,
          path: selection.path,
          fallback: selection.fallback
        )
      }
      for entity in entities {
        plans[entity.number] = try snapshot.plan(of: entity, select: select)
      }
    }
    for property in call.facets ?? [] {
      facets[property] = try Self.entities(entities, with: property, snapshot)
    }
    guard let predicate = call.predicate else { return }
    let conditions = try Self.plans(predicate, call, entities, snapshot)
    isVolatile = conditions.values.contains(where: \.reads.isVolatile)
    filter = Self.filter(conditions, snapshot)
    guard isVolatile, call.asOf != nil else { return }
    throw StoreError(
      .invalidRequest,
      "search: asOf: the values of now() and random: are not part of a commit",
      hint: "Send the time as an argument"
    )
  }

  /// Adds the texts that a snapshot of the index lacks, and runs a body with the complete snapshot.
  ///
  /// - Parameters:
  ///   - index: A snapshot of the index, which may lack texts if it is of a past commit.
  ///   - body: Receives the snapshot.
  /// - Returns: The result of the body.
  /// - Throws: `SQLiteError`, and the errors of the body.
  func completing<Output>(
    _ index: IndexSnapshot,
    _ body: (IndexSnapshot) throws -> Output
  ) throws -> Output {
    var index = index
    index.now = try snapshot.time(of: index.token.number)
    var documents: [(key: ObjectKey, content: DocumentContent)] = []
    let deleted = index.unknown.isEmpty ? [] : try index.deletedDomains()
    for (entity, keys) in Dictionary(grouping: index.unknown, by: \.entity) {
      let objects = try objects(keys.map(\.object), of: entity)
      for (object, content) in try indexed.content(objects, of: entity)
      where content.domain.map({ !deleted.contains($0) }) ?? true {
        documents.append((ObjectKey(entity: entity, object: object), content))
      }
    }
    return try index.adding(documents, body)
  }

  /// The maximum number of objects whose texts a search of a past commit reads from the store.
  private static let unknownMax = 50_000

  /// Returns the objects whose texts the index lacks.
  ///
  /// The object number 0 means all objects of the entity.
  private func objects(_ objects: [Int64], of entity: Int) throws -> [Int64] {
    var objects = objects
    if objects.contains(0) {
      let all = snapshot.model.entity(entity)
      objects = try snapshot.objects(of: all, after: 0, limit: Self.unknownMax + 1)
    }
    guard objects.count <= Self.unknownMax else {
      throw SpotlightError(
        .expired,
        "The index has too few texts as of \(token): related objects changed several times at once"
      )
    }
    return objects
  }

  /// Searches the index, without the objects that were deleted after the index's last commit.
  ///
  /// - Parameters:
  ///   - wanted: The parameters of the search.
  ///   - index: A snapshot of the index that is not newer than the snapshot of the store.
  /// - Returns: The result.
  /// - Throws: `SQLiteError`, `SpotlightError`, and the errors of the predicate.
  func search(_ wanted: SearchRequest, _ index: IndexSnapshot) throws -> SearchResult {
    let deleted = try deletedObjects()
    return try index.search(
      wanted,
      without: deleted ?? [],
      filter: filter ?? (deleted == nil ? existing : nil)
    )
  }

  /// Returns the queries that a person may be typing: a correction, then words, then names.
  func suggestions(_ wanted: SearchRequest, _ index: IndexSnapshot) throws -> [Suggestion] {
    let deleted = try deletedObjects() ?? []
    let correction = try wanted.limit > 0 ? index.correction(wanted, without: deleted) : nil
    var named = wanted
    named.limit = wanted.limit / Self.namesPart
    let names = try index.names(named, without: deleted) { key in
      let entity = snapshot.model.entity(key.entity)
      guard let column = entity.spotlight?.displayName,
        let place = entity.spotlight?.fields.firstIndex(of: column),
        let texts = try indexed.content([key.object], of: key.entity)[key.object]?.texts,
        let text = texts[place]
      else { return nil }
      return (column, text)
    }
    var words = wanted
    words.limit -= names.count + (correction == nil ? 0 : 1)
    return [correction].compactMap(\.self) + (try index.suggestions(words, without: deleted))
      + names
  }

  /// One of so many suggestions may be the name of an object.
  private static let namesPart = 3

  /// Returns a result in the form that a subscription keeps.
  ///
  /// - Parameters:
  ///   - result: The result.
  ///   - synonyms: The synonyms that the search has used.
  ///   - bytesMax: The maximum total length of the hits, in bytes.
  /// - Returns: The result with its encoded hits.
  /// - Throws: `limitExceeded` for longer hits; `SQLiteError`.
  func observed(
    _ result: SearchResult,
    _ synonyms: UsedSynonyms,
    bytesMax: Int
  ) throws -> ObservedSearch {
    var length = 0
    let hits = try result.hits.map { hit in
      var writer = JSONWriter()
      try write(hit, result.highlighter(of: hit), &writer)
      length += writer.count
      try StoreSnapshot.check(writer, bytesMax - length + writer.count)
      return ObservedSearch.Hit(
        key: hit.key,
        id: try snapshot.wrappedID(hit.key).description,
        bytes: writer.bytes
      )
    }
    return ObservedSearch(
      token: token,
      storeToken: snapshot.token,
      total: result.total,
      isAtLeast: result.isAtLeast,
      classes: classes(result),
      hits: hits,
      reasons: Self.reasons(result),
      synonyms: synonyms
    )
  }

  /// Returns the entities for which the values of a facet can be counted.
  ///
  /// - Throws: The first error, if the facet can be counted for no entity.
  private static func entities(
    _ entities: [EntityDescription],
    with property: String,
    _ snapshot: StoreSnapshot
  ) throws -> Set<Int> {
    var found: Set<Int> = []
    var failure: StoreError?
    for entity in entities {
      do throws(StoreError) {
        _ = try snapshot.valuesPlan(Self.counts(of: property, entity, ObjectNumbers([])))
        found.insert(entity.number)
      } catch {
        failure = failure ?? error
      }
    }
    if found.isEmpty, let failure { throw failure }
    return found
  }

  /// Returns the request that counts the objects with each value of a property, in the order of the
  /// values.
  private static func counts(
    of property: String,
    _ entity: EntityDescription,
    _ objects: ObjectNumbers
  ) -> FetchRequest {
    FetchRequest(
      entity: entity.name,
      select: [.init(name: "value", path: property), .init(name: "count", path: "@count")],
      groupBy: [property],
      subentities: false,
      objects: objects
    )
  }

  private static func plans(
    _ predicate: String,
    _ call: SearchCall,
    _ entities: [EntityDescription],
    _ snapshot: StoreSnapshot
  ) throws -> [Int: FetchPlan] {
    var plans: [Int: FetchPlan] = [:]
    for entity in entities {
      plans[entity.number] = try snapshot.plan(
        FetchRequest(
          entity: entity.name,
          predicate: predicate,
          arguments: PredicateArguments(call.arguments),
          subentities: false
        )
      )
    }
    return plans
  }

  private static func filter(_ plans: [Int: FetchPlan], _ snapshot: StoreSnapshot) -> ObjectFilter {
    ObjectFilter(
      matching: { keys in
        var matching: Set<ObjectKey> = []
        for (entity, keys) in Dictionary(grouping: keys, by: \.entity) {
          guard let plan = plans[entity] else { continue }
          let found = try snapshot.matching(keys.map(\.object), plan)
          matching.formUnion(keys.filter { found.contains($0.object) })
        }
        return matching
      },
      all: { try plans.mapValues { try snapshot.objects($0).sorted() } }
    )
  }

  /// A filter that keeps only objects that exist, used when the history no longer lists all
  /// deletes.
  var existing: ObjectFilter {
    ObjectFilter(
      matchesMax: .max,
      matching: { keys in Set(try keys.filter { try snapshot.exists($0) }) },
      all: { [:] }
    )
  }

  /// Returns the objects that were deleted after the index's position, which a result excludes.
  ///
  /// The result is nil if the history no longer has the deletes, because the index was paused.
  func deletedObjects() throws -> Set<ObjectKey>? {
    guard token.generation == snapshot.token.generation, token.number < snapshot.head.number else {
      return []
    }
    guard let set = try snapshot.log.changeSet(from: token.number, through: snapshot.head.number)
    else { return nil }
    return Set(set.changes.values.filter { $0.kind == .delete }.map(\.key))
  }

  func write(
    _ result: SearchResult,
    microseconds: () -> Int64,
    bytesMax: Int,
    to writer: inout JSONWriter
  ) throws {
    writer.key(.token, after: "{")
    writer.raw("\"")
    writer.raw(string: token.description)
    writer.key(.storeToken, after: "\",")
    writer.raw("\"")
    writer.raw(string: snapshot.token.description)
    writer.key(.total, after: "\",")
    writer.integer(result.total)
    if result.isAtLeast {
      writer.key(.totalIsAtLeast, after: ",")
      writer.raw("true")
    }
    for (name, value) in classes(result) {
      writer.key(name, after: ",")
      writer.value(value)
    }
    writer.key(.hits, after: ",")
    writer.raw("[")
    for (index, hit) in result.hits.enumerated() {
      if index > 0 { writer.raw(",") }
      writer.splitIfLong()
      try StoreSnapshot.check(writer, bytesMax)
      try write(hit, result.highlighter(of: hit), &writer)
    }
    writer.raw("]")
    if let properties = call.facets {
      writer.key(.facets, after: ",")
      try writeFacets(of: result.all, properties, bytesMax, &writer)
    }
    for (name, reason) in Self.reasons(result) {
      writer.key(name, after: ",")
      writer.value(reason)
    }
    if call.explains {
      writer.key(.postings, after: ",")
      writer.value(Self.wire(result.postings).json)
    }
    writer.key(.tookMicroseconds, after: ",")
    writer.integer(microseconds())
    writer.raw("}")
  }

  private func write(
    _ hit: SearchResult.Hit,
    _ highlighter: Highlighter,
    _ writer: inout JSONWriter
  ) throws {
    let entity = snapshot.model.entity(hit.key.entity)
    var highlighter = highlighter
    highlighter.encoding = call.positionEncoding
    writer.key(.id, after: "{")
    writer.string(try snapshot.wrappedID(hit.key).description)
    writer.key(.score, after: ",")
    writer.double(Self.rounded(hit.score))
    let names = entity.spotlight?.fields ?? []
    let object = hit.key.object
    // An object that is now excluded is still a hit until the index removes it.
    let content = try indexed.content([object], of: hit.key.entity, withExcluded: true)[object]
    let texts = content?.texts ?? []
    let values = Dictionary(uniqueKeysWithValues: zip(names, texts))
    writer.key(.title, after: ",")
    writer.value(
      entity.spotlight?.displayName.flatMap { values[$0] ?? nil }.map { .string($0) } ?? nil
    )
    let named = zip(names, texts).compactMap { name, text in text.map { (name, $0) } }
    for (name, value) in forgiven(hit, named, highlighter) {
      writer.key(name, after: ",")
      writer.value(value)
    }
    if call.highlights {
      writer.key(.highlights, after: ",")
      writer.value(highlights(values, highlighter))
    }
    if call.snippets, let snippet = highlighter.snippet(of: bodies(values, entity)) {
      writer.key(.snippet, after: ",")
      writer.value(
        SearchCall.Snippet(
          property: snippet.property,
          text: snippet.text,
          highlights: Self.pairs(snippet.highlights)
        )
        .json
      )
    }
    if let plan = plans[hit.key.entity] {
      writer.key(.object, after: ",")
      if try !snapshot.write(hit.key.object, as: plan, to: &writer) { writer.null() }
    }
    if call.explains {
      writer.key(.explanation, after: ",")
      writer.value(Self.explanation(hit.explanation).json)
    }
    writer.raw("}")
  }

  /// Returns a score rounded to four decimals, or to more if the score is small.
  ///
  /// These digits distinguish hits, even if a boost makes all scores small. More digits would only
  /// lengthen the message.
  static func rounded(_ score: Double) -> Double {
    var unit = 10_000.0
    while score > 0, score * unit < 1000, unit < 1e300 { unit *= 10 }
    return (score * unit).rounded() / unit
  }

  static func explanation(_ terms: [TermShare]) -> [SearchCall.TermShare] {
    terms.map { term in
      SearchCall.TermShare(
        term: term.term,
        count: term.count,
        frequency: term.documents,
        bound: rounded(term.bound),
        share: rounded(term.share)
      )
    }
  }

  static func wire(_ postings: Postings) -> SearchCall.Postings {
    SearchCall.Postings(read: postings.read, skipped: postings.skipped)
  }

  private func highlights(_ values: [String: String?], _ highlighter: Highlighter) -> JSONValue {
    .object(
      values.sorted { $0.key < $1.key }.compactMap { name, text in
        guard let text else { return nil }
        let ranges = highlighter.ranges(in: text, column: name)
        guard !ranges.isEmpty else { return nil }
        return JSONMember(name, Self.pairs(ranges))
      }
    )
  }

  private static func pairs(_ ranges: [Range<Int>]) -> JSONValue {
    .array(ranges.map { [.integer(Int64($0.lowerBound)), .integer(Int64($0.upperBound))] })
  }

  /// Returns the texts for a snippet, the display name last, because each hit already shows that
  /// name.
  private func bodies(
    _ values: [String: String?],
    _ entity: EntityDescription
  ) -> [(property: String, text: String)] {
    let display = entity.spotlight?.displayName
    return values.sorted {
      ($0.key == display ? 1 : 0, $0.key) < ($1.key == display ? 1 : 0, $1.key)
    }
    .compactMap { name, text in text.map { (name, $0) } }
  }

  /// Counts hits by entity, and by the values of properties.
  private func writeFacets(
    of keys: [ObjectKey],
    _ properties: [String],
    _ bytesMax: Int,
    _ writer: inout JSONWriter
  ) throws {
    let groups = Dictionary(grouping: keys, by: \.entity).sorted { $0.key < $1.key }
    let entities = groups.map { number, keys in
      JSONMember(snapshot.model.entity(number).name, .integer(Int64(keys.count)))
    }
    writer.key(.entities, after: "{")
    writer.value(.object(entities))
    for (number, keys) in groups {
      let entity = snapshot.model.entity(number)
      let wanted = properties.filter { facets[$0]?.contains(number) == true }
      guard !wanted.isEmpty else { continue }
      // SQLite appends ascending numbers to its list, without a look-up for each.
      let objects = ObjectNumbers(keys.map(\.object).sorted())
      for property in wanted {
        writer.raw(",")
        writer.string("\(entity.name).\(property)")
        writer.raw(":")
        let request = Self.counts(of: property, entity, objects)
        _ = try snapshot.writeValues(request, bytesMax: bytesMax, to: &writer)
      }
    }
    writer.raw("}")
  }
}
