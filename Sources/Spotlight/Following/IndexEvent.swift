package import CordialValues
package import SQLite

/// What happens to the index, in the words of `IndexState`.
package enum IndexEvent {
  // MARK: From callers and timers, on any thread

  /// There may be commits to read.
  case wake
  /// A search found damage in a file.
  case foundDamage(FileIdentity?)
  /// The file that was opened is no longer at its path.
  case lostFile(FileIdentity)
  /// A caller waits for a commit.
  case wait(IndexWaiter)
  /// A caller waits no longer.
  case endWait(Int)
  case order(IndexOrder)
  /// No new index is to be built any more.
  case endBuilds
  /// No attempt is to begin any more.
  case stop
  /// The index's thread has closed the file.
  case closed
  /// The pause of an index without disk space is over, by its number.
  case spaceDue(Int)

  // MARK: From the index's thread

  /// A scheduled attempt can begin.
  case due(hasLease: Bool)
  /// The process that has the lease has written a position.
  case othersAdvanced
  /// What an attempt has found or done.
  case found(IndexFinding)
  /// An order was carried out, or has failed alone.
  case orderEnded(Int, Result<IndexStatus, any Error>)
  /// There is no room for a new index beside the old one, which goes on.
  case noRoom(any Error)
  /// An attempt has ended, after so many microseconds of processor time.
  case ended(IndexAttemptEnd, microseconds: Int64)
}

/// What an attempt finds or does in the file and the log.
package enum IndexFinding {
  // MARK: The file

  /// The file was opened, or read again.
  case opened(FileIdentity?, oldest: StoreToken?)
  /// Another tokenizer or ICU has written the file, which answers until a new index is built.
  case outdated(StoreToken, documents: Int64)
  /// The file has more parts than a search should look into, or pages to give back.
  case parts
  /// Some parts were merged.
  case merged(IndexRemainder)
  /// Whether the file says that the index is paused.
  case pause(Bool, StoreToken?, documents: Int64)
  /// The documents of the file were read again, whose position another process may have moved.
  case reloaded(StoreToken?, hasMoved: Bool)
  /// The file is damaged, or SQLite takes it for full.
  case damage(IndexState.Damage, isFull: Bool)
  /// The damaged file is no longer at the path of the index.
  case removed

  // MARK: The log

  /// The log is read after a position.
  case reads(after: StoreToken?)
  /// The old index reads the log in a pause of a build.
  case readsBesideBuild
  /// More of the log remains to be read in a later pause of a build.
  case remains
  /// A batch was applied.
  case applied(documents: Int, hasCommits: Bool)
  /// The index has reached a commit.
  case reached(StoreToken, documents: Int64, isRebuilt: Bool)
  /// Documents were removed beside the log.
  case left(documents: Int64)
  /// The index can be searched as of a commit, and of none before.
  case oldest(StoreToken?)

  // MARK: A new index

  /// A new index is built while the old one answers, which reads the log after a position.
  case builds(from: StoreToken)
  /// The new index has so many objects.
  case built(objects: Int)
  /// The new index is in the place of the old one, or is given up.
  case buildEnded
}

/// How an attempt to read the log ends.
package enum IndexAttemptEnd {
  /// At the end of the log, where the index is paused, or after the batch in which it was stopped.
  case done
  /// In a build that must not go on. The next start builds the index from the beginning.
  case stopped
  /// With an error; `isFull` where the file cannot grow.
  case failed(any Error, isFull: Bool)
}

/// What `IndexState` asks of its owner, in this order, outside the lock.
package enum IndexEffect {
  /// Have an attempt be due on the index's thread, after a pause in milliseconds.
  case schedule(after: Int)
  /// Report `spaceDue` after a pause in seconds.
  case awaitSpace(Int, seconds: Int)
  /// Read the log to its end, and report `ended`.
  case read
  /// Take over the position that the process with the lease has written.
  case readOthers
  /// Answer those who wait, whether or not the index has reached their commits.
  case answer([IndexWaiter], Bool)
  /// Answer those who have given orders.
  case complete([IndexOrder], Result<IndexStatus, any Error>)
  /// Call those who want to know of each advance.
  case report([@Sendable () -> Void])
}
