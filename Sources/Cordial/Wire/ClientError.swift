package import CordialProtocol
package import JSON
import JSONRPC

/// The reason why a call failed.
public struct ClientError: Error, Equatable, Sendable, CustomStringConvertible {
  /// The kind of an error: a code of the protocol or of the client.
  public struct Code: RawRepresentable, Hashable, Sendable, ExpressibleByIntegerLiteral {
    /// The number on the wire.
    public let rawValue: Int

    /// Creates a code, which may be unknown to this version of the library.
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

    /// The connection ended before the response, or the client was not connected.
    public static let connectionEnded: Code = 0
    /// A type does not fit the model, or an object cannot be decoded as the type.
    public static let valueMismatch: Code = 1
    /// The ID belongs to a mock, so that no store has an object with the ID.
    public static let mockIdentifier: Code = 2
    /// The service speaks a different version of the protocol.
    public static let protocolMismatch: Code = 3

    /// The service does not know the method.
    public static let methodNotFound = Code(.methodNotFound)
    /// A param is invalid.
    public static let invalidParams = Code(.invalidParams)
    /// The service failed internally.
    public static let internalError = Code(.internalError)
    /// The request was cancelled.
    public static let requestCancelled = Code(.requestCancelled)

    /// The model is invalid.
    public static let modelInvalid = Code(.modelInvalid)
    /// The model has no entity with the requested name.
    public static let unknownEntity = Code(.unknownEntity)
    /// The entity has no property with the requested name.
    public static let unknownProperty = Code(.unknownProperty)
    /// The predicate is invalid.
    public static let predicateInvalid = Code(.predicateInvalid)
    /// The store does not match the model.
    public static let modelMismatch = Code(.modelMismatch)
    /// No object has the requested ID.
    public static let objectNotFound = Code(.objectNotFound)
    /// The save would leave invalid objects.
    public static let validationFailed = Code(.validationFailed)
    /// Another save has changed the same properties.
    public static let saveConflict = Code(.saveConflict)
    /// A text is not the ID of an object.
    public static let invalidIdentifier = Code(.invalidIdentifier)
    /// Another object has the same unique values.
    public static let uniquenessViolation = Code(.uniquenessViolation)
    /// A delete rule denies the deletion.
    public static let deleteDenied = Code(.deleteDenied)
    /// The history does not reach back to the requested position.
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
