import FoundationEssentials
import Glibc
package import JSON
package import ObjectModel

/// The folder of a store: `store.sqlite`, `index.sqlite`, `model.json`, the daemon's lock.
package struct StoreContainer: Sendable {
  /// How a store is opened.
  package enum Mode: Sendable, Equatable {
    case readWrite
    case readOnly
    /// A private folder in memory, removed when the process ends.
    case inMemory
  }

  /// The absolute path of the folder.
  package let path: String

  package init(path: String) {
    self.path = path
  }

  package var storePath: String { path + "/store.sqlite" }
  package var indexPath: String { path + "/index.sqlite" }
  package var modelPath: String { path + "/model.json" }
  package var lockPath: String { path + "/lock" }

  /// Whether there is a store in the folder.
  package var hasStore: Bool { FileManager.default.fileExists(atPath: storePath) }

  /// Makes the folder, readable by its owner only, when it is not there.
  ///
  /// - Throws: `cannotOpen` when the path is a file, or not a store and not empty.
  package func prepare() throws(StoreError) {
    var isDirectory = false
    if FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory) {
      guard isDirectory else {
        throw StoreError(
          .cannotOpen,
          "\(path) is a file; a Cordial store is a folder",
          hint: "Name the folder, or another path to make a store there"
        )
      }
      for file in [storePath, modelPath] where Self.isFolder(file) {
        throw StoreError(
          .cannotOpen,
          "\(file) is a folder, where a file of the store belongs",
          hint: "Move it away"
        )
      }
      guard hasStore || isEmpty else {
        throw StoreError(
          .cannotOpen,
          "\(path) is a folder with other things in it, and no Cordial store",
          hint: "Name an empty or new folder"
        )
      }
      return
    }
    guard unsafe mkdir(path, 0o700) == 0 else {
      throw StoreError(.cannotOpen, "\(path) cannot be made: \(Self.reason())")
    }
  }

  private static func isFolder(_ path: String) -> Bool {
    var isDirectory = false
    return FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory) && isDirectory
  }

  /// Why the folder cannot be used, where that is not for want of a store; nil when it can.
  var obstacle: StoreError? {
    var facts = stat()
    if unsafe stat(path, &facts) != 0 {
      guard errno != ENOENT else { return nil }
      return StoreError(.cannotOpen, "\(path) cannot be opened: \(Self.reason())")
    }
    guard facts.st_mode & S_IFMT == S_IFDIR else {
      return StoreError(
        .cannotOpen,
        "\(path) is a file; a Cordial store is a folder",
        hint: "Name the folder, or another path to make a store there"
      )
    }
    if unsafe access(path, R_OK | X_OK) != 0 {
      return StoreError(.cannotOpen, "\(path) cannot be entered: \(Self.reason())")
    }
    return nil
  }

  private var isEmpty: Bool {
    do {
      // A file that begins with a dot, as a file manager leaves it, is not in the way.
      return try FileManager.default.contentsOfDirectory(atPath: path).allSatisfy {
        $0.hasPrefix(".") || $0 == "lock"
      }
    } catch {
      return false
    }
  }

  /// Whether its store is made, and not only begun, as by a process that was stopped meanwhile.
  ///
  /// - Returns: Whether its file has tables.
  /// - Throws: `StoreError` when the file is there and cannot be read.
  package func isMade() throws(StoreError) -> Bool {
    do {
      return try StoreMaker.hasTables(storePath)
    } catch {
      throw StoreError(any: error)
    }
  }

  /// Whether files can be made in the folder.
  package var isWritable: Bool { unsafe access(path, W_OK) == 0 }

  /// The files of a model's versions.
  ///
  /// - Parameter path: A model file, or a folder of such files.
  /// - Returns: The file itself, or those of the folder whose names end in `.json`, in the natural
  ///   order of their names.
  package static func modelFiles(at path: String) -> [String] {
    let names: [String]
    do {
      names = try FileManager.default.contentsOfDirectory(atPath: path)
    } catch {
      // It is no folder; what it is, reading it tells.
      return [path]
    }
    return names.filter { $0.hasSuffix(".json") }.map { String($0.dropLast(5)) }
      .sorted { Folding.collate($0, $1) < 0 }.map { "\(path)/\($0).json" }
  }

  /// Reads a model file.
  ///
  /// - Parameter path: The file.
  /// - Returns: Its content.
  /// - Throws: `cannotOpen` when it cannot be read, `modelInvalid` when it is no JSON.
  package static func readDocument(at path: String) throws(StoreError) -> JSONValue {
    guard let data = FileManager.default.contents(atPath: path) else {
      throw StoreError(.cannotOpen, "The model file \(path) cannot be read")
    }
    do {
      return try JSONParser.parse(Array(data).span)
    } catch {
      let problem = ModelProblem(path: "", message: error.message)
      throw StoreError(ModelError(problems: [problem]), in: path)
    }
  }

  /// Writes the copy of the model that stands beside the store.
  func writeModelCopy(_ model: Model) throws(StoreError) {
    let text = model.document.prettyText + "\n"
    if let data = FileManager.default.contents(atPath: modelPath), Array(data) == Array(text.utf8) {
      return
    }
    do {
      try text.write(toFile: modelPath, atomically: true, encoding: .utf8)
    } catch {
      throw StoreError(
        .cannotOpen,
        "\(modelPath) cannot be written",
        hint: "The folder must be yours, with room on its disk"
      )
    }
  }

  private static func reason() -> String {
    unsafe String(cString: strerror(errno))
  }

  // MARK: Stores in memory

  private static let memoryFolder = "/dev/shm"
  private static let memoryPrefix = "cordial-memory-"

  /// A private folder in memory, named by this process; leftovers of dead ones are swept.
  ///
  /// - Parameter number: Tells apart several in one process.
  /// - Returns: The container, made and empty.
  /// - Throws: `cannotOpen`.
  package static func inMemory(number: UInt32) throws(StoreError) -> StoreContainer {
    sweep()
    let container = StoreContainer(
      path: "\(memoryFolder)/\(memoryPrefix)\(getuid())-\(getpid())-\(number)"
    )
    try container.prepare()
    return container
  }

  private static func sweep() {
    let prefix = "\(memoryPrefix)\(getuid())-"
    let names: [String]
    do {
      names = try FileManager.default.contentsOfDirectory(atPath: memoryFolder)
    } catch {
      return
    }
    for name in names where name.hasPrefix(prefix) {
      guard
        let process = name.dropFirst(prefix.count).split(separator: "-").first.flatMap({
          Int32($0)
        }), kill(process, 0) != 0, errno == ESRCH
      else { continue }
      StoreContainer(path: "\(memoryFolder)/\(name)").remove()
    }
  }

  /// Removes the folder with everything in it.
  package func remove() {
    do {
      try FileManager.default.removeItem(atPath: path)
    } catch {
      // Gone already, or somebody else's by now: there is nothing to do about either.
    }
  }
}

extension StoreError {
  /// The error of a model file.
  package init(_ error: ModelError, in path: String) {
    self.init(
      .modelInvalid,
      "The model \(path) cannot be used: \(error.message)",
      data: [
        JSONMember(
          "problems",
          .array(
            error.problems.map { ["path": .string($0.path), "message": .string($0.message)] }
          )
        )
      ]
    )
  }
}
