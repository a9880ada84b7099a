import CordialValues
import PersistentHistory

/// The state of the observations of all connections, which move from one position to the next
/// together.
struct ObservationEngine {
  let registry = SubscriptionRegistry()
  /// The position of the observations' results; nil without observations.
  var position: LogPosition?
  /// The newest commit that has to be examined.
  var wanted: Int64 = 0
  /// Whether a worker performs a step.
  var isStepping = false
  /// The connections that have missed updates, or have parts or ends to send.
  var waiting: Set<Int> = []
  /// The last commit of each author, with the number of its mention in the order of all.
  private var lastCommits: [String?: (commit: Int64, mention: Int)] = [:]
  private var mentions = 0
  /// The work that waits for the end of the step that a worker performs.
  var afterStep: [@Sendable (isolated Service) -> Void] = []

  /// The number of authors at which clients are notified without updates.
  static let authorsMax = 1000

  /// Whether so many authors are known that clients are notified of them without updates.
  var hasManyAuthors: Bool { lastCommits.count >= Self.authorsMax }

  /// Records the authors of the commits of a step.
  mutating func add(_ authors: [String?], through commit: Int64) {
    for author in authors {
      mentions += 1
      lastCommits[author] = (commit, mentions)
    }
  }

  /// Returns the authors of the commits after a commit, in the order of their last commits.
  func authors(after commit: Int64) -> [String?] {
    lastCommits.filter { $0.value.commit > commit }
      .sorted { $0.value.mention < $1.value.mention }.map(\.key)
  }

  /// Forgets the authors of the commits up to a commit.
  mutating func forgetAuthors(through commit: Int64) {
    lastCommits = lastCommits.filter { $0.value.commit > commit }
  }
}
