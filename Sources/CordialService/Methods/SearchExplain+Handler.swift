import CordialProtocol
import CordialValues
import Indexing
import JSON
import JSONRPC
import ObjectModel
import PersistentHistory
import PersistentStore
import Spotlight

extension Service {
  /// Answers `search/explain`.
  ///
  /// - Throws: `RPCError` for a query that is too long, and for an unknown entity.
  func explainSearch(_ call: SearchExplainCall, _ request: Request) throws {
    let wanted = try searchRequest(call.search, wantsAll: true)
    let interruption = interruption(of: request)
    try whenIndexed(call.search, request) { service in
      service.withSearch(call.search, wanted, interruption) { answer, index in
        var writer = JSONWriter()
        MessageWriter.beginResult(request.id, &writer)
        writer.value(try answer.reason(call.id, wanted, index).json)
        writer.raw("}")
        return MessageBytes(writer)
      } completion: { service, outcome in
        service.finish(request, outcome)
      }
    }
  }
}

extension SearchAnswer {
  /// Returns the reason why a search finds or does not find an object.
  ///
  /// - Parameters:
  ///   - id: The ID of the object.
  ///   - wanted: The parameters of the search.
  ///   - index: A snapshot of the index that is not newer than the snapshot of the store.
  /// - Returns: The result of `search/explain`.
  /// - Throws: `StoreError` for a text that is not an ID; `SpotlightError` if the index has not
  ///   reached the newest change of the object; `SQLiteError`.
  fileprivate func reason(
    _ id: String,
    _ wanted: SearchRequest,
    _ index: IndexSnapshot
  ) throws -> SearchExplainCall.Result {
    func missed(_ reason: String, rule: String? = nil) -> SearchExplainCall.Result {
      var result = SearchExplainCall.Result(token: token.description, isFound: false)
      result.reason = reason
      result.rule = rule
      return result
    }
    guard let key = try snapshot.resolve(id), try snapshot.exists(key) else {
      return missed("unknown")
    }
    guard snapshot.model.entity(key.entity).spotlight != nil else {
      return missed("notIndexed", rule: "entity")
    }
    try checkIndexed(key, id)
    let content = try indexed.content([key.object], of: key.entity)[key.object]
    let isDeleted = try content?.domain.map { try index.deletedDomains().contains($0) } ?? false
    if let rule = isDeleted ? .delegate : try indexed.exclusion(of: key) {
      return missed("notIndexed", rule: rule.rawValue)
    }
    let texts = content?.texts ?? []
    let deleted = try deletedObjects()
    let (verdict, postings) = try index.verdict(
      on: key,
      texts: texts.compactMap(\.self),
      wanted,
      without: deleted ?? [],
      filter: filter ?? (deleted == nil ? existing : nil)
    )
    var result: SearchExplainCall.Result
    switch verdict {
    case .found(let rank, let hit, let highlighter):
      result = SearchExplainCall.Result(token: token.description, isFound: true)
      result.rank = Int64(rank)
      result.score = Self.rounded(hit.score)
      result.explanation = Self.explanation(hit.explanation)
      if hit.hitClass != .exact {
        let names = snapshot.model.entity(key.entity).spotlight?.fields ?? []
        let named = zip(names, texts).compactMap { name, text in text.map { (name, $0) } }
        let (matched, missing) = highlighter.forgiven(hit, in: named)
        result.hitClass = hit.hitClass.rawValue
        result.matched = matched.isEmpty ? nil : Self.wire(matched)
        result.missing = missing.isEmpty ? nil : missing
      }
    case .notIndexed: return missed("notIndexed", rule: "empty")
    case .missingWord(let word, let nearest):
      result = missed("missingWord")
      result.word = word
      result.nearest = nearest
    case .excludedWord(let word):
      result = missed("excludedWord")
      result.word = word
    case .filtered:
      result = missed("filtered")
      let isOther = wanted.entities.map { !$0.contains(key.entity) } ?? false
      result.filter = isOther ? "entities" : "predicate"
    }
    result.postings = Self.wire(postings)
    return result
  }

  /// Checks that the index has the present texts of an object.
  private func checkIndexed(_ key: ObjectKey, _ id: String) throws {
    guard token.generation == snapshot.token.generation, token.number < snapshot.head.number,
      let position = try snapshot.logPosition(of: token),
      let (set, spans) = try snapshot.log.changesWithSpans(
        from: token.number,
        through: snapshot.head.number
      )
    else { return }
    let concerned = try indexed.concerned(by: set, spans: spans, since: position)
    guard concerned.map({ $0.objects[key] != nil }) ?? true else { return }
    throw SpotlightError(
      .busy,
      "The index has not reached the newest change of \(id)",
      advice: .readStatus
    )
  }
}
