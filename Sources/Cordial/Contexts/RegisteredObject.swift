import CordialValues
import JSON

/// An object of a context, without the type of its value.
protocol RegisteredObject: AnyObject {
  var id: WrappedID { get }
  /// The type of the value.
  var valueType: ObjectIdentifier { get }
  /// The name of the type of the value, for errors.
  var typeName: String { get }
  /// What a request returns of the object.
  var selection: TypeSelection { get }
  /// What the next save does with the object; nil for nothing.
  var pendingChange: ContextChange? { get }

  /// Adds the pending change to a save, and remembers what it saves.
  ///
  /// - Parameters:
  ///   - request: The save.
  ///   - ids: The permanent IDs of objects that were inserted before.
  /// - Throws: `ClientError` for a value that the protocol does not have.
  func addChange(to request: inout SaveRequest, _ ids: [WrappedID: WrappedID]) throws(ClientError)

  /// Takes what the store has of the object.
  ///
  /// - Parameter object: The object of a response; null for one that does not exist.
  /// - Throws: `ValueMismatch` for an object that has no value of the type.
  func take(_ object: JSONValue) throws(ValueMismatch)

  /// Ends a save that stored what `addChange` added.
  ///
  /// - Parameters:
  ///   - ids: The permanent IDs of all inserted objects.
  ///   - versions: The versions of the stored objects.
  /// - Throws: `ClientError` for a value that cannot be decoded with its permanent ID.
  func saved(
    _ ids: [WrappedID: WrappedID],
    _ versions: [WrappedID: Int64]
  ) throws(ClientError)

  /// Discards the pending change.
  func rollback()

  /// Returns what restores the unsaved state that the object has now.
  func snapshot() -> () -> Void
}

/// What the next save does with an object.
enum ContextChange: Sendable {
  case insert, update, delete
}
