import CordialProtocol
import CordialValues
import Interruptions
import JSON
import JSONRPC
import ObjectModel
import PersistentHistory
import PersistentStore
import Synchronization

extension Service {
  func save(_ call: SaveCall, _ session: Session, _ request: Request) throws {
    guard call.count <= limits.saveChangesMax else {
      throw Limits.exceeded(
        "saveChanges",
        max: limits.saveChangesMax,
        "A save may have at most \(limits.saveChangesMax) changes; this one has \(call.count)"
      )
    }
    var changes = SaveRequest(
      inserts: call.inserts,
      updates: call.updates,
      deletes: call.deletes,
      author: call.author ?? session.author,
      context: call.context ?? session.context,
      process: facts.process,
      durability: call.isDurable ? .full : .normal,
      mergePolicy: try mergePolicy(call.mergePolicy) ?? session.mergePolicy,
      transaction: call.transaction
    )
    changes.isDryRun = call.isDryRun
    write(changes, request) { result, answer, writer in answer.writeSave(result, to: &writer) }
  }

  func delete(_ call: DeleteCall, _ session: Session, _ request: Request) throws {
    let ids = call.ids ?? []
    guard ids.count <= limits.saveChangesMax else {
      throw Limits.exceeded(
        "saveChanges",
        max: limits.saveChangesMax,
        "A delete may name at most \(limits.saveChangesMax) objects"
      )
    }
    var changes = SaveRequest(
      deletes: ids.map { .init(id: $0, version: nil) },
      author: call.author ?? session.author,
      context: call.context ?? session.context,
      process: facts.process,
      durability: call.isDurable ? .full : .normal
    )
    changes.deleteMatching = call.entity.map { entity in
      FetchRequest(
        entity: entity,
        predicate: call.predicate,
        arguments: PredicateArguments(call.arguments)
      )
    }
    changes.method = .delete
    changes.wantsIDs = call.returnsIDs
    changes.transaction = call.transaction
    changes.isDryRun = call.isDryRun
    write(changes, request) { result, answer, writer in answer.writeCount(result, to: &writer) }
  }

  func update(_ call: UpdateCall, _ session: Session, _ request: Request) throws {
    var changes = SaveRequest(
      author: call.author ?? session.author,
      context: call.context ?? session.context,
      process: facts.process,
      durability: call.isDurable ? .full : .normal
    )
    changes.updateMatching = SaveRequest.UpdateMatching(
      fetch: FetchRequest(
        entity: call.entity,
        predicate: call.predicate,
        arguments: PredicateArguments(call.arguments)
      ),
      values: call.values
    )
    changes.method = .update
    changes.wantsIDs = call.returnsIDs
    changes.transaction = call.transaction
    changes.isDryRun = call.isDryRun
    write(changes, request) { result, answer, writer in answer.writeCount(result, to: &writer) }
  }

  func revert(
    _ direction: RevertDirection,
    _ params: RevertParams,
    _ session: Session,
    _ request: Request
  ) throws {
    var changes = SaveRequest(
      author: params.author ?? session.author,
      process: facts.process,
      durability: params.isDurable ? .full : .normal,
      mergePolicy: params.mergePolicy == "storeTrump" ? .storeTrump : .error
    )
    changes.revert = SaveRequest.Revert(
      direction: direction,
      count: params.count,
      context: params.context
    )
    changes.method = direction == .undo ? .undo : .redo
    changes.transaction = params.transaction
    changes.isDryRun = params.isDryRun
    write(changes, request) { result, answer, writer in answer.writeRevert(result, to: &writer) }
  }

  /// Returns the merge policy with a name, or nil if no name is given.
  nonisolated func mergePolicy(_ name: String?) throws(RPCError) -> SaveRequest.MergePolicy? {
    guard let name else { return nil }
    let policy = SaveRequest.MergePolicy(name)
    guard case .named = policy, !store.mergePolicies.contains(name) else { return policy }
    let known = SaveRequest.MergePolicy.standard.map(\.0) + store.mergePolicies.sorted()
    throw RPCError(
      .invalidParams,
      "There is no merge policy \(name.excerpt); known are \(known.joined(separator: ", "))"
    )
  }

  /// Performs a transaction, and answers it before any follower is notified.
  ///
  /// The loop performs a small save of `durability: normal`, if the store allows it and the turn
  /// has performed no other save. The writer performs all other saves.
  ///
  /// - Parameters:
  ///   - changes: The transaction.
  ///   - request: The request to answer.
  ///   - members: Writes the members of the result after the token.
  func write(
    _ changes: SaveRequest,
    _ request: Request,
    _ members: @escaping @Sendable (SaveResult, SaveAnswer, inout JSONWriter) -> Void
  ) {
    var changes = changes
    changes.source = request.session
    changes.affectedMax = limits.affectedMax
    changes.changesMax = limits.saveChangesMax
    changes.readingSecondsMax = Double(limits.writerSecondsMax)
    if changes.isByPredicate {
      // The evaluation of the predicate is a read, which the client can stop.
      let interruption = interruption(of: request)
      changes.interruption = interruption
      changes.readingSecondsMax = min(
        changes.readingSecondsMax,
        interruption.secondsMax ?? .infinity
      )
    }
    let encoder = SaveAnswer(model: store.model)
    let registry = observing.registry
    let executed = { @Sendable (outcome: Result<SaveOutcome, StoreError>) in
      ExecutedSave(outcome, of: request) { saved, writer in
        members(saved.result, encoder, &writer)
        guard let dryRun = saved.dryRun else { return }
        encoder.write(dryRun, for: request.session, registry, to: &writer)
      }
    }
    if !turn.hasSaved, let outcome = store.saveAtOnce(changes) {
      turn.hasSaved = true
      // The saves that the writer executed before are answered first.
      let save = executed(outcome)
      executedSaves.withLock { $0.append(save) }
      return answerExecutedSaves()
    }
    store.save(changes) { outcome in
      let save = executed(outcome)
      self.executedSaves.withLock { $0.append(save) }
    } groupEnded: {
      self.onLoop { service in service.answerExecutedSaves() }
    }
  }

  /// Answers the executed saves, then notifies the followers.
  private func answerExecutedSaves() {
    let answering = executedSaves.withLock { executedSaves in
      defer { executedSaves = [] }
      return executedSaves
    }
    if let newest = answering.compactMap({ answer($0) }).max() { committed(newest) }
  }

  /// Answers the request of an executed save.
  ///
  /// - Parameter save: The save.
  /// - Returns: The commit number; nil for a save that failed, and for a dry run.
  private func answer(_ save: ExecutedSave) -> Int64? {
    let commit: Int64? =
      if case .success(let saved) = save.outcome, saved.dryRun == nil {
        saved.token.number
      } else {
        nil
      }
    if let commit { answeredCommit = max(answeredCommit, commit) }
    finish(save.request, save.answer)
    return commit
  }
}

extension SaveAnswer {
  /// Writes the result of a dry run, with the subscriptions that the transaction could affect.
  ///
  /// - Parameters:
  ///   - dryRun: The changes that the transaction would have made.
  ///   - session: The session number of the requesting connection.
  ///   - registry: The observed requests.
  ///   - writer: The writer of the response.
  /// - Complexity: Linear in the changes and in the observed requests.
  fileprivate func write(
    _ dryRun: DryRun,
    for session: Int,
    _ registry: SubscriptionRegistry,
    to writer: inout JSONWriter
  ) {
    let affected = registry.subscribers(affectedBy: dryRun.changes)
    let own = affected.filter { $0.session == session }.sorted()
    let result = DryRunResult(
      error: dryRun.error.map { RPCError($0).json },
      deletes: dryRun.deletes.map(text),
      updates: dryRun.updates.map(text),
      subscriptions: own.map(\.name),
      otherCount: Int64(affected.count - own.count)
    )
    writer.key(.dryRun, after: ",")
    writer.value(result.json)
  }
}

/// A transaction that was performed, and whose request waits for its response.
struct ExecutedSave: Sendable {
  let request: Request
  let outcome: Result<SaveOutcome, StoreError>
  let answer: Result<MessageBytes, RPCError>

  /// Encodes the response to a performed transaction.
  ///
  /// - Parameters:
  ///   - outcome: The outcome of the transaction.
  ///   - request: The request to answer.
  ///   - members: Writes the members of the result after the token.
  init(
    _ outcome: Result<SaveOutcome, StoreError>,
    of request: Request,
    _ members: (SaveOutcome, inout JSONWriter) -> Void
  ) {
    self.request = request
    self.outcome = outcome
    switch outcome {
    case .success(let saved):
      var writer = JSONWriter(reserving: 48 * saved.result.objects.count + 256)
      MessageWriter.beginResult(request.id, &writer)
      writer.key(.token, after: "{")
      writer.raw("\"")
      writer.raw(string: saved.token.description)
      writer.raw("\",")
      members(saved, &writer)
      writer.raw("}}")
      answer = .success(MessageBytes(writer))
    case .failure(let error): answer = .failure(RPCError(error))
    }
  }
}
