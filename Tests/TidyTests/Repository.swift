import Foundation

/// The files of this repository.
enum Repository {
  /// The folder with `Package.swift`, found from the path of this file with its links resolved.
  static let root = URL(filePath: #filePath).resolvingSymlinksInPath()
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

  /// The paths of all tracked files and of all new files that git does not ignore.
  ///
  /// The paths are relative to the root.
  static let trackedPaths: [String] = {
    let git = Process()
    git.executableURL = URL(filePath: "/usr/bin/env")
    git.currentDirectoryURL = root
    git.arguments = [
      "git", "-c", "safe.directory=*", "ls-files", "-z", "--cached", "--others",
      "--exclude-standard",
    ]
    let output = Pipe()
    git.standardOutput = output
    do {
      try git.run()
      let bytes = try output.fileHandleForReading.readToEnd() ?? Data()
      git.waitUntilExit()
      return String(decoding: bytes, as: UTF8.self).split(separator: "\0").map(String.init)
    } catch {
      return []
    }
  }()

  /// The tracked text files, each read once.
  private static let allFiles = trackedPaths.compactMap { TextFile(path: $0) }

  /// Returns the tracked text files in a folder, or in the whole repository.
  static func files(in folder: String = "", kinds: Set<String>? = nil) -> [TextFile] {
    allFiles.filter { file in
      file.path.hasPrefix(folder)
        && (kinds.map { $0.contains(URL(filePath: file.path).pathExtension) } ?? true)
    }
  }

  /// The Swift and C files of the modules.
  static let sources = files(in: "Sources/", kinds: ["swift", "c", "h"])

  /// The names of the folders in `Sources`.
  static let modules = Set(sources.compactMap(\.module)).sorted()
}

/// A text file of the repository.
struct TextFile: Sendable {
  /// The path relative to the root.
  let path: String
  /// The bytes of the text, and of the text in lower case.
  private let (bytes, lowered): (Data, Data)
  /// The lines without line feeds.
  let lines: [String]
  /// The lines of a Swift file without comments and without the contents of string literals.
  let code: [String]

  /// Reads a file, or returns nil if the file does not exist or is not text.
  init?(path: String) {
    guard
      let bytes = FileManager.default.contents(
        atPath: Repository.root.appending(path: path).path(percentEncoded: false)
      ),
      let text = String(validating: bytes, as: UTF8.self)
    else { return nil }
    self.path = path
    (self.bytes, lowered) = (bytes, Data(text.lowercased().utf8))
    lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    code = path.hasSuffix(".swift") ? SwiftText.code(lines) : []
  }

  /// Returns whether a line contains a text.
  ///
  /// In a debug build, a look at each line takes much longer.
  ///
  /// - Parameters:
  ///   - text: The text; in lower case where case is ignored.
  ///   - ignoresCase: Whether case is ignored.
  /// - Returns: Whether the file contains the text.
  func contains(_ text: String, ignoringCase ignoresCase: Bool = false) -> Bool {
    let bytes = ignoresCase ? lowered : bytes
    return bytes.firstRange(of: Data(text.utf8)) != nil
  }

  /// The name of the folder in `Sources` or `Tests` that contains the file.
  var module: String? {
    let parts = path.split(separator: "/")
    return parts.count > 2 ? String(parts[1]) : nil
  }

  /// The comment at the beginning of the file.
  var headComment: String {
    lines.prefix { $0.hasPrefix("//") }.joined(separator: "\n")
  }

  /// Returns the line above a line, or above the attributes on their own lines before it.
  func lineAbove(_ index: Int) -> String {
    var above = index - 1
    while above >= 0, trimmed(above).hasPrefix("@") { above -= 1 }
    return above >= 0 ? trimmed(above) : ""
  }

  private func trimmed(_ index: Int) -> String {
    lines[index].trimmingCharacters(in: .whitespaces)
  }
}
