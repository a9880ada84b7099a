import Foundation

/// The program `sqlite3`, as somebody who writes to a store without knowing us.
enum ForeignClient {
  /// Whether it is installed; without it there is no foreign writer to test.
  static let isInstalled = ["/usr/bin", "/bin", "/usr/local/bin"].contains {
    FileManager.default.isExecutableFile(atPath: $0 + "/sqlite3")
  }

  /// Runs SQL on a store's file, as one commit where there are several statements.
  static func write(_ store: String, _ sql: String) throws {
    _ = try run(store, "BEGIN IMMEDIATE; \(sql); COMMIT")
  }

  /// Runs SQL on a store's file, or another of its folder, and answers what it prints.
  static func run(
    _ store: String,
    _ sql: String,
    in file: String = "store.sqlite"
  ) throws -> String {
    let child = try Child(
      ["-bail", "-cmd", ".timeout 10000", "\(store)/\(file)", sql],
      program: "sqlite3",
      input: .nothing
    )
    let output = try child.stream.rest()
    guard try child.exitCode() == 0 else {
      throw Failure("sqlite3: \(sql): \(output) \(try child.errorText())")
    }
    return output
  }
}
