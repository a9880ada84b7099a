package import CordialValues
package import Interruptions
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
    package var buildsIndex: Bool {
      switch self {
      case .rebuild, .restoreDomains: true
      case .pause, .resume, .write, .deleteDomains: false
      }
    }
  }

  package let number: Int
  package let kind: Kind
  /// Called on the index's thread with the number of objects that a rebuild has read.
  var progress: (@Sendable (Int) -> Void)?
  /// What ends the order; nil for nothing.
  var interruption: Interruption?
  package let completion: @Sendable (Result<IndexStatus, any Error>) -> Void

  package init(
    number: Int,
    kind: Kind,
    progress: (@Sendable (Int) -> Void)? = nil,
    interruption: Interruption? = nil,
    completion: @escaping @Sendable (Result<IndexStatus, any Error>) -> Void
  ) {
    (self.number, self.kind, self.progress) = (number, kind, progress)
    (self.interruption, self.completion) = (interruption, completion)
  }
}

/// A caller that waits until the index has reached a commit.
package struct IndexWaiter: Sendable {
  package let number: Int
  /// The number of the commit.
  package let commit: Int64
  /// The number of attempts that had begun before; the failure of those does not end the wait.
  var attempts = 0
  package let completion: @Sendable (Bool) -> Void

  package init(number: Int, commit: Int64, completion: @escaping @Sendable (Bool) -> Void) {
    (self.number, self.commit, self.completion) = (number, commit, completion)
  }
}
