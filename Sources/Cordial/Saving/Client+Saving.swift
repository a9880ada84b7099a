import CordialProtocol
import CordialValues

extension Client {
  /// Saves changes as one transaction.
  ///
  /// A save whose response was lost is repeated when the client is connected again. The service
  /// recognizes the repetition, so that the changes are stored once.
  ///
  /// - Parameters:
  ///   - changes: The changes.
  ///   - mergePolicy: The decision where another client has changed the same objects.
  ///   - author: The author in the history; nil for the default of the service.
  ///   - isDurable: Whether the response waits until the changes are safe from a power failure.
  /// - Returns: The IDs and versions of the objects.
  /// - Throws: `ClientError`; `connectionEnded` where the client was not connected, or could not
  ///   connect again within about half a minute. In the second case the changes may be stored.
  @discardableResult
  public func save(
    _ changes: SaveRequest,
    mergePolicy: MergePolicy = .error,
    author: String? = nil,
    isDurable: Bool = true
  ) async throws(ClientError) -> SaveResult {
    var call = try changes.call()
    call.mergePolicy = mergePolicy.rawValue
    call.transaction = "\(UUIDValue.next())"
    call.author = author
    call.isDurable = isDurable
    return SaveResult(try await core.callRepeating(call))
  }

  /// Reverts the newest saves of an author.
  ///
  /// - Parameters:
  ///   - author: The author; nil for the default of the service.
  ///   - mergePolicy: The decision where another author has changed the same properties since.
  /// - Returns: The number of undone saves; 0 where there is nothing to undo.
  /// - Throws: `ClientError`.
  @discardableResult
  public func undo(
    author: String? = nil,
    mergePolicy: MergePolicy = .error
  ) async throws(ClientError) -> Int {
    let result = try await core.callRepeating(UndoCall(Self.revert(author, mergePolicy)))
    return Int(result.undone)
  }

  /// Applies again what an author has undone last.
  ///
  /// - Parameters:
  ///   - author: The author; nil for the default of the service.
  ///   - mergePolicy: The decision where another author has changed the same properties since.
  /// - Returns: The number of saves; 0 where there is nothing to apply.
  /// - Throws: `ClientError`.
  @discardableResult
  public func redo(
    author: String? = nil,
    mergePolicy: MergePolicy = .error
  ) async throws(ClientError) -> Int {
    let result = try await core.callRepeating(RedoCall(Self.revert(author, mergePolicy)))
    return Int(result.undone)
  }

  private static func revert(_ author: String?, _ mergePolicy: MergePolicy) -> RevertParams {
    var params = RevertParams()
    params.author = author
    params.mergePolicy = mergePolicy.rawValue
    params.transaction = "\(UUIDValue.next())"
    return params
  }
}

extension ClientCore {
  /// The number of times that a call is repeated, and the longest pause before one.
  private static let repetitions = (max: 20, longestMilliseconds: 2000)

  /// Calls a method whose params have a `transaction`, again where the response was lost.
  func callRepeating<Params: Call>(
    _ call: Params
  ) async throws(ClientError) -> Params.Result {
    guard connectionState == .connected else {
      throw ClientError(code: .connectionEnded, message: "The client is not connected")
    }
    var milliseconds = 20
    for repetition in 0... {
      do throws(ClientError) {
        return try await self.call(call)
      } catch {
        guard error.code == .connectionEnded, repetition < Self.repetitions.max,
          connectionState != .closed, !Task.isCancelled
        else { throw error }
      }
      await wait(milliseconds)
      milliseconds = min(2 * milliseconds, Self.repetitions.longestMilliseconds)
    }
    throw ClientError(code: .connectionEnded, message: "The client is not connected")
  }
}
