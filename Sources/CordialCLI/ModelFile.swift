import JSON
import ObjectModel
import PersistentStore
import XcodeModel

/// Model files, of ours and of Xcode's.
enum ModelFile {
  /// Reads a model; what of one of Xcode's has no equal is told on standard error.
  ///
  /// - Parameters:
  ///   - path: The file, or the folder of an Xcode model.
  ///   - configuration: The part of it that is wanted, nil for all.
  /// - Returns: The model.
  /// - Throws: `StoreError` with every fault, `InputError`.
  static func read(_ path: String, configuration: String? = nil) throws -> Model {
    let document =
      XcodeModel.isModel(path) ? try convert(path) : try StoreContainer.readDocument(at: path)
    do throws(ModelError) {
      let whole = try ModelDocument.model(from: document)
      guard let configuration else { return whole }
      return try ModelDocument.model(
        from: ModelDocument.document(document, ofConfiguration: configuration)
      )
    } catch {
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
