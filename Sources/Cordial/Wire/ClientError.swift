package import JSON

/// The reason why a call has no result.
public struct ClientError: Error, Equatable, Sendable, CustomStringConvertible {
  /// The kind of an error: a code of the protocol, or one of the client's own.
  public struct Code: RawRepresentable, Hashable, Sendable, ExpressibleByIntegerLiteral {
    /// The number on the wire.
    public let rawValue: Int

    /// Creates a code, also one that this version does not know.
    public init(rawValue: Int) {
      self.rawValue = rawValue
    }

    /// Creates a code from its number.
    public init(integerLiteral value: Int) {
      self.init(rawValue: value)
    }

    /// There was no response: the connection ended, or there was none.
    public static let connectionEnded: Code = 0
    /// An object has no value of the requested type.
    public static let valueMismatch: Code = 1
    /// An ID of a mock names no object of a store.
    public static let mockIdentifier: Code = 2
    /// The service speaks another version of the protocol.
    public static let protocolMismatch: Code = 3

    /// The service does not know the method.
    public static let methodNotFound: Code = -32601
    /// A param has a wrong form.
    public static let invalidParams: Code = -32602
    /// The service has failed.
    public static let internalError: Code = -32603
    /// The request was cancelled.
    public static let requestCancelled: Code = -32800

    /// The model is invalid.
    public static let modelInvalid: Code = 1001
    /// The model has no entity of that name.
    public static let unknownEntity: Code = 1002
    /// The entity has no property of that name.
    public static let unknownProperty: Code = 1003
    /// The predicate is invalid.
    public static let predicateInvalid: Code = 1004
    /// The store has another model.
    public static let modelMismatch: Code = 1005
    /// No object has that ID.
    public static let objectNotFound: Code = 1101
    /// The objects that a save would leave are invalid.
    public static let validationFailed: Code = 1102
    /// Another client has changed the same properties.
    public static let saveConflict: Code = 1103
    /// A text is not the ID of an object.
    public static let invalidIdentifier: Code = 1104
    /// Another object has the same unique values.
    public static let uniquenessViolation: Code = 1105
    /// A delete rule denies the deletion.
    public static let deleteDenied: Code = 1106
    /// The log does not reach back to that position.
    public static let historyExpired: Code = 1201
    /// The subscription does not exist.
    public static let unknownSubscription: Code = 1301
    /// The request exceeds a limit of the service.
    public static let limitExceeded: Code = 1302
    /// The store is busy.
    public static let storeBusy: Code = 1401
    /// The disk is full.
    public static let storeFull: Code = 1402
    /// The store is damaged.
    public static let storeCorrupt: Code = 1403
    /// The store cannot be written.
    public static let storeReadOnly: Code = 1404
  }

  /// The kind of the error.
  public let code: Code
  /// A description of the error in one sentence.
  public let message: String
  /// The details that the service added for programs, null when it added none.
  package let data: JSONValue

  package init(code: Code, message: String, data: JSONValue = .null) {
    self.code = code
    self.message = message
    self.data = data
  }

  init(_ mismatch: ValueMismatch) {
    self.init(code: .valueMismatch, message: mismatch.description)
  }

  /// Advice on how to correct the error, nil when the service gave none.
  public var hint: String? { data["hint"]?.string }

  /// The message, and the hint if there is one.
  public var description: String { hint.map { "\(message) (\($0))" } ?? message }
}
