/// A value that a program shows and edits: a plain struct, which knows nothing of a store.
///
///     struct TodoGroup: BaseValue {
///       var id: WrappedID
///       var title: String
///       var taskCount: Int
///     }
public protocol BaseValue: Equatable, Identifiable, Sendable where ID == WrappedID {
  /// The identity of the object whose value this is.
  var id: WrappedID { get }
}
