import CordialValues
import Interruptions
import JSONRPC
import PersistentHistory

/// The state of the observations of all connections, which move from one position to the next
/// together.
struct ObservationEngine {
  let registry: SubscriptionRegistry
  /// The position of the observations' results; nil without observations.
  var position: LogPosition?
  /// The newest commit that has to be examined.
  var wanted: Int64 = 0
  /// Whether a worker performs a step.
  var isStepping = false
  /// Whether the observed searches are run again at the moment, and whether they have to be run
  /// once more.
  var isSearching = false
  var searchesAgain = false
  /// The pause after the last run that failed, in milliseconds; 0 after one that did not.
  var searchPause = 0
  /// The work that waits for the end of a run of the searches that has not begun.
  var afterSearches: [@Sendable (isolated Service) -> Void] = []
  /// Whether a timer will forget the results of observations that have ended.
  var forgetsRecent = false
  /// The connections whose clients are behind, or have parts or ends to receive.
  var withNews: Set<Int> = []
  /// The last commit of each author.
  private var lastCommits: [String?: Int64] = [:]
  /// What stops the observations that are read alone, by number.
  var alone: [Int: Interruption] = [:]
  /// The reads of these.
  var aloneReads: [AloneRead.Subject: AloneRead] = [:]
  /// The work that waits for the end of an observation that is read alone.
  var afterAlone: [@Sendable (isolated Service) -> Void] = []
  /// The work that waits for the end of the step that a worker performs.
  var afterStep: [@Sendable (isolated Service) -> Void] = []

  init(_ limits: Limits, _ memory: ByteBudget) {
    registry = SubscriptionRegistry(limits, memory)
  }

  /// The number of authors at which clients are notified without updates.
  static let authorsMax = 1000

  /// Returns whether the observations have the results of a position, and keep them until the next
  /// step.
  ///
  /// A step that a worker performs may have chosen its observations already.
  func isAt(_ position: LogPosition) -> Bool {
    self.position == position && !isStepping
  }

  /// Whether so many authors are known that clients are notified of them without updates.
  var hasManyAuthors: Bool { lastCommits.count >= Self.authorsMax }

  /// Records the authors of the commits of a step.
  mutating func add(_ authors: [(author: String?, commit: Int64)]) {
    for (author, commit) in authors { lastCommits[author] = commit }
  }

  /// Returns the authors of the commits after a commit, in the order of their last commits.
  ///
  /// - Parameters:
  ///   - commit: The number of the commit.
  ///   - later: The authors of commits that were not recorded, each with its last one.
  /// - Returns: The authors.
  func authors(
    after commit: Int64,
    and later: [(author: String?, commit: Int64)] = []
  ) -> [String?] {
    var last = lastCommits
    for (author, commit) in later { last[author] = max(commit, last[author] ?? 0) }
    return last.filter { $0.value > commit }.sorted { $0.value < $1.value }.map(\.key)
  }

  /// Forgets the authors of the commits up to a commit.
  mutating func forgetAuthors(through commit: Int64) {
    lastCommits = lastCommits.filter { $0.value > commit }
  }
}
