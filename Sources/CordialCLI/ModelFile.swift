import CordialProtocol
import JSON
import ObjectModel
import PersistentStore
import XcodeModel

/// The model files of Cordial and of Xcode.
enum ModelFile {
  /// Reads a model.
  ///
  /// Prints the parts of an Xcode model that have no equivalent in Cordial to standard error.
  ///
  /// - Parameters:
  ///   - path: A model file, an Xcode model, or a folder of model files. From a folder, the
  ///     function reads the last file in the natural order of the names.
  ///   - configuration: The configuration to read, nil for the whole model.
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

  /// Reads the versions of a model before the version that `read` returns.
  ///
  /// - Parameters:
  ///   - path: The path as for `read`; nil for no versions.
  ///   - configuration: The configuration to read, nil for the whole model.
  /// - Returns: The versions, oldest first.
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

  /// Returns whether a version has a configuration.
  ///
  /// A version without the configuration is skipped, because the configuration's store never had
  /// this version.
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
      let names = Set((part[.entities]?.array ?? []).compactMap { $0[.name]?.string })
      return try ModelDocument.model(
        from: part,
        excludedEntities: Set(whole.entities.map(\.name)).subtracting(names)
      )
    } catch {
      throw StoreError(error, in: path)
    }
  }

  /// Converts an Xcode model.
  ///
  /// Prints the parts that have no equivalent in Cordial to standard error.
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
