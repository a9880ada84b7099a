import CordialProtocol
import CordialValues
import JSON
import JSONRPC
import ObjectModel
import PersistentHistory
import PersistentStore
import ProtocolSchemas
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
        writer.value(.object(try answer.reason(call.id, wanted, index)))
        writer.raw("}")
        return MessageBytes(writer)
      } completion: { service, outcome in
        service.finish(request, outcome)
      }
    }
  }
}

extension SearchAnswer {
  /// Tells why a search finds an object, or why it does not.
  ///
  /// - Parameters:
  ///   - id: The ID of the object.
  ///   - wanted: The parameters of the search.
  ///   - index: A snapshot of the index, which is not newer than that of the store.
  /// - Returns: The members of the answer.
  /// - Throws: `StoreError` for a text that is no ID; `SpotlightError` where the index has not
  ///   reached the newest change of the object; `SQLiteError`.
  fileprivate func reason(
    _ id: String,
    _ wanted: SearchRequest,
    _ index: IndexSnapshot
  ) throws -> [JSONMember] {
    var members = [JSONMember(.token, .string(token.description))]
    func end(
      _ found: Bool,
      _ others: [JSONMember],
      _ postings: Postings = Postings(read: 0, skipped: 0)
    ) -> [JSONMember] {
      members.append(JSONMember(.found, .bool(found)))
      return members + others + [JSONMember(.postings, Self.value(of: postings))]
    }
    guard let key = try snapshot.resolve(id), try snapshot.exists(key) else {
      return end(false, [JSONMember(.reason, "unknown")])
    }
    guard snapshot.model.entity(key.entity).spotlight != nil else {
      return end(false, [JSONMember(.reason, "notIndexed"), JSONMember(.rule, "entity")])
    }
    try checkIndexed(key, id)
    let content = try indexed.content([key.object], of: key.entity)[key.object]
    let isDeleted = try content?.domain.map { try index.deletedDomains().contains($0) } ?? false
    if let rule = isDeleted ? .delegate : try indexed.exclusion(of: key) {
      return end(
        false,
        [JSONMember(.reason, "notIndexed"), JSONMember(.rule, .string(rule.rawValue))]
      )
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
    switch verdict {
    case .found(let rank, let score, let terms):
      return end(
        true,
        [
          JSONMember(.rank, .integer(Int64(rank))),
          JSONMember(.score, .number(Self.rounded(score))),
          JSONMember(.explanation, Self.explanation(terms)),
        ],
        postings
      )
    case .notIndexed:
      return end(false, [JSONMember(.reason, "notIndexed"), JSONMember(.rule, "empty")])
    case .missingWord(let word, let nearest):
      return end(
        false,
        [
          JSONMember(.reason, "missingWord"), JSONMember(.word, .string(word)),
          JSONMember(.nearest, .array(nearest.map { .string($0) })),
        ],
        postings
      )
    case .excludedWord(let word):
      return end(
        false,
        [JSONMember(.reason, "excludedWord"), JSONMember(.word, .string(word))],
        postings
      )
    case .filtered:
      let isOther = wanted.entities.map { !$0.contains(key.entity) } ?? false
      return end(
        false,
        [
          JSONMember(.reason, "filtered"),
          JSONMember(.filter, isOther ? "entities" : "predicate"),
        ],
        postings
      )
    }
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
