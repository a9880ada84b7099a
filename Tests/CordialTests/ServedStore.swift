import Cordial
import Foundation
import Logging
import Testing

/// A store in a temporary folder, with the program that serves it.
final class ServedStore {
  let folder: URL
  private var services: [Process] = []

  /// The program, which the build places beside the tests.
  private static var program: URL {
    let environment = ProcessInfo.processInfo.environment
    if let path = environment["CORDIAL_BINARY"] { return URL(fileURLWithPath: path) }
    let bundle = CommandLine.arguments.first { $0.hasSuffix(".xctest") }
    let place = bundle ?? Bundle.main.executablePath ?? CommandLine.arguments[0]
    return URL(fileURLWithPath: place).deletingLastPathComponent()
      .appendingPathComponent("cordial")
  }

  var program: String { Self.program.path }
  var store: String { folder.appendingPathComponent("Todo.cordial").path }
  var socket: String { folder.appendingPathComponent("s").path }

  init(model: String) throws {
    folder = FileManager.default.temporaryDirectory
      .appendingPathComponent("cordial-\(UUID().uuidString.prefix(8))")
    try FileManager.default.createDirectory(
      at: folder,
      withIntermediateDirectories: false,
      attributes: [.posixPermissions: 0o700]
    )
    let file = folder.appendingPathComponent("Todo.json")
    try model.write(to: file, atomically: false, encoding: .utf8)
    let initialization = try start(["init", store, "--model", file.path])
    initialization.waitUntilExit()
    try #require(initialization.terminationStatus == 0)
  }

  /// Starts a service on the socket, instead of the one before.
  func serve() throws -> Process {
    let service = try start(["serve", store, "--socket", socket])
    services.append(service)
    return service
  }

  private func start(_ arguments: [String]) throws -> Process {
    let process = Process()
    process.executableURL = Self.program
    process.arguments = arguments
    process.standardInput = FileHandle.nullDevice
    process.standardOutput = FileHandle.nullDevice
    process.standardError = FileHandle.nullDevice
    try process.run()
    return process
  }

  /// Inserts groups with SQL, as another program may do while no service runs.
  func fill(groups count: Int) throws {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/sqlite3")
    process.arguments = [
      store + "/store.sqlite",
      "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(count)) "
        + "INSERT INTO \"Group\"(title) SELECT printf('%07d', i * 7919 % 1000003) FROM n",
    ]
    process.standardError = FileHandle.nullDevice
    try process.run()
    process.waitUntilExit()
    try #require(process.terminationStatus == 0)
  }

  /// Connects to the socket, as soon as the service listens.
  func client(_ logger: Logger? = nil) async throws -> Client {
    var client: Client?
    try await wait {
      do throws(ClientError) {
        client = try await Client.socket(self.socket, logger: logger)
        return true
      } catch {
        return false
      }
    }
    return try #require(client)
  }

  /// Starts a service of mocks with the model of the store.
  func mock() async throws -> Client {
    let script = folder.appendingPathComponent("mock.json").path
    try #"{"model": "Todo.json"}"#.write(toFile: script, atomically: false, encoding: .utf8)
    return try await Client.process(program, arguments: ["serve", "--mock", script])
  }

  deinit {
    for service in services where service.isRunning {
      kill(service.processIdentifier, SIGKILL)
      service.waitUntilExit()
    }
    do { try FileManager.default.removeItem(at: folder) } catch {}
  }
}
