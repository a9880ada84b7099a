import CordialProtocol
import CordialValues
import JSON
import JSONRPC
import ObjectModel
import PersistentHistory
import PersistentStore
import Spotlight
import Synchronization

extension Service {
  /// The time for which a search without `at` waits for the newest commit, in milliseconds.
  private static let freshnessMilliseconds = 100

  func search(_ call: SearchCall, _ request: Request) throws {
    guard call.query.utf8.count <= limits.queryBytesMax else {
      throw Limits.exceeded(
        "queryBytes",
        max: limits.queryBytesMax,
        "A query may have at most \(limits.queryBytesMax) bytes"
      )
    }
    let entities = try call.entities.map { try EntityNames.numbers($0, in: store.model) }
    let start = facts.clock()
    let wanted = SearchRequest(
      query: call.query,
      entities: entities,
      isPrefix: call.isPrefix,
      offset: call.offset,
      limit: call.limit,
      wordsMax: limits.queryWordsMax
    )
    index.follow()
    guard let at = call.at else {
      return whenIndexed(newestCommit, milliseconds: Self.freshnessMilliseconds) { service, _ in
        service.run(wanted, call, start: start, request)
      }
    }
    guard let token = StoreToken(at) else {
      throw RPCError(.invalidParams, "search: \"\(at)\" is not a token")
    }
    try whenVisible(at, request) { service in
      service.whenIndexed(token.number, milliseconds: service.limits.waitMax) { service, reached in
        guard reached else {
          return service.finish(request, .failure(RPCError(late: service.index.lateness(at))))
        }
        service.run(wanted, call, start: start, request)
      }
    }
  }

  /// Calls `next` with true once the index has reached a commit, or with false after a time limit.
  func whenIndexed(
    _ number: Int64,
    milliseconds: Int,
    _ next: @escaping @Sendable (isolated Service, Bool) -> Void
  ) {
    let waiter = index.whenReached(number) { reached in
      self.onLoop { service in next(service, reached) }
    }
    guard let waiter else { return }
    let index = index
    loop.schedule(milliseconds: milliseconds) { index.cancelWait(waiter) }
  }

  private func run(
    _ wanted: SearchRequest,
    _ call: SearchCall,
    start: Int64,
    _ request: Request
  ) {
    let facts = facts
    let bytesMax = limits.answerBytesMax
    searches.search(
      // The index's snapshot comes first, so that the store's is never older.
      { searcher, reader in
        try searcher.snapshot { index in
          try reader.snapshot(hidingUnsealed: true) { snapshot in
            if snapshot.hidesUnsealedChanges { self.lookForCommits() }
            var writer = JSONWriter(reserving: 4096, pieceBytes: Self.pieceBytes)
            MessageWriter.beginResult(request.id, &writer)
            let answer = SearchAnswer(call: call, snapshot: snapshot, token: index.token)
            let result = try index.search(wanted, without: try answer.deletedObjects())
            try answer.write(
              result,
              microseconds: { facts.clock() - start },
              bytesMax: bytesMax,
              to: &writer
            )
            writer.raw("}")
            return MessageBytes(writer)
          }
        }
      },
      completion: { outcome in
        // Changes that are too many to be hidden can only be sealed.
        if case .failure(let error) = outcome, error.code == ErrorName.storeBusy.code {
          self.lookForCommits()
        }
        self.onLoop { service in service.finish(request, outcome) }
      }
    )
  }
}

/// The encoder of a result of `search`.
private struct SearchAnswer {
  let call: SearchCall
  let snapshot: StoreSnapshot
  let token: StoreToken

  /// Returns the objects that were deleted after the index's position; the result excludes them.
  func deletedObjects() throws -> Set<ObjectKey> {
    guard token.generation == snapshot.token.generation, token.number < snapshot.head.number else {
      return []
    }
    guard let set = try snapshot.log.changeSet(from: token.number, through: snapshot.head.number)
    else { throw SpotlightError.needsRebuild }
    return Set(set.changes.values.filter { $0.kind == .delete }.map(\.key))
  }

  func write(
    _ result: SearchResult,
    microseconds: () -> Int64,
    bytesMax: Int,
    to writer: inout JSONWriter
  ) throws {
    writer.raw("{\"token\":\"")
    writer.raw(string: token.description)
    writer.raw("\",\"storeToken\":\"")
    writer.raw(string: snapshot.token.description)
    writer.raw("\",\"total\":")
    writer.integer(result.total)
    writer.raw(",\"hits\":[")
    for (index, hit) in result.hits.enumerated() {
      if index > 0 { writer.raw(",") }
      writer.splitIfLong()
      try StoreSnapshot.check(writer, bytesMax)
      try write(hit, result.highlighter, &writer)
    }
    writer.raw("]")
    if !result.missing.isEmpty {
      writer.raw(",\"missing\":")
      writer.value(.array(result.missing.map { .string($0) }))
    }
    writer.raw(",\"tookMicroseconds\":")
    writer.integer(microseconds())
    writer.raw("}")
  }

  private func write(
    _ hit: SearchResult.Hit,
    _ highlighter: Highlighter,
    _ writer: inout JSONWriter
  ) throws {
    let entity = snapshot.model.entity(hit.key.entity)
    writer.raw("{\"id\":")
    writer.string(try snapshot.wrappedID(hit.key).description)
    writer.raw(",\"score\":")
    // Four digits distinguish hits; more digits would only lengthen the message.
    writer.double((hit.score * 10_000).rounded() / 10_000)
    let names = entity.spotlight?.weights.map(\.name) ?? []
    let texts = try snapshot.texts(hit.key, names) ?? []
    let values = Dictionary(uniqueKeysWithValues: zip(names, texts))
    writer.raw(",\"title\":")
    writer.value(
      entity.spotlight?.displayName.flatMap { values[$0] ?? nil }.map { .string($0) } ?? nil
    )
    if call.highlights {
      writer.raw(",\"highlights\":")
      writer.value(highlights(values, highlighter))
    }
    if call.withObjects {
      writer.raw(",\"object\":")
      let plan = try snapshot.plan(of: entity)
      if try !snapshot.write(hit.key.object, as: plan, to: &writer) { writer.null() }
    }
    writer.raw("}")
  }

  private func highlights(_ values: [String: String?], _ highlighter: Highlighter) -> JSONValue {
    .object(
      values.sorted { $0.key < $1.key }.compactMap { name, text in
        guard let text else { return nil }
        let ranges = highlighter.ranges(in: text, column: name)
        guard !ranges.isEmpty else { return nil }
        return JSONMember(
          name,
          .array(
            ranges.map { [.integer(Int64($0.lowerBound)), .integer(Int64($0.upperBound))] }
          )
        )
      }
    )
  }
}
