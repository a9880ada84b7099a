/// The program `sqlite3`: an SQLite client that does not use Cordial.
///
/// `Tools/test` installs it, so a test that cannot start it fails.
enum ForeignClient {
  /// Runs SQL on a store's file, as one commit where there are several statements.
  static func write(_ store: String, _ sql: String) throws {
    _ = try run(store, "BEGIN IMMEDIATE; \(sql); COMMIT")
  }

  /// Runs SQL on a store's file and leaves its log, as a client that is killed.
  static func keepLog(_ store: String, _ sql: String) throws {
    let child = try Child(
      ["-bail", "-cmd", ".dbconfig no_ckpt_on_close on", "\(store)/store.sqlite", sql],
      program: "sqlite3",
      input: .nothing
    )
    guard try child.exitCode() == 0 else { throw Failure("sqlite3: \(try child.errorText())") }
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
