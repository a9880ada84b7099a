import JSON
import ObjectModel
import PersistentStore
import XcodeModel

/// Model files, of ours and of Xcode's.
enum ModelFile {
  /// Reads a model; what of one of Xcode's has no equal is told on standard error.
  ///
  /// - Parameters:
  ///   - path: The file, or the folder of an Xcode model or of several versions.
  ///   - configuration: The part of it that is wanted, nil for all.
  /// - Returns: The model; of several versions the last.
  /// - Throws: `StoreError` with every fault, `InputError`.
  static func read(_ path: String, configuration: String? = nil) throws -> Model {
    try versions(path, configuration: configuration).current
  }

  /// Reads a model with the versions before it.
  ///
  /// - Parameters:
  ///   - path: The file, or a folder: an Xcode model, or model files whose names are in the natural
  ///     order of their versions.
  ///   - configuration: The part of it that is wanted, nil for all.
  /// - Returns: The current version, and the earlier ones, the oldest first.
  /// - Throws: `StoreError` with every fault, `InputError`.
  static func versions(
    _ path: String,
    configuration: String? = nil
  ) throws -> (earlier: [Model], current: Model) {
    var models: [Model] = []
    for (name, document) in try documents(path) {
      do throws(ModelError) {
        let whole = try ModelDocument.model(from: document)
        guard let configuration else {
          models.append(whole)
          continue
        }
        let part = try ModelDocument.document(document, ofConfiguration: configuration)
        models.append(try ModelDocument.model(from: part))
      } catch {
        throw StoreError(error, in: name)
      }
    }
    guard let current = models.popLast() else {
      throw InputError(message: "There is no model in \(path)")
    }
    return (models, current)
  }

  private static func documents(_ path: String) throws -> [(name: String, document: JSONValue)] {
    if XcodeModel.isModel(path) { return try convertAll(path).map { (path, $0) } }
    return try StoreContainer.modelFiles(at: path).map {
      ($0, try StoreContainer.readDocument(at: $0))
    }
  }

  /// A model of Xcode's as a document of ours; what has no equal is told on standard error.
  static func convert(_ path: String) throws -> JSONValue {
    do {
      let found = try XcodeModel(path: path)
      note(found)
      return found.document
    } catch {
      throw InputError(message: error.message)
    }
  }

  /// Every version of a model of Xcode's, up to the current one.
  private static func convertAll(_ path: String) throws -> [JSONValue] {
    do {
      let found = try XcodeModel.versions(path: path)
      if let current = found.last { note(current) }
      return found.map(\.document)
    } catch {
      throw InputError(message: error.message)
    }
  }

  private static func note(_ model: XcodeModel) {
    for note in model.notes { Terminal.note("Note: \(note).\n") }
  }
}
