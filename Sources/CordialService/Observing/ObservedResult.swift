import CordialValues
import JSON
import ObjectModel
import PersistentHistory
import PersistentStore
import Subscriptions

/// The result of an observed request at one position, as far as updates need it.
///
/// It is a value. A connection that lags keeps the result that its client has, and shares its
/// storage with the current result until the result changes.
struct ObservedResult: Sendable {
  /// The object that an observed ID names.
  struct NamedObject: Sendable, Equatable {
    /// The object's key; nil for an identity value that no object has.
    var key: ObjectKey?
    /// Whether the object exists.
    var exists: Bool
  }

  /// By IDs: the objects, in the order of the IDs.
  var named: [NamedObject] = []
  /// By fetch: the numbers of the objects, in order.
  var objects: ObjectSequence = []
  /// The rows around the window; nil for a fetch without a window.
  var window: WindowRows?
  /// The commit at which `objects` was read; equal commits mean equal objects.
  var revision: Int64 = -1
  /// The digests of the rows of `named` or `objects`; empty unless rows have values of other
  /// objects.
  var digests: [UInt64] = []
  /// The number of objects, with the result `count`.
  var count: Int64 = 0
  /// The number of objects without the window.
  var total: Int64?
  /// The sections of the whole result; nil for a fetch without sections.
  var sections: [FetchSection]?
  /// The digest of the rows of values.
  var rows: UInt64?
  /// The number of the rows of values.
  var rowCount = 0
  /// The hits of a search.
  var search: ObservedSearch?
  /// The digests of the included objects.
  var included: [ObjectKey: UInt64] = [:]

  /// Creates a result without elements.
  init() {}

  /// Creates a result without elements that is read at a snapshot.
  init(at snapshot: StoreSnapshot) {
    revision = snapshot.head.number
  }

  /// The number of rows of the whole result.
  var elementCount: Int { named.count + objects.count + rowCount + (search?.hits.count ?? 0) }
}

extension UInt64 {
  /// Creates the digest of bytes: the first eight bytes of their SHA-256 digest.
  ///
  /// Of 2^32 changes of rows, on average one would not be noticed.
  init(digestOf bytes: some Collection<UInt8>) {
    self = ContentDigest(bytes).prefix
  }
}
