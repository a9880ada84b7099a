import PersistentHistory
import PersistentStore

extension Service {
  /// Looks for commits of other processes, and has sealed what foreign clients wrote.
  ///
  /// Called on any thread, from time to time.
  package nonisolated func lookForCommits() {
    snapshot { snapshot in
      snapshot.head.number
    } completion: { outcome in
      // What cannot be read now is met by the next request, which answers why.
      guard case .success(let number) = outcome else { return }
      self.onLoop { service in service.committed(number) }
    }
  }
}
