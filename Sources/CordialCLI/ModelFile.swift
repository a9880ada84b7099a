import JSON
import ObjectModel
import PersistentStore
import XcodeModel

/// Model files, of ours and of Xcode's.
enum ModelFile {
  /// Reads a model; what of one of Xcode's has no equal is told on standard error.
  static func read(_ path: String) throws -> Model {
    guard XcodeModel.isModel(path) else { return try StoreContainer.readModel(at: path) }
    let found = try convert(path)
    for note in found.notes { Terminal.note("Note: \(note).\n") }
    do {
      return try ModelDocument.model(from: found.document)
    } catch {
      throw StoreError(error, in: path)
    }
  }

  /// A model of Xcode's as a document of ours.
  static func convert(_ path: String) throws -> XcodeModel {
    do {
      return try XcodeModel(path: path)
    } catch {
      throw InputError(message: error.message)
    }
  }
}
