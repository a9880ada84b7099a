package import CordialValues
package import SQLite

/// An event in the life of the index, which `IndexState` handles.
package enum IndexEvent {
  // MARK: From callers and timers, on any thread

  /// The log may have commits to read.
  case wake
  /// A search found damage in a file.
  case foundDamage(FileIdentity?)
  /// The file that was opened is no longer at its path.
  case lostFile(FileIdentity)
  /// A caller waits for a commit.
  case wait(IndexWaiter)
  /// The waiter with this number cancels its wait.
  case endWait(Int)
  case order(IndexOrder)
  /// No build of a new index may begin or continue.
  case endBuilds
  /// No attempt may begin.
  case stop
  /// The index's thread has closed the file.
  case closed
  /// The wait for disk space with this number is over.
  case spaceDue(Int)

  // MARK: From the index's thread

  /// A scheduled attempt can begin.
  case due(hasLease: Bool)
  /// The process that has the lease has written a position.
  case othersAdvanced
  /// An attempt reports a finding or a completed action.
  case found(IndexFinding)
  /// An order was carried out, or failed without ending the attempt.
  case orderEnded(Int, Result<IndexStatus, any Error>)
  /// The disk has no room for a new index beside the old one, which stays in use.
  case noRoom(any Error)
  /// An attempt has ended, and has used this much processor time.
  case ended(IndexAttemptEnd, microseconds: Int64)
}

/// A finding or an action of an attempt, in the file or the log.
package enum IndexFinding {
  // MARK: The file

  /// The file was opened or reloaded.
  case opened(FileIdentity?, oldest: StoreToken?)
  /// Another tokenizer or ICU version wrote the file, which answers until a new index is built.
  case outdated(StoreToken, documents: Int64)
  /// The file has too many parts for fast searches, or unused pages to give back.
  case parts
  /// Some parts were merged.
  case merged(IndexRemainder)
  /// The attempt has read from the file whether the index is paused.
  case pause(Bool, StoreToken?, documents: Int64)
  /// The attempt has read the documents again; `hasMoved` says whether another process has moved
  /// the position of the file.
  case reloaded(StoreToken?, hasMoved: Bool)
  /// The file is damaged, or SQLite reports it as full.
  case damage(IndexState.Damage, isFull: Bool)
  /// The damaged file is no longer at the path of the index.
  case removed

  // MARK: The log

  /// The attempt reads the log after this position.
  case reads(after: StoreToken?)
  /// The old index reads the log in a pause of a build.
  case readsBesideBuild
  /// More of the log remains to be read in a later pause of a build.
  case remains
  /// A batch was applied.
  case applied(documents: Int, hasCommits: Bool)
  /// The index has reached a commit.
  case reached(StoreToken, documents: Int64, isRebuilt: Bool)
  /// An order removed documents; this many documents are left.
  case left(documents: Int64)
  /// The oldest commit as of which the index can be searched has changed.
  case oldest(StoreToken?)

  // MARK: A new index

  /// A new index is being built; meanwhile, the old index answers and needs the log after this
  /// position.
  case builds(from: StoreToken)
  /// The build has added this many objects to the new index.
  case built(objects: Int)
  /// The new index has replaced the old one, or the build was given up.
  case buildEnded
}

/// How an attempt to read the log ends.
package enum IndexAttemptEnd {
  /// The attempt reached the end of the log, found the index paused, or was stopped after a batch.
  case done
  /// The attempt was stopped during a build, which the next start repeats from the beginning.
  case stopped
  /// The attempt failed; `isFull` says whether the cause is that the file cannot grow.
  case failed(any Error, isFull: Bool)
}

/// An action of the owner of `IndexState`, which carries out the actions in order, outside the
/// lock.
package enum IndexEffect {
  /// Report `due` on the index's thread, after a pause in milliseconds.
  case schedule(after: Int)
  /// Report `spaceDue` after a pause in seconds.
  case awaitSpace(Int, seconds: Int)
  /// Read the log to its end, and report `ended`.
  case read
  /// Read the position and the documents that the process with the lease has written.
  case readOthers
  /// Complete the waits; the flag says whether the index has reached their commits.
  case answer([IndexWaiter], Bool)
  /// Complete the orders with a result.
  case complete([IndexOrder], Result<IndexStatus, any Error>)
  /// Call the closures that are registered for advances of the index.
  case report([@Sendable () -> Void])
}
