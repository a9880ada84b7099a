import CordialValues
import Dispatch

/// The state that only the index's own thread uses.
final class IndexThread: @unchecked Sendable {
  // `use` checks that its caller is on this queue, so that no other thread reaches the follower.
  let queue = DispatchQueue(label: "cordial.index", qos: .utility)
  private var follower: IndexFollower?

  /// Calls a body with the follower, which is nil while no file is open.
  func use<Result>(_ body: (inout IndexFollower?) throws -> Result) rethrows -> Result {
    dispatchPrecondition(condition: .onQueue(queue))
    return try body(&follower)
  }
}

/// The open file of an index, and the facts that are known about it.
struct IndexFollower: ~Copyable {
  var file: IndexFile
  let source: any DocumentSource
  /// The position that is stored in the file.
  var position: IndexPosition?
  /// The position that the index has reached through commits without documents; nil if the file
  /// stores the newest position.
  var followed: StoreToken?
  /// Whether another tokenizer or ICU version wrote the words of the file, which answers until a
  /// new index is built.
  var isOutdated = false
  /// The digest of the synonyms that the file names; nil if unknown.
  var synonyms: String?
  /// The approximate count of rows that name objects with unknown texts.
  var unknownCount: Int64 = 0

  /// The position that the index has reached.
  var token: StoreToken? { followed ?? position?.token }
}
