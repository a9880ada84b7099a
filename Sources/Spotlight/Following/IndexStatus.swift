package import CordialValues
package import Interruptions
import Synchronization

/// The progress of the index.
package struct IndexStatus: Sendable {
  /// The state of the index.
  ///
  /// - `ready`: The index has the commit of `token`, which may not be the newest commit.
  /// - `catchingUp`: The index has reached no commit since it was opened, failed or was paused.
  /// - `rebuilding`: A new index is built beside the old one, which answers.
  /// - `paused`: The index follows no commits.
  /// - `failed`: The last attempt failed, and the next has not begun.
  package enum State: String, Sendable {
    case ready, catchingUp, rebuilding, paused, failed
  }

  package var token: StoreToken?
  package var documents: Int64
  package var state: State
  /// The error with which the index failed, or nil if it did not fail.
  package var failure: (any Error)?
  /// The reason of a pause that no client has requested; nil for a pause by a client.
  package var reason: PauseReason?

  /// A reason for a pause that no client has requested.
  package enum PauseReason: String, Sendable {
    /// The index's file cannot grow.
    case diskFull
  }
}

/// The present step of the index, and the processor time that the index has used.
package struct IndexActivity: Sendable {
  /// A step of the work of the index.
  package enum Step: Sendable, Equatable {
    /// The index reads the commits after this commit.
    case reading(after: Int64)
    /// The index builds a new index, and has read this many objects.
    case building(objects: Int)
  }

  /// The present step; nil while the index waits for a commit.
  package var step: Step?
  /// The processor time of the index's thread, in microseconds.
  package var processorMicroseconds: Int64 = 0
  /// The oldest commit as of which the index can be searched; nil before the first commit.
  package var oldest: StoreToken?
}

/// An order of a client to the index, until the order is completed.
package struct IndexOrder: Sendable {
  /// The action that an order requests.
  package enum Kind: Sendable, Equatable {
    /// Follow no commit until `resume`, also after a restart.
    case pause
    /// Follow the commits again.
    case resume
    /// Build a new index, while the old one answers.
    case rebuild
    /// Write the position that the index has reached through commits without documents.
    case write
    /// Leave out all objects of some domains, including later objects, until `restoreDomains`.
    case deleteDomains([String])
    /// Index the objects of some domains again.
    case restoreDomains([String])

    /// Whether the order builds a new index.
    package var buildsIndex: Bool {
      switch self {
      case .rebuild, .restoreDomains: true
      case .pause, .resume, .write, .deleteDomains: false
      }
    }
  }

  package let number: Int
  package let kind: Kind
  /// Called on the index's thread with the count of objects that a rebuild has read.
  var progress: (@Sendable (Int) -> Void)?
  /// The flag that can end the order early; nil for none.
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
  /// The count of attempts that began before the wait; their failure does not end the wait.
  var attempts = 0
  package let completion: @Sendable (Bool) -> Void

  package init(number: Int, commit: Int64, completion: @escaping @Sendable (Bool) -> Void) {
    (self.number, self.commit, self.completion) = (number, commit, completion)
  }
}
