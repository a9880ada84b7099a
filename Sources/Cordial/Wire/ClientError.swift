package import CordialProtocol
package import JSON
import JSONRPC

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

    private init(_ name: ErrorName) {
      self.init(rawValue: name.code)
    }

    private init(_ code: RPCError.Code) {
      self.init(rawValue: code.rawValue)
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
    public static let methodNotFound = Code(.methodNotFound)
    /// A param has a wrong form.
    public static let invalidParams = Code(.invalidParams)
    /// The service has failed.
    public static let internalError = Code(.internalError)
    /// The request was cancelled.
    public static let requestCancelled = Code(.requestCancelled)

    /// The model is invalid.
    public static let modelInvalid = Code(.modelInvalid)
    /// The model has no entity of that name.
    public static let unknownEntity = Code(.unknownEntity)
    /// The entity has no property of that name.
    public static let unknownProperty = Code(.unknownProperty)
    /// The predicate is invalid.
    public static let predicateInvalid = Code(.predicateInvalid)
    /// The store has another model.
    public static let modelMismatch = Code(.modelMismatch)
    /// No object has that ID.
    public static let objectNotFound = Code(.objectNotFound)
    /// The objects that a save would leave are invalid.
    public static let validationFailed = Code(.validationFailed)
    /// Another client has changed the same properties.
    public static let saveConflict = Code(.saveConflict)
    /// A text is not the ID of an object.
    public static let invalidIdentifier = Code(.invalidIdentifier)
    /// Another object has the same unique values.
    public static let uniquenessViolation = Code(.uniquenessViolation)
    /// A delete rule denies the deletion.
    public static let deleteDenied = Code(.deleteDenied)
    /// The log does not reach back to that position.
    public static let historyExpired = Code(.historyExpired)
    /// The subscription does not exist.
    public static let unknownSubscription = Code(.unknownSubscription)
    /// The request exceeds a limit of the service.
    public static let limitExceeded = Code(.limitExceeded)
    /// The request took longer than its time limit.
    public static let timedOut = Code(.timedOut)
    /// The store is busy.
    public static let storeBusy = Code(.storeBusy)
    /// The disk is full.
    public static let storeFull = Code(.storeFull)
    /// The store is damaged.
    public static let storeCorrupt = Code(.storeCorrupt)
    /// The store cannot be written.
    public static let storeReadOnly = Code(.storeReadOnly)
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

  init(_ error: RPCError) {
    self.init(
      code: Code(rawValue: error.code),
      message: error.message,
      data: error.data ?? .null
    )
  }

  init(_ mismatch: ValueMismatch) {
    self.init(code: .valueMismatch, message: mismatch.description)
  }

  /// Advice on how to correct the error, nil when the service gave none.
  public var hint: String? { data[.hint]?.string }

  /// The message, and the hint if there is one.
  public var description: String { hint.map { "\(message) (\($0))" } ?? message }
}

extension Call {
  /// Reads a result that the service sent.
  ///
  /// - Parameter json: The result.
  /// - Returns: The result.
  /// - Throws: `ClientError` with the code `internalError` for a result that lacks a member.
  package static func result(_ json: JSONValue) throws(ClientError) -> Result {
    do throws(RPCError) {
      return try Result(json)
    } catch {
      throw ClientError(
        code: .internalError,
        message: "The result of \(name.rawValue) cannot be read: \(error.message)"
      )
    }
  }
}

extension WireObject {
  /// Reads an object that the service sent.
  ///
  /// - Throws: `ClientError` with the code `internalError` for an object that lacks a member.
  package static func read(_ json: JSONValue) throws(ClientError) -> Self {
    do throws(RPCError) {
      return try Self(json)
    } catch {
      throw ClientError(error)
    }
  }
}
