// XcodeModel: converts Xcode's Core Data models to Cordial's model files.
//
// Must not know: stores, services, callers.
//
// What always holds:
// 1. Each feature of a model is in the document or in the notes: nothing is dropped silently.
// 2. The same files produce the same document.

import FoundationEssentials
import Glibc
package import JSON

/// An Xcode model, converted to the document of a Cordial model file.
package struct XcodeModel: Sendable {
  /// The content of the Cordial model file.
  package let document: JSONValue
  /// The features of the model that the document cannot express, one sentence each.
  package let notes: [String]

  /// The error of a model that cannot be read.
  package struct Failure: Error, Sendable {
    /// One sentence.
    package let message: String
  }

  /// Returns whether a path has the extension of an Xcode model.
  package static func isModel(_ path: String) -> Bool {
    let name = trimmed(path)
    return name.hasSuffix(".xcdatamodel") || name.hasSuffix(".xcdatamodeld")
  }

  /// Reads a model.
  ///
  /// - Parameter path: An `.xcdatamodel`, or an `.xcdatamodeld`, whose current version is read.
  ///   `.xccurrentversion` names the current version; otherwise, it is the last version in the
  ///   natural order of names.
  /// - Throws: `Failure`.
  package init(path: String) throws(Failure) {
    let path = Self.trimmed(path)
    let version = path.hasSuffix(".xcdatamodeld") ? try Self.currentVersion(path) : path
    try self.init(version: version, of: path)
  }

  /// Reads the current version of a model and all versions before it in the natural order of names.
  ///
  /// - Parameter path: As for `init(path:)`.
  /// - Returns: The versions, the current one last.
  /// - Throws: `Failure`.
  package static func versions(path: String) throws(Failure) -> [XcodeModel] {
    let path = trimmed(path)
    guard path.hasSuffix(".xcdatamodeld") else { return [try XcodeModel(path: path)] }
    let current = try currentVersion(path)
    var models: [XcodeModel] = []
    for name in try versionNames(path) {
      models.append(try XcodeModel(version: "\(path)/\(name)", of: path))
      if "\(path)/\(name)" == current { break }
    }
    return models
  }

  private init(version: String, of path: String) throws(Failure) {
    let content = version + "/contents"
    guard let bytes = try Self.content(content) else {
      throw Failure(message: "\(content) cannot be read")
    }
    let root = try XMLTreeParser.parse(bytes, content)
    guard root.name == "model" else {
      throw Failure(message: "\(content) is not a Core Data model: it begins with <\(root.name)>")
    }
    var reader = XcodeModelReader(root)
    document = reader.read(
      name: Self.name(of: path),
      version: root["userDefinedModelVersionIdentifier"].flatMap { $0.isEmpty ? nil : $0 }
        ?? Self.name(of: version)
    )
    notes = reader.notes
  }

  private static func trimmed(_ path: String) -> String {
    path.hasSuffix("/") ? String(path.dropLast()) : path
  }

  /// The maximum length of a file of a model, in bytes.
  static let bytesMax = 64 << 20

  /// Returns the content of a file; nil if the file does not exist or cannot be read.
  ///
  /// - Throws: `Failure` for a file that is too long or not regular: the read of a named pipe would
  ///   wait for a writer.
  private static func content(_ path: String) throws(Failure) -> [UInt8]? {
    var facts = stat()
    guard unsafe stat(path, &facts) == 0 else { return nil }
    guard facts.st_mode & S_IFMT == S_IFREG else {
      throw Failure(message: "\(path) is not a regular file")
    }
    guard facts.st_size <= bytesMax else {
      throw Failure(message: "\(path) has more than \(bytesMax) bytes")
    }
    return FileManager.default.contents(atPath: path).map { Array($0) }
  }

  /// Returns the last component of a path, without its extension.
  private static func name(of path: String) -> String {
    let name = path.split(separator: "/").last.map(String.init) ?? path
    return name.split(separator: ".").first.map(String.init) ?? name
  }

  /// Returns the names of the versions in a folder, in natural order.
  private static func versionNames(_ folder: String) throws(Failure) -> [String] {
    let names: [String]
    do {
      names = try FileManager.default.contentsOfDirectory(atPath: folder)
    } catch {
      throw Failure(message: "\(folder) cannot be read")
    }
    return names.filter { $0.hasSuffix(".xcdatamodel") }
      .sorted { NaturalOrder.precedes(Self.name(of: $0), Self.name(of: $1)) }
  }

  private static func currentVersion(_ folder: String) throws(Failure) -> String {
    let versions = try versionNames(folder)
    guard let last = versions.last else {
      throw Failure(message: "There is no model in \(folder)")
    }
    guard let bytes = try content(folder + "/.xccurrentversion") else {
      return "\(folder)/\(last)"
    }
    let list = try XMLTreeParser.parse(bytes, folder + "/.xccurrentversion")
    let entries = list.children.first?.children ?? []
    for (key, value) in zip(entries, entries.dropFirst())
    where key.text == "_XCCurrentVersionName" {
      guard versions.contains(value.text) else {
        throw Failure(message: "The current version of \(folder), \(value.text), does not exist")
      }
      return "\(folder)/\(value.text)"
    }
    return "\(folder)/\(last)"
  }
}
