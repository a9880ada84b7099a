import CordialProtocol
import CordialValues

extension Client {
  /// Saves changes as one transaction.
  ///
  /// A save whose response is lost is repeated after the client reconnects. The service recognizes
  /// the repetition, so that it stores the changes once.
  ///
  /// - Parameters:
  ///   - changes: The changes.
  ///   - mergePolicy: The policy for conflicts with changes of other clients.
  ///   - author: The author in the history; nil for a save without an author.
  ///   - isDurable: Whether the response waits until the changes are safe from a power failure.
  /// - Returns: The IDs and versions of the objects.
  /// - Throws: `ClientError`; `connectionEnded` if the client is not connected, or if it cannot
  ///   reconnect within about half a minute. In the second case the changes may be stored.
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

  /// Reverts an author's newest save that is not undone.
  ///
  /// Adjacent saves with the same author and context name form a group, which is reverted as a
  /// whole.
  ///
  /// - Parameters:
  ///   - author: The author; nil for saves without an author.
  ///   - mergePolicy: The policy for properties that later saves have changed.
  /// - Returns: The number of reverted groups: 1, or 0 if there is nothing to undo.
  /// - Throws: `ClientError`.
  @discardableResult
  public func undo(
    author: String? = nil,
    mergePolicy: MergePolicy = .error
  ) async throws(ClientError) -> Int {
    let result = try await core.callRepeating(UndoCall(Self.revert(author, mergePolicy)))
    return Int(result.undone)
  }

  /// Reapplies the save that an author has undone last.
  ///
  /// - Parameters:
  ///   - author: The author; nil for saves without an author.
  ///   - mergePolicy: The policy for properties that later saves have changed.
  /// - Returns: The number of applied groups of saves: 1, or 0 if there is nothing to redo.
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
  /// The maximum number of repetitions of a call, and the longest pause before a repetition.
  private static let repetitions = (max: 20, longestMilliseconds: 2000)

  /// Calls a method whose params have a `transaction`, and repeats the call if its response is
  /// lost.
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
