/// A value that a program shows and edits: a plain struct without any reference to a store.
///
///     struct TodoGroup: BaseValue {
///       var id: WrappedID
///       var title: String
///       var taskCount: Int
///     }
public protocol BaseValue: Equatable, Identifiable, Sendable where ID == WrappedID {
  /// The identity of the object that this value describes.
  var id: WrappedID { get }
}
