import CordialProtocol
import CordialValues
import Indexing
import Interruptions
import JSON
import JSONRPC
import ObjectModel
import PersistentHistory
import PersistentStore
import Spotlight

extension Service {
  func indexStatus(_ request: Request) {
    guard index.status.token == nil, index.status.state == .catchingUp else {
      return answerStatus(request)
    }
    // The index has not opened its file yet, so the request waits briefly for its first status.
    index.follow()
    whenIndexed(
      newestCommit,
      milliseconds: Self.freshnessMilliseconds,
      interruption(of: request)
    ) { service, _ in service.answerStatus(request) }
  }

  private func answerStatus(_ request: Request) {
    // The status is read first, because a new attempt clears the failure of the last attempt.
    let (status, activity) = (index.status, index.activity)
    index.follow()
    let bytes = indexBytes
    let dead = SearchAnswer.rounded(index.deadFraction)
    read(request) { [index] snapshot, writer in
      let token = try status.token ?? snapshot.oldest()
      // A search of a past commit needs both the index and the store as of that commit, so the
      // later of the two oldest commits is the limit.
      let past = [activity.oldest ?? token, try snapshot.oldestPast()]
      let oldest = past.max { $0.number < $1.number } ?? token
      let behind = max(0, snapshot.head.number - token.number)
      let state = status.state == .ready && behind > 0 ? IndexStatus.State.catchingUp : status.state
      var result = IndexStatusCall.Result(
        token: token.description,
        behind: behind,
        documents: status.documents,
        dead: dead,
        bytes: bytes,
        state: state.rawValue,
        oldest: oldest.description,
        processorMicroseconds: activity.processorMicroseconds
      )
      if state == .paused { result.reason = status.reason?.rawValue ?? "requested" }
      // Each status request wakes the index, so that even an up-to-date index reports a step. The
      // result for an up-to-date index therefore leaves out the step.
      let isWaiting = state == .ready && behind == 0
      if !isWaiting { result.activity = activity.step?.text }
      result.synonyms = index.synonyms.status.map { file in
        IndexStatusCall.SynonymFile(
          lists: Int64(file.lists),
          read: DateText.text(file.read) ?? "",
          problem: file.problem
        )
      }
      writer.value(result.json)
    }
  }

  /// The size of the index's files.
  private var indexBytes: Int64 {
    Int64(FileSize.of([index.path, index.path + "-wal"]))
  }

  /// Pauses, resumes or rebuilds the index.
  ///
  /// - Throws: `RPCError` for a `workDoneToken` that is neither a string nor an integer.
  func order(_ order: IndexOrder.Kind, _ request: Request) throws(RPCError) {
    let interruption = interruption(of: request)
    guard order == .rebuild,
      let progress = try beginProgress(of: request, "Building a new index")
    else {
      return index.execute(order, interruption: interruption) { outcome in
        self.onLoop { service in service.finish(order, outcome, request) }
      }
    }
    let expected = Int(index.status.documents)
    index.execute(
      order,
      progress: { progress.report($0, of: expected, "objects") },
      interruption: interruption
    ) { outcome in
      progress.end()
      self.onLoop { service in service.finish(order, outcome, request) }
    }
  }

  private func finish(
    _ order: IndexOrder.Kind,
    _ outcome: Result<IndexStatus, any Error>,
    _ request: Request
  ) {
    let status: IndexStatus
    switch outcome {
    case .success(let found): status = found
    case .failure(let error): return finish(request, .failure(RPCError(any: error)))
    }
    let bytes = indexBytes
    read(request) { snapshot, writer in
      let token = try status.token ?? snapshot.oldest()
      switch order {
      case .rebuild:
        let result = IndexRebuildCall.Result(
          token: token.description,
          documents: status.documents,
          bytes: bytes
        )
        writer.value(result.json)
      case .pause, .resume, .write, .deleteDomains, .restoreDomains:
        let result = IndexStateResult(
          token: token.description,
          state: status.state.rawValue
        )
        writer.value(result.json)
      }
    }
  }

  /// Lets the index catch up, then compares it with the store, object by object.
  func indexVerify(_ request: Request) throws {
    let progress = try beginProgress(of: request, "Comparing the index with the store")
    index.follow()
    let interruption = interruption(of: request)
    whenIndexed(newestCommit, milliseconds: limits.waitMax, interruption) { service, reached in
      guard reached || interruption.reason != nil else {
        progress?.end()
        let error = RPCError(late: service.index.lateness("the newest commit"))
        return service.finish(request, .failure(error))
      }
      service.compare(request, progress)
    }
  }

  private func compare(_ request: Request, _ progress: WorkProgress?) {
    let (layout, rules) = (index.layout, indexRules)
    let interruption = interruption(of: request)
    let work = work(of: request, progress)
    // Each document is compared with its object, and then each object with its document.
    let expected = 2 * Int(index.status.documents)
    searches.compare(
      { searcher, reader in
        try searcher.snapshot(interruption: interruption) { index in
          try reader.snapshot(
            hidingUnsealed: true,
            interruption: interruption
          ) { snapshot in
            var writer = JSONWriter()
            MessageWriter.beginResult(request.id, &writer)
            let verification = IndexVerification(
              layout: layout,
              rules: rules,
              snapshot: snapshot,
              index: index,
              check: { try work.report($0, of: expected) }
            )
            writer.value(try verification.run().json)
            writer.raw("}")
            return MessageBytes(writer)
          }
        }
      },
      completion: { outcome in
        progress?.end()
        self.onLoop { service in service.finish(request, outcome) }
      }
    )
  }

  func status(_ request: Request) {
    let connections = Int64(sessions.count)
    let subscriptions = Int64(subscriptionCount)
    let listed = followers.compactMap { follower in
      follower.statusName.map { (name: $0, token: follower.position) }
    }
    let container = store.container
    let identifier = store.identifier
    let isReadOnly = store.isReadOnly
    let mismatch = store.mismatch
    let now = store.now()
    let silence = silenceMax
    let observing = observingSums
    let disconnected = disconnections.entries.map(\.wire)
    let sorts = self.store.unindexedSorts.slowest.map { sort, requests in
      StatusCall.SlowSort(
        entity: sort.entity,
        sort: sort.keys,
        count: requests.count,
        microsecondsMax: requests.microsecondsMax
      )
    }
    read(request) { snapshot, writer in
      let oldest = try snapshot.oldest()
      var file = StatusCall.Store(path: container.path)
      file.id = identifier
      file.isReadOnly = isReadOnly
      file.bytes = Int64(FileSize.of([container.storePath, container.storePath + "-wal"]))
      file.hasUnsealedChanges = snapshot.hidesUnsealedChanges
      var result = StatusCall.Result(
        state: mismatch == nil ? "serving" : "mismatch",
        store: file,
        connections: connections
      )
      result.token = snapshot.token.description
      result.mismatch = mismatch?.message
      result.subscriptions = subscriptions
      result.observing = observing
      result.disconnected = disconnected
      result.followers = listed.map { follower in
        let token = follower.token ?? oldest
        return ListFollowersCall.Follower(
          name: follower.name,
          token: token.description,
          behind: max(0, snapshot.head.number - token.number)
        )
      }
      result.followers += try Self.followers(snapshot, now, silence)
      result.oldest = oldest.description
      result.slowSorts = sorts
      result.unusedIndexes = try snapshot.unusedIndexes().map { index in
        StatusCall.UnusedIndex(entity: index.entity, keys: index.keys)
      }
      writer.value(result.json)
    }
  }
}

/// A comparison of the index with the store.
///
/// `run` first compares every word of the index's documents with the objects, in the order of the
/// document numbers. Then `run` finds the objects without a document, in the order of their keys.
private struct IndexVerification {
  let layout: IndexLayout
  let rules: IndexRules
  let snapshot: StoreSnapshot
  let index: IndexSnapshot
  /// The closure that receives the count of compared documents and objects; it throws to end the
  /// comparison.
  let check: (Int) throws -> Void

  func run() throws -> IndexVerifyCall.Result {
    let indexed = try IndexedTexts(snapshot, rules)
    let deleted = try index.deletedDomains()
    guard let position = try snapshot.logPosition(of: index.token),
      let (set, spans) = try snapshot.log.changesWithSpans(
        from: index.token.number,
        through: snapshot.head.number
      ),
      // The comparison skips objects that changed after the last commit of the index.
      let later = try indexed.concerned(by: set, spans: spans, since: position)?.objects
    else { throw SpotlightError.needsRebuild }
    var differing = Differences()
    var leftover = Differences()
    func wanted(_ content: DocumentContent?) -> DocumentContent? {
      guard let content, content.domain.map({ !deleted.contains($0) }) ?? true else { return nil }
      return content
    }
    var compared = 0
    try index.eachDigest({ try check(compared) }) { documents in
      compared += documents.count
      try check(compared)
      let families = Dictionary(grouping: documents, by: \.key.entity)
      for (number, documents) in families.sorted(by: { $0.key < $1.key }) {
        let isIndexed = indexed.entities.contains(number)
        let content =
          try isIndexed ? indexed.content(documents.map(\.key.object), of: number) : [:]
        for (key, digest) in documents where later[key] == nil {
          if let content = wanted(content[key.object]) {
            let isSame = layout.digest(of: number, content) == digest
            if !isSame { differing.add(key, "different") }
          } else {
            leftover.add(key, "leftover")
          }
        }
      }
    }
    var checked: Int64 = 0
    for number in indexed.entities {
      let entity = snapshot.model.entity(number)
      var last: Int64 = 0
      while case let objects = try snapshot.objects(of: entity, after: last, limit: 1000),
        let end = objects.last
      {
        try check(compared + Int(checked))
        checked += Int64(objects.count)
        let without = try objects.filter { object in
          let key = ObjectKey(entity: number, object: object)
          return try later[key] == nil && !index.hasDocument(of: key)
        }
        let content = try without.isEmpty ? [:] : indexed.content(without, of: number)
        for object in without where wanted(content[object]) != nil {
          differing.add(ObjectKey(entity: number, object: object), "missing")
        }
        last = end
      }
    }
    let found = (differing.sorted + leftover.sorted).prefix(Differences.max)
    return IndexVerifyCall.Result(
      token: index.token.description,
      checked: checked,
      differences: try found.map { key, kind in
        .init(id: try snapshot.wrappedID(key).description, kind: kind)
      }
    )
  }
}

/// The first differences that a comparison has found.
private struct Differences {
  static let max = 100
  private var list: [(key: ObjectKey, what: String)] = []

  mutating func add(_ key: ObjectKey, _ what: String) {
    if list.count < Self.max { list.append((key, what)) }
  }

  /// The differences in the order of their objects.
  var sorted: [(key: ObjectKey, what: String)] { list.sorted { $0.key < $1.key } }
}
