import ArgumentParser
import Cordial
import JSON

/// `cordial call`: calls any method of the protocol.
struct Call: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "call",
    abstract: "Call any method of the protocol and print its result.",
    discussion: """
      For example: cordial call Todo.cordial fetch '{"entity": "Task", "limit": 3}'

      `cordial call STORE rpc.discover` lists the methods.
      """
  )

  @OptionGroup var storeArgument: StoreArgument

  @Argument(help: "The method's name.")
  var method: String

  @Argument(help: "The method's params as JSON; no params when absent.")
  var params = "{}"

  @Flag(help: "Print the messages that are sent and received, instead of the result.")
  var wire = false

  func run() async throws {
    let json: JSONValue
    do {
      json = try JSONParser.parse(params)
    } catch {
      throw InputError(message: "The params: \(error.message)")
    }
    let answer = try await storeArgument.with(traced: wire ? Wire.show : nil) { client in
      try await client.call(method, json)
    }
    if !wire { Terminal.line(answer.text) }
  }
}

/// The output of the messages on the wire, for a person.
enum Wire {
  /// Prints a message with an arrow that shows its direction.
  @Sendable static func show(isSent: Bool, _ message: [UInt8]) {
    Terminal.line((isSent ? "--> " : "<-- ") + String(decoding: message, as: UTF8.self))
  }
}
