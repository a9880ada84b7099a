import CordialValues
import JSON

/// An object of a context, without the type of its value.
protocol RegisteredObject: AnyObject {
  var id: WrappedID { get }
  /// The type of the value.
  var valueType: ObjectIdentifier { get }
  /// The name of the type of the value, for errors.
  var typeName: String { get }
  /// The properties that a request returns for the object.
  var selection: TypeSelection { get }
  /// The change that the next save stores for the object; nil for none.
  var pendingChange: ContextChange? { get }

  /// Adds the pending change to a save, and records the value that the save stores.
  ///
  /// - Parameters:
  ///   - request: The save.
  ///   - ids: The permanent IDs of the objects that earlier saves have inserted, by temporary ID.
  /// - Throws: `ClientError` for a value that the protocol cannot represent.
  func addChange(to request: inout SaveRequest, _ ids: [WrappedID: WrappedID]) throws(ClientError)

  /// Updates the object to its state in the store.
  ///
  /// - Parameter object: The object in a response; null if the object does not exist.
  /// - Throws: `ValueMismatch` for an object that cannot be decoded as the type.
  func take(_ object: JSONValue) throws(ValueMismatch)

  /// Records that the store has saved the change that `addChange` added.
  ///
  /// - Parameters:
  ///   - ids: The permanent IDs of the objects that the save has inserted, by temporary ID.
  ///   - versions: The versions of the objects that the save has inserted or updated, by ID.
  /// - Throws: `ClientError` for a value that cannot be decoded with its permanent ID.
  func saved(
    _ ids: [WrappedID: WrappedID],
    _ versions: [WrappedID: Int64]
  ) throws(ClientError)

  /// Discards the pending change.
  func rollback()

  /// Returns a closure that restores the present unsaved state of the object.
  func snapshot() -> () -> Void
}

/// The change that the next save makes to an object.
enum ContextChange: Sendable {
  case insert, update, delete
}
