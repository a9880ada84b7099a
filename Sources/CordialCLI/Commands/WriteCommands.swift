import ArgumentParser
import Cordial
import CordialProtocol
import Engine
import FoundationEssentials
import Glibc
import JSON
import PersistentStore

/// `cordial init`: creates a store.
struct Init: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "init",
    abstract: "Create a store from a model's file."
  )

  @Argument(help: "The folder to create.")
  var store: String

  @Option(help: "The model's file.")
  var model: String

  @Option(
    name: .customLong("configuration"),
    help: "Create it for the entities of this configuration of the model."
  )
  var part: String?

  func run() async throws {
    let container = StoreContainer(path: Paths.absolute(store))
    guard try !container.isCreated() else {
      throw InputError(message: "\(store) is already a store")
    }
    let engine = try Engine(
      container: container,
      model: try ModelFile.read(model, configuration: part),
      mode: .readWrite,
      purpose: .command,
      version: CordialProgram.version,
      log: Logging.quiet
    )
    try await engine.close()
    Terminal.note("Created \(store)\n")
  }
}

/// `cordial save`: sends one transaction in the form of the protocol's `save`.
struct Save: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "save",
    abstract: "Save inserts, updates and deletes as one transaction.",
    discussion: """
      Reads the params of the protocol's save as JSON, for example:

        echo '{"insert": [{"entity": "Group", "values": {"title": "Home"}}]}' \
      | cordial save Todo.cordial
      """
  )

  @OptionGroup var storeArgument: StoreArgument

  @Argument(help: "A file with the params; - or nothing reads standard input.")
  var file: String?

  @Flag(help: "Print what the save would do, and write nothing.")
  var dryRun = false

  func run() async throws {
    let text = try Input.read(file ?? "-", bytesMax: Input.messageBytesMax)
    var params: JSONValue
    do {
      params = try JSONParser.parse(text.span)
    } catch {
      throw InputError(message: "\(file ?? "Standard input"): \(error.message)")
    }
    if dryRun, let members = params.members {
      params = .object(members + [JSONMember(.dryRun, true)])
    }
    let call = params
    let answer = try await storeArgument.with { try await $0.call(MethodName.save.rawValue, call) }
    Terminal.line(answer.text)
  }
}

/// The input of commands: files and standard input.
enum Input {
  /// Opens a file for reading.
  ///
  /// - Parameter path: The path; `-` for standard input.
  /// - Returns: A descriptor, which the caller closes.
  /// - Throws: `InputError` if the file cannot be opened.
  static func open(_ path: String) throws -> CInt {
    let descriptor =
      path == "-"
      ? fcntl(0, F_DUPFD_CLOEXEC, 0) : unsafe Glibc.open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw unreadable(path) }
    return descriptor
  }

  /// The maximum number of bytes of a message to a service.
  static let messageBytesMax = 1 << 26

  /// Returns the bytes of a file.
  ///
  /// - Parameters:
  ///   - path: The path; `-` for standard input.
  ///   - bytesMax: The maximum number of bytes.
  /// - Returns: The bytes.
  /// - Throws: `InputError` if the bytes cannot be read, or exceed `bytesMax`.
  static func read(_ path: String, bytesMax: Int = .max) throws -> [UInt8] {
    let descriptor = try open(path)
    defer { _ = close(descriptor) }
    var content: [UInt8] = []
    try eachPortion(of: descriptor, path) { portion in
      content += portion
      guard content.count <= bytesMax else {
        let name = path == "-" ? "Standard input" : path
        throw InputError(message: "\(name) is longer than \(bytesMax) bytes; save it in portions")
      }
    }
    return content
  }

  /// Reads a descriptor up to its end.
  ///
  /// - Parameters:
  ///   - descriptor: The descriptor.
  ///   - path: The path of the file, for errors.
  ///   - body: Called with each portion of bytes.
  /// - Throws: `InputError` if the bytes cannot be read; the errors of the body.
  static func eachPortion(
    of descriptor: CInt,
    _ path: String,
    _ body: (ArraySlice<UInt8>) throws -> Void
  ) throws {
    var buffer = [UInt8](repeating: 0, count: 1 << 16)
    while true {
      let count = unsafe Glibc.read(descriptor, &buffer, buffer.count)
      if count < 0, errno == EINTR { continue }
      guard count >= 0 else { throw unreadable(path) }
      guard count > 0 else { return }
      try body(buffer[..<count])
    }
  }

  private static func unreadable(_ path: String) -> InputError {
    let why = unsafe String(cString: strerror(errno))
    return InputError(
      message: "\(path == "-" ? "Standard input" : path) cannot be read: \(why)"
    )
  }
}

/// `cordial delete`: deletes objects by ID or by predicate.
struct Delete: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "delete",
    abstract: "Delete objects by their IDs, or those of an entity that match a predicate."
  )

  @OptionGroup var storeArgument: StoreArgument

  @Argument(help: "Wrapped IDs, like Package/p17.")
  var ids: [String] = []

  @Option(help: "The entity, for a delete by predicate.")
  var entity: String?

  @Option(name: [.customLong("where"), .customLong("predicate")], help: "Which objects.")
  var predicate: String?

  @Flag(help: "Print what the delete would do, and write nothing.")
  var dryRun = false

  func validate() throws {
    guard ids.isEmpty != (entity == nil), (entity == nil) == (predicate == nil) else {
      throw ValidationError("Name either IDs, or --entity and --where (TRUEPREDICATE for all)")
    }
  }

  func run() async throws {
    var call =
      if let entity, let predicate {
        DeleteCall(entity: entity, predicate: predicate)
      } else {
        DeleteCall(ids: ids)
      }
    call.returnsIDs = true
    call.isDryRun = dryRun
    let answer = try await storeArgument.with { [call] in try await $0.reply(to: call) }
    if dryRun { return try DryRunOutput.write(answer) }
    for id in try DeleteCall.result(answer).ids ?? [] { Terminal.line(id) }
  }
}
