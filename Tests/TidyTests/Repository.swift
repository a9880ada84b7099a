import Foundation

/// The files of this repository, as tests look at them.
enum Repository {
  /// The folder that holds `Package.swift`, found from where this file is; links are followed.
  static let root = URL(filePath: #filePath).resolvingSymlinksInPath()
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

  /// What git keeps or would keep if all were added, relative to the root.
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

  /// The tracked text files in a folder, or all of them.
  static func files(in folder: String = "", kinds: Set<String>? = nil) -> [TextFile] {
    trackedPaths.compactMap { path in
      guard path.hasPrefix(folder) else { return nil }
      if let kinds, !kinds.contains(URL(filePath: path).pathExtension) { return nil }
      return TextFile(path: path)
    }
  }

  /// The Swift and C files of the modules.
  static let sources = files(in: "Sources/", kinds: ["swift", "c", "h"])

  /// The names of the folders in `Sources`.
  static let modules = Set(sources.compactMap(\.module)).sorted()
}

/// A file that people read.
struct TextFile: Sendable {
  /// Relative to the root.
  let path: String
  /// Its lines, without their ends.
  let lines: [String]
  /// Of a Swift file, its lines without comments and without the contents of string literals.
  let code: [String]

  /// Reads a file; nil when it is gone or no text.
  init?(path: String) {
    guard
      let bytes = FileManager.default.contents(
        atPath: Repository.root.appending(path: path).path(percentEncoded: false)
      ),
      let text = String(validating: bytes, as: UTF8.self)
    else { return nil }
    self.path = path
    lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    code = path.hasSuffix(".swift") ? SwiftText.code(lines) : []
  }

  /// The folder in `Sources` or `Tests` that it stands in.
  var module: String? {
    let parts = path.split(separator: "/")
    return parts.count > 2 ? String(parts[1]) : nil
  }

  /// The comment that the file begins with.
  var headComment: String {
    lines.prefix { $0.hasPrefix("//") }.joined(separator: "\n")
  }

  /// What stands above a line, attributes on lines of their own skipped.
  func lineAbove(_ index: Int) -> String {
    var above = index - 1
    while above >= 0, trimmed(above).hasPrefix("@") { above -= 1 }
    return above >= 0 ? trimmed(above) : ""
  }

  private func trimmed(_ index: Int) -> String {
    lines[index].trimmingCharacters(in: .whitespaces)
  }
}
