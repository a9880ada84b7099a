import JSON
import JSONRPC

/// `mock/advance`, a method of mocks only.
enum AdvanceCall {
  static let name = "mock/advance"

  /// The maximum time of one advance, in milliseconds: a year.
  private static let millisecondsMax: Int64 = 31_536_000_000

  static func milliseconds(_ params: JSONValue) throws(RPCError) -> Int64 {
    guard let number = params["milliseconds"]?.integer, (0...millisecondsMax).contains(number),
      params.members?.count == 1
    else {
      throw RPCError(
        .invalidParams,
        "\(name) takes {\"milliseconds\": an integer from 0 to \(millisecondsMax)}"
      )
    }
    return number
  }
}
