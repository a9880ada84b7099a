import PersistentHistory
import PersistentStore
import Spotlight

extension Service {
  /// Looks for commits of other processes, and seals the changes of external SQLite clients.
  ///
  /// Any thread may call this method.
  package nonisolated func lookForCommits() {
    snapshot { [index] snapshot in
      (snapshot.head.number, index.synonyms.loadedDigest)
    } completion: { outcome in
      // The next request hits the same error and reports it.
      guard case .success(let (number, synonyms)) = outcome else { return }
      self.onLoop { service in
        service.committed(number)
        service.lookForSynonyms(synonyms)
      }
    }
  }
}
