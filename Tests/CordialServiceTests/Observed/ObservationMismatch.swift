import JSON

/// A difference between what the service sent and what the contract promises.
struct ObservationMismatch: Error, CustomStringConvertible {
  let description: String

  /// Creates a mismatch with a sentence and the values that show it.
  ///
  /// - Parameters:
  ///   - sentence: What differs.
  ///   - facts: Names and texts, each text cut to 2,000 characters.
  init(_ sentence: String, _ facts: KeyValuePairs<String, String> = [:]) {
    let lines = facts.map { "\($0.key): \($0.value.prefix(2000))" }
    description = ([sentence] + lines).joined(separator: "\n")
  }

  /// Throws a mismatch unless a condition holds.
  static func check(_ holds: Bool, _ sentence: @autoclosure () -> String) throws {
    guard holds else { throw ObservationMismatch(sentence()) }
  }

  /// Returns a value that a message must have.
  static func require<Value>(
    _ value: Value?,
    _ sentence: @autoclosure () -> String
  ) throws -> Value {
    guard let value else { throw ObservationMismatch(sentence()) }
    return value
  }
}

extension JSONValue {
  /// Whether two values are equal when the order of the members of objects does not count.
  func hasSameContent(as other: JSONValue?) -> Bool {
    guard let other else { return false }
    return self == other || sortedByName == other.sortedByName
  }

  /// The same value with the members of each object in the order of their names.
  private var sortedByName: JSONValue {
    switch self {
    case .array(let elements): .array(elements.map(\.sortedByName))
    case .object(let members):
      .object(
        members.map { JSONMember($0.name, $0.value.sortedByName) }.sorted { $0.name < $1.name }
      )
    default: self
    }
  }
}
