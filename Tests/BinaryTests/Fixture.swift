import Foundation

/// A folder for one test, with the commands that most tests begin with.
final class Fixture {
  let folder: String

  /// The models that the repository carries.
  static let models: String =
    URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent().appendingPathComponent("Protocol/models").path

  static var todo: String { models + "/Todo.json" }
  static var packages: String { models + "/Packages.json" }

  init() throws {
    let name = "cordial-test-\(UUID().uuidString.prefix(8))"
    folder = FileManager.default.temporaryDirectory.appendingPathComponent(name).path
    try FileManager.default.createDirectory(
      atPath: folder,
      withIntermediateDirectories: false,
      attributes: [.posixPermissions: 0o700]
    )
  }

  deinit {
    do { try FileManager.default.removeItem(atPath: folder) } catch {}
  }

  func path(_ name: String) -> String { folder + "/" + name }

  /// A store with the Todo model, or another.
  func store(_ name: String = "Test.cordial", model: String = Fixture.todo) throws -> String {
    let made = try run(["init", path(name), "--model", model])
    guard made.code == 0 else { throw Failure("init: \(made.errors)") }
    return path(name)
  }

  func write(_ text: String, to name: String) throws -> String {
    try text.write(toFile: path(name), atomically: false, encoding: .utf8)
    return path(name)
  }

  func exists(_ name: String) -> Bool { FileManager.default.fileExists(atPath: path(name)) }

  /// What a command did.
  struct Outcome {
    let code: Int32
    let output: String
    let errors: String
    var lines: [JSON] {
      get throws { try output.split(separator: "\n").map { try JSON(String($0)) } }
    }
  }

  /// Runs a command to its end.
  func run(
    _ arguments: [String],
    input: String? = nil,
    environment: [String: String] = [:]
  ) throws -> Outcome {
    let child = try Child(
      arguments,
      input: input == nil ? .nothing : .pipe,
      environment: environment
    )
    if let input {
      // A command that fails early doesn't read its input.
      do { try child.stream.send(input) } catch is Failure {}
      child.stream.endInput()
    }
    let output = try child.stream.rest()
    return Outcome(code: try child.exitCode(), output: output, errors: try child.errorText())
  }

  /// A service on a socket, ready for connections.
  func daemon(_ store: String, _ more: [String] = [], socket: String = "s") throws -> Daemon {
    try daemon(arguments: [store] + more, socket: socket)
  }

  /// A service on a socket, with any arguments.
  func daemon(arguments: [String], socket: String = "s") throws -> Daemon {
    let child = try Child(["serve", "--socket", path(socket)] + arguments, input: .nothing)
    var said = ""
    while let line = try child.errorLine() {
      said += line
      if line.contains("serving at") { return Daemon(child: child, socket: path(socket)) }
    }
    throw Failure("the service ended with \(try child.exitCode()): \(said)")
  }
}

/// A service on a socket.
struct Daemon {
  let child: Child
  let socket: String

  func connect(hasHeaders: Bool = false) throws -> Peer {
    Peer(try ByteStream.connect(socket), of: child, hasHeaders: hasHeaders)
  }
}

/// A line with a request.
func line(_ id: Int, _ method: String, _ params: JSON = [:]) -> String {
  let message: JSON = [
    "jsonrpc": "2.0", "id": .integer(Int64(id)), "method": .string(method), "params": params,
  ]
  return message.text + "\n"
}

/// The insert of one task.
func task(_ title: String, priority: Int = 0) -> JSON {
  [
    "entity": "Task",
    "values": ["title": .string(title), "priority": .integer(Int64(priority))],
  ]
}
