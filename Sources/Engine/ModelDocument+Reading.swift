package import JSON
package import ObjectModel
package import PersistentStore
import XcodeModel

extension ModelDocument {
  /// Reads a model file or an Xcode model.
  ///
  /// - Parameter path: The file, or an `.xcdatamodeld` or `.xcdatamodel` folder.
  /// - Returns: The content of the model file, or the Xcode model converted to this form.
  /// - Throws: `cannotOpen` or `modelInvalid`.
  package static func read(at path: String) throws(StoreError) -> JSONValue {
    guard XcodeModel.isModel(path) else { return try StoreContainer.readDocument(at: path) }
    do throws(XcodeModel.Failure) {
      return try XcodeModel(path: path).document
    } catch {
      throw StoreError(.modelInvalid, error.message)
    }
  }
}
