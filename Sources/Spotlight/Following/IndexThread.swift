import CordialValues
import Dispatch

/// What only the index's own thread uses.
final class IndexThread: @unchecked Sendable {
  // Each use of the follower checks that it is on the queue.
  let queue = DispatchQueue(label: "cordial.index", qos: .utility)
  private var follower: IndexFollower?

  /// Calls a body with the follower, which is nil while no file is open.
  func use<Result>(_ body: (inout IndexFollower?) throws -> Result) rethrows -> Result {
    dispatchPrecondition(condition: .onQueue(queue))
    return try body(&follower)
  }
}

/// The open file of an index, and what is known of it.
struct IndexFollower: ~Copyable {
  var file: IndexFile
  let source: any DocumentSource
  /// The position of the file.
  var position: IndexPosition?
  /// The position that the index has reached without another document; nil where it is that of
  /// the file.
  var followed: StoreToken?
  /// Whether another tokenizer or ICU has written the words of the file, which answers until a
  /// new index is built.
  var isOutdated = false
  /// The number of rows that name objects with unknown texts, about.
  var unknownCount: Int64 = 0

  /// The position that the index has reached.
  var token: StoreToken? { followed ?? position?.token }
}
