package import CordialValues
import Interruptions
import Synchronization

/// The progress of the index.
package struct IndexStatus: Sendable {
  /// The state of the index: `ready` for the commit of `token`, which may not be the newest one;
  /// `catchingUp` before the first commit is known; `rebuilding` while a new index is built beside
  /// one that answers, then `ready`; `paused` while the index follows no commit; `failed` until the
  /// next attempt.
  package enum State: String, Sendable {
    case ready, catchingUp, rebuilding, paused, failed
  }

  package var token: StoreToken?
  package var documents: Int64
  package var state: State
  /// The error with which the index failed, or nil if it did not fail.
  package var failure: (any Error)?
  /// Why the index is paused; nil where a client has asked for it.
  package var reason: PauseReason?

  /// A reason for a pause that no client has asked for.
  package enum PauseReason: String, Sendable {
    /// The index's file cannot grow.
    case diskFull
  }
}

/// What the index does at the moment, and what it has needed.
package struct IndexActivity: Sendable {
  /// A part of what the index does.
  package enum Step: Sendable, Equatable {
    /// It reads the commits after one.
    case reading(after: Int64)
    /// It builds a new index, and has read so many objects.
    case building(objects: Int)
  }

  /// The present step; nil while the index waits for a commit.
  package var step: Step?
  /// The processor time of the index's thread, in microseconds.
  package var processorMicroseconds: Int64 = 0
  /// The oldest commit as of which the index can be searched; nil before the first one.
  package var oldest: StoreToken?
}

/// What a client asks of the index, until it is done.
package struct IndexOrder: Sendable {
  /// What to do.
  package enum Kind: Sendable, Equatable {
    /// Follow no commit until `resume`, also after a restart.
    case pause
    /// Follow the commits again.
    case resume
    /// Build a new index, while the old one answers.
    case rebuild
    /// Write the position that the index has reached without another document.
    case write
    /// Leave all objects of some domains out, also later ones, until `restoreDomains`.
    case deleteDomains([String])
    /// Index the objects of some domains again.
    case restoreDomains([String])

    /// Whether a new index is built.
    var buildsIndex: Bool {
      switch self {
      case .rebuild, .restoreDomains: true
      case .pause, .resume, .write, .deleteDomains: false
      }
    }
  }

  let kind: Kind
  /// Called on the index's thread with the number of objects that a rebuild has read.
  var progress: (@Sendable (Int) -> Void)?
  /// What ends the order; nil for nothing.
  var interruption: Interruption?
  let completion: @Sendable (Result<IndexStatus, any Error>) -> Void
}

/// A caller that waits until the index has reached a commit.
struct IndexWaiter: Sendable {
  let number: Int64
  /// The number of attempts begun at registration; the failure of those does not end the wait.
  let attempts: Int
  let completion: @Sendable (Bool) -> Void
}

/// The end of a rebuild that `endBuilds()` or `stop()` interrupted.
struct IndexStopped: Error {}

/// The error of an index that another process has changed since this process read its position.
struct IndexMoved: Error {}

extension SearchIndex {
  /// The part of all documents that are those of former texts and of deleted objects, from 0 to 1.
  package var deadFraction: Double {
    let dead = Double(documents.deadCount)
    let all = dead + Double(documents.aliveCount)
    return all > 0 ? dead / all : 0
  }

  /// Returns why the index has not reached the commit that a client waits for.
  ///
  /// - Parameter commit: The commit, as part of a sentence.
  /// - Returns: The error with which the index failed, that of a service that is stopping, or a
  ///   timeout.
  package func lateness(_ commit: String) -> any Error {
    let (status, endsBuilds) = shared.withLock { ($0.status, $0.endsBuilds) }
    guard status.state != .paused else {
      return SpotlightError(
        .busy,
        "The index is paused before \(commit)",
        advice: status.reason == .diskFull ? .freeSpace : .resume
      )
    }
    if let failure = status.failure { return failure }
    guard !endsBuilds else { return SpotlightError.stopping }
    return SpotlightError(.busy, "The index did not reach \(commit) in time")
  }
}
