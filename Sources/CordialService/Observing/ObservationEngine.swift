import CordialValues
import Interruptions
import JSONRPC
import PersistentHistory

/// The state of the observations of all connections.
///
/// The observations advance together from one position to the next.
struct ObservationEngine {
  let registry: SubscriptionRegistry
  /// The common position of the observations' results; nil without observations.
  ///
  /// An observation that was left out, or was just registered, may have a position of its own.
  var position: LogPosition?
  /// The newest commit that the next steps must reach.
  var wanted: Int64 = 0
  /// Whether a worker performs a step.
  var isStepping = false
  /// Whether the observed searches are being run again, and whether a further run must follow.
  var isSearching = false
  var searchesAgain = false
  /// The pause after a failed run of the searches, in milliseconds; 0 after a successful run.
  var searchPause = 0
  /// The digest of the synonyms that the observed searches use; nil before the first search.
  var synonyms: String?
  /// The work that waits for the end of the next run of the searches.
  var afterSearches: [@Sendable (isolated Service) -> Void] = []
  /// Whether a timer is set to forget the results of ended observations.
  var forgetsRecent = false
  /// The connections whose clients are behind, or have ended subscriptions to report.
  var withNews: Set<Int> = []
  /// The last commit of each author, among the commits after `recordedAfter`.
  private(set) var lastCommits: [String?: Int64] = [:]
  private var recordedAfter: Int64 = 0
  /// The commit after which the next step reads authors; nil for the commit at which the step
  /// begins.
  private(set) var authorsAfter: Int64?
  /// The interruptions of the observations that are read alone, outside of steps, by observation
  /// number.
  var alone: [Int: Interruption] = [:]
  /// The reads of the observations that are read alone, by subject.
  var aloneReads: [AloneRead.Subject: AloneRead] = [:]
  /// The work that waits for the end of a read alone.
  var afterAlone: [@Sendable (isolated Service) -> Void] = []
  /// The work that waits for the end of the step that a worker performs.
  var afterStep: [@Sendable (isolated Service) -> Void] = []

  init(_ limits: Limits, _ memory: ByteBudget) {
    registry = SubscriptionRegistry(limits, memory)
  }

  /// The number of recorded authors at which clients are notified even without updates.
  static let authorsMax = 1000

  /// Returns whether the observations have the results of a position, and keep these results until
  /// the next step.
  ///
  /// The method returns false while a worker performs a step, because the step may already have
  /// chosen its observations.
  func isAt(_ position: LogPosition) -> Bool {
    self.position == position && !isStepping
  }

  /// Whether so many authors are recorded that clients are notified even without updates.
  var hasManyAuthors: Bool { lastCommits.count >= Self.authorsMax }

  /// Begins to follow commits at the position of the first subscription.
  mutating func begin(at position: LogPosition) {
    self.position = position
    (recordedAfter, authorsAfter) = (position.commit, nil)
  }

  /// Ensures that the next step records the authors of the commits after a client's position.
  ///
  /// The client's position may be before the position of the first subscription.
  mutating func needAuthors(after commit: Int64) {
    guard commit < recordedAfter else { return }
    authorsAfter = min(authorsAfter ?? commit, commit)
  }

  /// Records the authors of commits.
  ///
  /// - Parameters:
  ///   - authors: The authors, each with its last commit.
  ///   - commit: The commit after which the step has read the authors.
  mutating func add(_ authors: [(author: String?, commit: Int64)], after commit: Int64) {
    for (author, commit) in authors { lastCommits[author] = commit }
    recordedAfter = min(recordedAfter, commit)
    if let authorsAfter, authorsAfter >= commit { self.authorsAfter = nil }
  }

  /// Returns the authors of the commits after a commit, in the order of their last commits.
  func authors(after commit: Int64) -> [String?] {
    lastCommits.filter { $0.value > commit }.sorted { $0.value < $1.value }.map(\.key)
  }

  /// Forgets the authors of the commits up to a commit.
  mutating func forgetAuthors(through commit: Int64) {
    lastCommits = lastCommits.filter { $0.value > commit }
  }
}
