import CordialProtocol
import JSON
import JSONRPC
import PersistentStore

/// The progress of a migration in the forms of the protocol.
extension MigrationProgress {
  private var percentageJSON: JSONValue { .integer(Int64(percentage)) }

  /// The first value of a progress token.
  var begin: JSONValue {
    .object([
      .kind: "begin", .title: .string("Migrating \(from) to \(to)"),
      .percentage: percentageJSON, .cancellable: false,
    ])
  }

  /// The value of a progress token for the current step.
  var report: JSONValue {
    .object([.kind: "report", .message: .string(title), .percentage: percentageJSON])
  }

  /// The last value of a progress token.
  static let end: JSONValue = .object([.kind: "end"])

  /// Returns the message for a value of a progress token.
  static func notification(_ token: JSONValue, _ value: JSONValue) -> [UInt8] {
    let params: JSONValue = .object([.token: token, .value: value])
    return MessageWriter.notification("$/progress", Array(params.text.utf8))
  }

  /// The member `migrating` of `status` and of errors.
  var wire: StatusCall.Migration {
    StatusCall.Migration(
      from: from,
      to: to,
      title: title,
      done: Int64(done),
      count: Int64(count)
    )
  }
}
