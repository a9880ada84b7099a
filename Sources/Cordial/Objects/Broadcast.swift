import Synchronization

/// A sender of elements to any number of readers.
///
/// A reader that is slower than the elements gets the newest element only.
final class Broadcast<Element: Sendable>: Sendable {
  private struct Readers {
    var continuations: [Int: AsyncStream<Element>.Continuation] = [:]
    var nextNumber = 0
    var isFinished = false
  }

  private let readers = Mutex(Readers())

  deinit {
    finish()
  }

  /// Returns a sequence of every later element.
  ///
  /// - Parameter first: The element at the beginning of the sequence; nil for none.
  /// - Returns: The sequence.
  func stream(beginningWith first: Element? = nil) -> AsyncStream<Element> {
    AsyncStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
      if let first { continuation.yield(first) }
      let number = readers.withLock { readers -> Int? in
        guard !readers.isFinished else { return nil }
        defer { readers.nextNumber += 1 }
        readers.continuations[readers.nextNumber] = continuation
        return readers.nextNumber
      }
      guard let number else { return continuation.finish() }
      continuation.onTermination = { [weak self] _ in
        self?.readers.withLock { readers in
          _ = readers.continuations.removeValue(forKey: number)
        }
      }
    }
  }

  func send(_ element: Element) {
    readers.withLock { readers in
      for continuation in readers.continuations.values { continuation.yield(element) }
    }
  }

  /// Ends all sequences; a sequence that begins later ends after its first element.
  func finish() {
    // The sequences end outside the lock, because their termination handlers take the lock.
    let ended = readers.withLock { readers in
      readers.isFinished = true
      defer { readers.continuations = [:] }
      return readers.continuations
    }
    for continuation in ended.values { continuation.finish() }
  }
}
