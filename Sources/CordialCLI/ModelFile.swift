import JSON
import ObjectModel
import PersistentStore
import XcodeModel

/// Model files, of ours and of Xcode's.
enum ModelFile {
  /// Reads a model; what of one of Xcode's has no equal is told on standard error.
  ///
  /// - Parameters:
  ///   - path: The file, or a folder: an Xcode model, or model files whose names are in the natural
  ///     order of their versions, of which the last is read.
  ///   - configuration: The part of it that is wanted, nil for all.
  /// - Returns: The model.
  /// - Throws: `StoreError` with every fault, `InputError`.
  static func read(_ path: String, configuration: String? = nil) throws -> Model {
    guard !XcodeModel.isModel(path) else {
      return try model(try convert(path), at: path, configuration)
    }
    guard let file = StoreContainer.modelFiles(at: path).last else {
      throw InputError(message: "There is no model in \(path)")
    }
    return try model(try StoreContainer.readDocument(at: file), at: file, configuration)
  }

  /// Reads the versions of a model before the one that `read` reads.
  ///
  /// - Parameters:
  ///   - path: As for `read`; nil for none.
  ///   - configuration: The part of them that is wanted, nil for all.
  /// - Returns: The versions, the oldest first.
  /// - Throws: `StoreError` with every fault, `InputError`.
  static func earlier(_ path: String?, configuration: String? = nil) throws -> [Model] {
    guard let path else { return [] }
    guard !XcodeModel.isModel(path) else {
      let versions: [XcodeModel]
      do throws(XcodeModel.Failure) {
        versions = try XcodeModel.versions(path: path)
      } catch {
        throw InputError(message: error.message)
      }
      return try versions.dropLast().filter { has(configuration, $0.document) }
        .map { try model($0.document, at: path, configuration) }
    }
    return try StoreContainer.modelFiles(at: path).dropLast().compactMap { file in
      let document = try StoreContainer.readDocument(at: file)
      return has(configuration, document) ? try model(document, at: file, configuration) : nil
    }
  }

  /// Whether a version has a configuration: no store was made of that part of one that has not.
  private static func has(_ configuration: String?, _ document: JSONValue) -> Bool {
    configuration.map { document["configurations"]?[$0] != nil } ?? true
  }

  private static func model(
    _ document: JSONValue,
    at path: String,
    _ configuration: String?
  ) throws -> Model {
    do throws(ModelError) {
      let whole = try ModelDocument.model(from: document)
      guard let configuration else { return whole }
      let part = try ModelDocument.document(document, ofConfiguration: configuration)
      let names = Set((part["entities"]?.array ?? []).compactMap { $0["name"]?.string })
      return try ModelDocument.model(
        from: part,
        leftOut: Set(whole.entities.map(\.name)).subtracting(names)
      )
    } catch {
      throw StoreError(error, in: path)
    }
  }

  /// A model of Xcode's as a document of ours; what has no equal is told on standard error.
  static func convert(_ path: String) throws -> JSONValue {
    do throws(XcodeModel.Failure) {
      let found = try XcodeModel(path: path)
      for note in found.notes { Terminal.note("Note: \(note).\n") }
      return found.document
    } catch {
      throw InputError(message: error.message)
    }
  }
}
