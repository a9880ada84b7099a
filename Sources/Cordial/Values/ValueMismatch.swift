import CordialValues

/// The reason why an object cannot be decoded as a type.
public struct ValueMismatch: Error, Equatable, Sendable, CustomStringConvertible {
  /// The ID of the object, as the service sent it; empty before an object was received.
  public let object: String
  /// The name of the property in the value.
  public let property: String
  /// A sentence about the property.
  public let reason: String

  /// The object, the property and the reason.
  public var description: String {
    let subject = [object, property].filter { !$0.isEmpty }.joined(separator: ": ")
    return subject.isEmpty ? reason : "\(subject): \(reason)"
  }

  /// Creates the mismatch that a decoding error reports.
  ///
  /// - Parameters:
  ///   - error: The error of a type's `init(from:)`.
  ///   - object: The object's ID.
  init(_ error: any Error, object: String) {
    self.object = object
    func path(_ keys: [any CodingKey]) -> String { keys.map(\.stringValue).joined(separator: ".") }
    switch error {
    case let mismatch as ValueMismatch:
      (property, reason) = (mismatch.property, mismatch.reason)
    case DecodingError.keyNotFound(let key, let context):
      property = path(context.codingPath + [key])
      reason = "the service did not send it"
    case DecodingError.valueNotFound(let type, let context):
      property = path(context.codingPath)
      reason = "it is null, and \(type) is not optional"
    case DecodingError.typeMismatch(_, let context), DecodingError.dataCorrupted(let context):
      property = path(context.codingPath)
      reason = context.debugDescription
    default:
      property = ""
      reason = "\(error)"
    }
  }

  init(_ object: String, _ property: String, _ reason: String) {
    (self.object, self.property, self.reason) = (object, property, reason)
  }
}
