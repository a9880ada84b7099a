import CordialProtocol
public import CordialValues
import JSON

/// A commit in the history of a store.
public struct StoreCommit: Sendable, Equatable {
  /// The change of one object by a commit.
  public struct Change: Sendable, Equatable {
    /// The kind of a change.
    public enum Kind: String, Sendable {
      /// The object is new.
      case insert
      /// Properties of the object have changed.
      case update
      /// The object was deleted.
      case delete
    }

    /// The ID of the object.
    public let id: WrappedID
    /// The kind of the change.
    public let kind: Kind
    /// The names of the properties that an update has written.
    public let properties: [String]
    /// The values before the change, by property, as far as the history retains them.
    public let before: [String: WireValue]
  }

  /// The position after the commit.
  public let token: String
  /// The time of the commit: RFC 3339 in UTC, with milliseconds.
  public let time: String
  /// The author; nil for a commit without an author.
  public let author: String?
  /// The context that the writer named; nil for none.
  public let context: String?
  /// The changes, one for each object; empty if there are too many for a response.
  public let changes: [Change]
  /// The number of changes that the response omits, because there are too many.
  public let omittedCount: Int

  init(_ transaction: HistoryCall.Transaction) throws(ClientError) {
    (token, time) = (transaction.token, transaction.time)
    (author, context) = (transaction.author, transaction.context)
    omittedCount = Int(transaction.leftOut ?? 0)
    var changes: [Change] = []
    for change in transaction.changes {
      guard let id = WrappedID(change.id), let kind = Change.Kind(rawValue: change.kind) else {
        throw ClientError(code: .internalError, message: "\(token) has a change without an object")
      }
      var before: [String: WireValue] = [:]
      for member in change.before {
        // A structure, such as the change of a to-many, becomes its JSON text.
        before[member.name] = WireValue(member.value) ?? .string(member.value.text)
      }
      changes.append(
        Change(id: id, kind: kind, properties: change.properties, before: before)
      )
    }
    self.changes = changes
  }
}
