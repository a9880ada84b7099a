import FoundationEssentials
import Glibc
package import JSON
package import ObjectModel
import PersistentHistory
import SQLite

/// The folder of a store: `store.sqlite`, `index.sqlite`, `model.json`, the daemon's lock.
package struct StoreContainer: Sendable {
  /// The way in which a store is opened.
  package enum Mode: Sendable, Equatable {
    case readWrite
    case readOnly
    /// A private folder in memory, removed when the store is closed, or by a later process.
    case inMemory
  }

  /// The absolute path of the folder.
  package let path: String

  package init(path: String) {
    self.path = path
  }

  package var storePath: String { path + "/store.sqlite" }
  package var modelPath: String { path + "/model.json" }
  package var lockPath: String { path + "/lock" }

  /// Returns the file of a search index.
  ///
  /// - Parameter name: The name of the index of a program with delegates; nil for the index that
  ///   depends only on the model.
  /// - Returns: The absolute path.
  package func indexPath(_ name: String? = nil) -> String {
    path + (name.map { "/index-\($0).sqlite" } ?? "/index.sqlite")
  }

  /// Returns the files of all search indexes, including the indexes of programs with delegates.
  ///
  /// - Returns: The paths.
  /// - Throws: `cannotOpen` if the folder cannot be read.
  func indexFiles() throws(StoreError) -> [String] {
    do {
      return try FileManager.default.contentsOfDirectory(atPath: path)
        .filter { $0.wholeMatch(of: /index(-[A-Za-z0-9_-]+)?\.sqlite(-wal|-shm)?/) != nil }
        .map { "\(path)/\($0)" }
    } catch {
      throw StoreError(.cannotOpen, "\(path) cannot be read: \(error)")
    }
  }

  /// Returns whether a file is directly in the folder, even if its path names the folder
  /// differently, as through a symbolic link.
  package func contains(_ file: String) -> Bool {
    guard let slash = file.lastIndex(of: "/"), let folder = FileIdentity(path) else { return false }
    return FileIdentity(String(file[...slash])) == folder
  }

  /// Whether the folder contains a store.
  package var hasStore: Bool { FileManager.default.fileExists(atPath: storePath) }

  /// Creates the folder if it does not exist, readable by its owner only.
  ///
  /// - Throws: `cannotOpen` when the path is a file, or a folder with other content and no store.
  package func prepare() throws(StoreError) {
    var isDirectory = false
    if FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory) {
      guard isDirectory else {
        throw StoreError(
          .cannotOpen,
          "\(path) is a file; a Cordial store is a folder",
          hint: "Name the folder, or another path to create a store there"
        )
      }
      for file in [storePath, modelPath] where Self.isFolder(file) {
        throw StoreError(
          .cannotOpen,
          "\(file) is a folder, but must be a file of the store",
          hint: "Move it away"
        )
      }
      guard hasStore || isEmpty else {
        throw StoreError(
          .cannotOpen,
          "\(path) is a folder with other content, and no Cordial store",
          hint: "Name an empty or new folder"
        )
      }
      return
    }
    guard unsafe mkdir(path, 0o700) == 0 else {
      throw StoreError(.cannotOpen, "\(path) cannot be created: \(Self.reason())")
    }
  }

  private static func isFolder(_ path: String) -> Bool {
    var isDirectory = false
    return FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory) && isDirectory
  }

  /// The reason why the folder cannot be used; nil if the folder can be used or does not exist.
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
        hint: "Name the folder, or another path to create a store there"
      )
    }
    if unsafe access(path, R_OK | X_OK) != 0 {
      return StoreError(.cannotOpen, "\(path) cannot be entered: \(Self.reason())")
    }
    return nil
  }

  private var isEmpty: Bool {
    do {
      // Files whose names begin with a dot, such as the files of a file manager, are ignored.
      return try FileManager.default.contentsOfDirectory(atPath: path).allSatisfy {
        $0.hasPrefix(".") || $0 == "lock"
      }
    } catch {
      return false
    }
  }

  /// Returns whether the store was created completely; an interrupted creation leaves no tables.
  ///
  /// - Returns: Whether the store's file has tables.
  /// - Throws: `StoreError` when the file exists and cannot be read.
  package func isCreated() throws(StoreError) -> Bool {
    do {
      return try StoreFile.hasTables(storePath)
    } catch {
      throw StoreError(any: error)
    }
  }

  /// Whether files can be created in the folder.
  package var isWritable: Bool { unsafe access(path, W_OK) == 0 }

  /// Whether the folder is on a file system that is mounted for reading only.
  package var isOnReadOnlyFileSystem: Bool {
    var facts = statvfs()
    return unsafe statvfs(path, &facts) == 0 && facts.f_flag & UInt(ST_RDONLY) != 0
  }

  /// Makes the names of the folder and of its files survive a power failure, if the file system
  /// supports that.
  func syncNames() {
    WholeFile.syncFolder(path)
    let parent = path.utf8.lastIndex(of: UInt8(ascii: "/")).map { String(path[..<$0]) } ?? "."
    WholeFile.syncFolder(parent.isEmpty ? "/" : parent)
  }

  /// Returns the files of a model's versions.
  ///
  /// - Parameter path: A model file, or a folder of such files.
  /// - Returns: The file itself, or the files of the folder whose names end in `.json`, in the
  ///   natural order of their names.
  package static func modelFiles(at path: String) -> [String] {
    let names: [String]
    do {
      names = try FileManager.default.contentsOfDirectory(atPath: path)
    } catch {
      // The path is not a folder; reading it as a file reports any problem.
      return [path]
    }
    return names.filter { $0.hasSuffix(".json") }.map { String($0.dropLast(5)) }
      .sorted { Folding.collate($0, $1) < 0 }.map { "\(path)/\($0).json" }
  }

  /// The maximum length of a model file, in bytes.
  private static let modelBytesMax = 16 << 20

  /// Reads a model file.
  ///
  /// - Parameter path: The file.
  /// - Returns: Its content.
  /// - Throws: `cannotOpen` when the file cannot be read or is too long, `modelInvalid` when the
  ///   content is not JSON.
  package static func readDocument(at path: String) throws(StoreError) -> JSONValue {
    let text = try contents(of: path, as: "model", bytesMax: modelBytesMax)
    do {
      return try JSONParser.parse(text.span)
    } catch {
      let problem = ModelProblem(path: "", message: error.message)
      throw StoreError(ModelError(problems: [problem]), in: path)
    }
  }

  /// Reads a file.
  ///
  /// - Parameters:
  ///   - path: The file.
  ///   - kind: The kind of the file, such as `model`, for the error.
  ///   - bytesMax: The maximum length.
  /// - Returns: Its content.
  /// - Throws: `cannotOpen` when the file cannot be read or is too long.
  package static func contents(
    of path: String,
    as kind: String,
    bytesMax: Int
  ) throws(StoreError) -> [UInt8] {
    let length = FileSize.of([path])
    guard length <= bytesMax else {
      throw StoreError(
        .cannotOpen,
        "The \(kind) file \(path) has \(length) bytes; a \(kind) has at most \(bytesMax)"
      )
    }
    guard let data = FileManager.default.contents(atPath: path) else {
      throw StoreError(.cannotOpen, "The \(kind) file \(path) cannot be read")
    }
    return Array(data)
  }

  /// Writes the copy of the model that is stored beside the store.
  func writeModelCopy(_ model: Model) throws(StoreError) {
    let text = model.document.prettyText + "\n"
    // The check excludes a named pipe at this path, because reading it would block.
    var file = stat()
    if unsafe stat(modelPath, &file) == 0, file.st_mode & S_IFMT == S_IFREG,
      let data = FileManager.default.contents(atPath: modelPath), Array(data) == Array(text.utf8)
    {
      return
    }
    do throws(WholeFile.Failure) {
      try WholeFile.write(Array(text.utf8), to: modelPath)
    } catch {
      throw StoreError(
        .cannotOpen,
        "\(modelPath) cannot be written: \(error.reason)",
        hint: "The folder must be writable, with free space on its disk"
      )
    }
  }

  private static func reason() -> String {
    unsafe String(cString: strerror(errno))
  }

  // MARK: Stores in memory

  private static let memoryFolder = "/dev/shm"
  private static let memoryPrefix = "cordial-memory-"

  /// Creates a private folder in memory, and removes the folders of processes that have ended.
  ///
  /// Every user can create folders in `/dev/shm`, so `mkdtemp` chooses a name that is not in use.
  ///
  /// - Returns: The container of the empty folder.
  /// - Throws: `cannotOpen`.
  package static func inMemory() throws(StoreError) -> StoreContainer {
    sweep()
    let prefix = "\(memoryFolder)/\(memoryPrefix)\(getuid())-\(getpid())-"
    let template = unsafe strdup(prefix + "XXXXXX")
    defer { unsafe free(template) }
    guard let template = unsafe template, let made = unsafe mkdtemp(template) else {
      throw StoreError(
        .cannotOpen,
        "No folder for a store in memory can be created in \(memoryFolder): \(reason())"
      )
    }
    return StoreContainer(path: unsafe String(cString: made))
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
        }), kill(process, 0) != 0, errno == ESRCH, isOwn("\(memoryFolder)/\(name)")
      else { continue }
      StoreContainer(path: "\(memoryFolder)/\(name)").remove()
    }
  }

  /// Returns whether a path is a folder of this user that no other user can change.
  ///
  /// If other users could change the folder, a user could replace a file in it by a link during the
  /// removal, so that files outside the folder would be removed.
  private static func isOwn(_ path: String) -> Bool {
    var facts = stat()
    return unsafe lstat(path, &facts) == 0 && facts.st_mode & S_IFMT == S_IFDIR
      && facts.st_uid == geteuid() && facts.st_mode & 0o022 == 0
  }

  /// Removes the folder with all its content.
  package func remove() {
    do {
      try FileManager.default.removeItem(atPath: path)
    } catch {
      // The folder is removed already, or another user owns the path now; both may be ignored.
    }
  }
}

extension StoreError {
  /// Creates the error of a model file.
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
