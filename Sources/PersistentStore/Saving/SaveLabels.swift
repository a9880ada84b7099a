package import CordialValues

/// The names of a save's objects in problems: the IDs that the client sent.
///
/// Most saves have no problem, so the names are collected when the first name is needed.
package final class SaveLabels {
  private let make: () -> [ObjectKey: String]
  private lazy var labels = make()

  /// Creates labels from a function that is called when the first label is needed.
  package init(_ make: @escaping () -> [ObjectKey: String] = { [:] }) {
    self.make = make
  }

  /// The ID that the client sent for an object; nil if the client sent none.
  package subscript(key: ObjectKey) -> String? { labels[key] }
}
