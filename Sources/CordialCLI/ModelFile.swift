import JSON
import ObjectModel
import PersistentStore
import XcodeModel

/// Model files, of ours and of Xcode's.
enum ModelFile {
  /// Reads a model; what of one of Xcode's has no equal is told on standard error.
  static func read(_ path: String) throws -> Model {
    guard XcodeModel.isModel(path) else { return try StoreContainer.readModel(at: path) }
    do {
      return try ModelDocument.model(from: try convert(path))
    } catch let error as ModelError {
      throw StoreError(error, in: path)
    }
  }

  /// A model of Xcode's as a document of ours; what has no equal is told on standard error.
  static func convert(_ path: String) throws -> JSONValue {
    do {
      let found = try XcodeModel(path: path)
      for note in found.notes { Terminal.note("Note: \(note).\n") }
      return found.document
    } catch {
      throw InputError(message: error.message)
    }
  }
}
