import Foundation
import Testing

@Suite struct `The shape of the sources` {
  /// The long files that contain one idea, each with that idea.
  private static let longFiles: [String: String] = [:]

  private let lineCountMax = 500
  private let columnsMax = 100

  @Test func `a file has at most 500 lines`() {
    for file in Repository.sources where Self.longFiles[file.path] == nil {
      // The last line's end makes an empty element.
      let count = file.lines.last == "" ? file.lines.count - 1 : file.lines.count
      #expect(
        count <= lineCountMax,
        "\(file.path): \(count) lines; look for the second idea, or list it here as one"
      )
    }
    for path in Self.longFiles.keys {
      #expect(Repository.sources.contains { $0.path == path }, "\(path) is gone: remove its row")
    }
  }

  @Test func `a line has at most 100 columns`() {
    for file in Repository.sources {
      for (index, line) in file.lines.enumerated()
      where line.utf8.count > columnsMax && line.count > columnsMax {
        Issue.record("\(file.path):\(index + 1): \(line.count) columns")
      }
    }
  }

  @Test(arguments: Repository.modules)
  func `one file of each module begins with what the module must not know`(module: String) {
    let files = Repository.sources.filter { $0.module == module }
    let heads = files.filter { $0.headComment.contains("Must not know") }
    #expect(
      heads.count == 1,
      """
      Sources/\(module): one file begins with what the module is, "Must not know" and its \
      invariants; here \(heads.isEmpty ? "none does" : heads.map(\.path).joined(separator: ", "))
      """
    )
    for head in heads {
      #expect(
        head.headComment.hasPrefix("// \(module): "),
        "\(head.path):1: begin with \"// \(module): \" and what the module is"
      )
    }
  }

  @Test func `each type that another module sees has a summary`() {
    for file in Repository.sources {
      for (index, line) in file.code.enumerated() {
        guard let name = visibleType(line) else { continue }
        #expect(
          file.lineAbove(index).hasPrefix("///"),
          "\(file.path):\(index + 1): \(name) has no doc comment"
        )
      }
    }
  }

  @Test func `a type declaration is recognized with attributes and modifiers`() {
    for (line, name) in [
      ("package struct A: B {", "A"), ("public enum A {", "A"), ("package final class A {", "A"),
      ("@safe package final class A {", "A"), ("public indirect enum A {", "A"),
      ("package protocol A: Sendable {", "A"), ("package nonisolated struct A {", "A"),
      ("@available(*, deprecated) public actor A {", "A"),
      ("package struct A<B: ~Copyable> {", "A"),
      ("struct A {", nil), ("  package struct A {", nil), ("package extension A {", nil),
      ("package func classA() {", nil), ("extension A: public B {", nil), ("private enum A {", nil),
    ] {
      #expect(visibleType(line) == name, "\(line)")
    }
  }

  /// Returns the name of the type that a line declares at the top level for other modules.
  private func visibleType(_ line: String) -> String? {
    guard ["public ", "package ", "open "].contains(where: line.contains) else { return nil }
    return line.prefixMatch(
      of:
        /(?:@\w+(?:\([^)]*\))?\s+)*(?:public|package|open)\s+(?:(?:final|indirect|nonisolated|distributed)\s+)*(?:struct|enum|class|actor|protocol)\s+(\w+)/
    ).map { String($0.1) }
  }
}

@Suite struct `The repository is self-contained` {
  // The names are concatenated, so that this file does not contain them.
  private let sharedFolder = "../" + "shared"
  private let machine = "/wo" + "rk/"

  @Test func `the top level has only the listed names and dot files`() {
    let names = Set(Repository.trackedPaths.compactMap { $0.split(separator: "/").first })
      .filter { !$0.hasPrefix(".") }
    #expect(
      names == ["Package.swift", "Sources", "Tests", "Protocol", "Tools", "README.md"],
      "git keeps \(names.sorted())"
    )
  }

  @Test func `no file is a database or another binary`() throws {
    #expect(!Repository.trackedPaths.isEmpty, "git lists no file")
    for path in Repository.trackedPaths {
      let place = Repository.root.appending(path: path).path(percentEncoded: false)
      let bytes = try #require(FileManager.default.contents(atPath: place), "\(path) is gone")
      #expect(!bytes.starts(with: "SQLite format 3".utf8), "\(path) is a database")
      // In a debug build, `contains` takes a minute for all files.
      let hasNUL = unsafe bytes.withUnsafeBytes { bytes in
        guard let base = bytes.baseAddress else { return false }
        return unsafe memchr(base, 0, bytes.count) != nil
      }
      #expect(!hasNUL, "\(path) holds a NUL byte")
    }
  }

  @Test func `no file names a folder beside the repository`() {
    let files = Repository.files().filter { $0.contains(sharedFolder) }
    for file in files where !file.path.hasPrefix("Tests/") {
      for (index, line) in file.lines.enumerated() where line.contains(sharedFolder) {
        Issue.record("\(file.path):\(index + 1): names \(sharedFolder), which others don't have")
      }
    }
  }

  @Test func `no file names a folder of one machine`() {
    for file in Repository.files() where file.contains(machine) {
      for (index, line) in file.lines.enumerated() where line.contains(machine) {
        Issue.record("\(file.path):\(index + 1): names \(machine), which others don't have")
      }
    }
  }
}
