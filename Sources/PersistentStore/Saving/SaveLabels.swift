package import CordialValues

/// What problems call the objects of a save: the IDs that the client sent.
///
/// Most saves have no problem, so that the names are put together when the first one asks.
package final class SaveLabels {
  private let make: () -> [ObjectKey: String]
  private lazy var labels = make()

  /// Creates labels from a function that is called at the first question.
  package init(_ make: @escaping () -> [ObjectKey: String] = { [:] }) {
    self.make = make
  }

  /// The ID that the client sent for an object; nil where it sent none.
  package subscript(key: ObjectKey) -> String? { labels[key] }
}
