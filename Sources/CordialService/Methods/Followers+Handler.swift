import CordialProtocol
import CordialValues
import Interruptions
import JSON
import JSONRPC
import Logging
import ObjectModel
import PersistentHistory
import PersistentStore
import Spotlight

extension Service {
  private static let dayMilliseconds: Int64 = 86_400_000

  /// The time after which a silent follower expires, in milliseconds.
  nonisolated var silenceMax: Int64 { Int64(limits.followerDaysMax) * Self.dayMilliseconds }

  func register(_ call: RegisterFollowerCall, _ request: Request) throws {
    let since = try call.since.map { try Self.token($0, "follower/register") }
    let (silence, source) = (silenceMax, request.session)
    store.register(follower: call.follower, since: since, silence: silence, source: source) {
      self.answer(request, $0.map { PositionResult(token: $0.description) })
    }
  }

  func acknowledge(_ call: AcknowledgeCall, _ request: Request) throws {
    let token = try Self.token(call.token, "follower/acknowledge")
    store.acknowledge(follower: call.follower, token, silence: silenceMax, source: request.session)
    {
      self.answer(request, $0.map { PositionResult(token: $0.description) })
    }
  }

  func removeFollower(_ call: RemoveFollowerCall, _ request: Request) {
    store.remove(follower: call.follower, source: request.session) {
      self.answer(request, $0.map { RemoveFollowerCall.Result(isRemoved: $0) })
    }
  }

  func listFollowers(_ request: Request) {
    let silence = silenceMax
    let now = store.now()
    read(request) { snapshot, writer in
      let followers = try Self.followers(snapshot, now, silence)
      writer.value(ListFollowersCall.Result(followers: followers).json)
    }
  }

  /// Returns the named followers.
  nonisolated static func followers(
    _ snapshot: StoreSnapshot,
    _ now: Int64,
    _ silence: Int64
  ) throws -> [ListFollowersCall.Follower] {
    let oldest = try snapshot.oldest().number
    return try snapshot.followers().map { follower in
      // A power failure may have removed the commit of a follower from the log.
      let isKept = (oldest...max(oldest, snapshot.head.number)).contains(follower.number)
      let token = isKept ? try snapshot.token(of: follower.number) : nil
      return ListFollowersCall.Follower(
        name: follower.name,
        token: token?.description,
        behind: max(0, snapshot.head.number - max(0, follower.number)),
        seen: DateText.text(follower.lastRequest) ?? "",
        isExpired: follower.isExpired(now, after: silence)
      )
    }
  }

  private static func token(_ text: String, _ method: String) throws(RPCError) -> StoreToken {
    guard let token = StoreToken(text) else {
      throw RPCError(.invalidParams, "\(method): \"\(text.excerpt)\" is not a token")
    }
    return token
  }

  /// Answers a request; called on any thread.
  nonisolated func answer(_ request: Request, _ outcome: Result<some WireObject, some Error>) {
    onLoop { service in
      switch outcome {
      case .success(let result): service.finish(request, result: result.json)
      case .failure(let error): service.finish(request, .failure(RPCError(any: error)))
      }
    }
  }

  // MARK: Purge

  func purge(_ call: PurgeCall, _ request: Request) throws {
    let goals = try goals(of: call)
    let progress = try beginProgress(of: request, "Removing history")
    purge(goals, followers.compactMap(\.retention), work(of: request, progress)) { outcome in
      progress?.end()
      self.answer(request, outcome.map(\.result))
    }
  }

  private func goals(of call: PurgeCall) throws -> [HistoryPurgeGoal] {
    if let before = call.before {
      if let token = StoreToken(before) { return [.token(token)] }
      guard let time = DateText.milliseconds(before) else {
        throw RPCError(
          .invalidParams,
          "history/purge: \"\(before.excerpt)\" is neither a token nor a date"
        )
      }
      return [.time(time)]
    }
    var goals: [HistoryPurgeGoal] = []
    if let seconds = call.seconds {
      goals.append(.time(store.now() - min(seconds, Int64(Int32.max)) * 1000))
    }
    if let count = call.transactions { goals.append(.transactions(count)) }
    if let bytes = call.bytes { goals.append(.bytes(bytes)) }
    return goals
  }

  /// The result of a purge.
  struct PurgeOutcome: Sendable {
    let oldest: StoreToken
    let removed: Int
    let heldBy: String?

    var result: PurgeCall.Result {
      PurgeCall.Result(
        token: oldest.description,
        transactions: Int64(removed),
        heldBy: heldBy
      )
    }
  }

  /// Removes history up to the latest goal, except history that a follower, a lease or the minimum
  /// age retains.
  private nonisolated func purge(
    _ goals: [HistoryPurgeGoal],
    _ retained: [HistoryRetention],
    _ work: LongWork = LongWork(),
    _ completion: @escaping @Sendable (Result<PurgeOutcome, RPCError>) -> Void
  ) {
    let now = store.now()
    let silence = silenceMax
    let lease = leaseName
    let retainedMilliseconds = Int64(limits.historyDaysMin) * Self.dayMilliseconds
    // The index first writes its position. Otherwise, the index could need purged commits at its
    // next start, and would rebuild itself.
    index.execute(.write) { _ in }
    snapshot { snapshot in
      let wanted = try goals.map { try snapshot.commit(of: $0) }.max() ?? 0
      var retained = retained
      retained += try snapshot.followers().filter { !$0.isExpired(now, after: silence) }.map {
        HistoryRetention(number: $0.number, reason: "the follower \($0.name)")
      }
      retained += try snapshot.leases().filter { $0.name != lease }.map {
        HistoryRetention(
          number: $0.number,
          reason: "a live subscription of the process \($0.process.number)"
        )
      }
      // `min` returns the first of equal commits. The minimum age is inserted first, so that
      // `heldBy` names the minimum age instead of a follower or lease at the same commit.
      if retainedMilliseconds > 0 {
        retained.insert(
          HistoryRetention(
            number: try snapshot.commit(of: .time(now - retainedMilliseconds)),
            reason: "historyDaysMin: newer history is always retained"
          ),
          at: 0
        )
      }
      let least = retained.min { $0.number < $1.number }
      guard let least, least.number < wanted else { return (wanted, nil as String?) }
      return (least.number, least.reason)
    } completion: { outcome in
      switch outcome {
      case .failure(let error):
        completion(.failure(error))
      case .success((let number, let heldBy)):
        self.store.purge(to: number, silence: silence, ownLease: lease, work: work) {
          self.completePurge($0, heldBy, completion)
        }
      }
    }
  }

  private nonisolated func completePurge(
    _ removed: Result<Int, StoreError>,
    _ heldBy: String?,
    _ completion: @escaping @Sendable (Result<PurgeOutcome, RPCError>) -> Void
  ) {
    snapshot {
      try $0.oldest()
    } completion: { outcome in
      switch (removed, outcome) {
      case (.success(let count), .success(let oldest)):
        completion(.success(PurgeOutcome(oldest: oldest, removed: count, heldBy: heldBy)))
      case (.failure(let error), _): completion(.failure(RPCError(error)))
      case (_, .failure(let error)): completion(.failure(error))
      }
    }
  }

  // MARK: Automatic purge

  /// The number of commits and the time in microseconds after which the next check of the log is
  /// due.
  private static let purgeCommits: Int64 = 10_000
  private static let purgeMicroseconds: Int64 = 3_600_000_000

  /// Removes history beyond `historyDaysMax` and `historyBytesMax`, if a check of the log is due.
  func purgeIfDue() {
    let now = facts.clock()
    if let last = lastPurge, newestCommit - last.commit < Self.purgeCommits,
      now - last.time < Self.purgeMicroseconds
    {
      return
    }
    // A process whose index does not follow commits leaves the purge to processes whose index does.
    guard !store.isReadOnly, index.followsCommits, !isPurging else { return }
    isPurging = true
    lastPurge = (newestCommit, now)
    var goals: [HistoryPurgeGoal] = [
      .time(store.now() - Int64(limits.historyDaysMax) * Self.dayMilliseconds)
    ]
    // Measuring the log requires reading it, which is unnecessary while the whole file is small.
    if FileSize.of([store.container.storePath]) > limits.historyBytesMax {
      goals.append(.bytes(Int64(limits.historyBytesMax)))
    }
    purge(goals, followers.compactMap(\.retention)) { outcome in
      self.onLoop { service in
        service.isPurging = false
        switch outcome {
        case .success(let outcome) where outcome.removed > 0:
          service.log.notice(
            "Removed old history",
            metadata: ["commits": "\(outcome.removed)", "oldest": "\(outcome.oldest)"]
          )
        case .success: break
        case .failure(let error): service.log.warning("Old history remains: \(error.message)")
        }
      }
    }
  }
}
