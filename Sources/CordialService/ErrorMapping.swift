import CordialProtocol
import Interruptions
import JSON
import JSONRPC
package import PersistentStore
import Spotlight

extension RPCError {
  /// Creates the wire error of a store error.
  package init(_ error: StoreError) {
    var data: [JSONMember] = [JSONMember(.code, .string(error.code.rawValue))]
    if let hint = error.hint { data.append(JSONMember(.hint, .string(hint.words))) }
    data += error.data
    if !error.problems.isEmpty {
      data.append(
        JSONMember(.problems, .array(error.problems.map { $0.json(code: $0.code.wireCode) }))
      )
    }
    self.init(code: error.code.wireCode, message: error.message, data: .object(data))
  }

  /// Creates the wire error of any error.
  init(any error: any Error) {
    switch error {
    case let error as RPCError: self = error
    case let error as SpotlightError: self.init(error)
    default: self.init(StoreError(any: error))
    }
  }

  /// Creates the wire error of a request whose wait for a follower failed.
  init(late error: any Error) {
    switch error {
    case is RPCError, is SpotlightError, is StoreError, is Interrupted: self.init(any: error)
    default: self.init(SpotlightError(.failed, "The index cannot be updated: \(error)"))
    }
  }

  /// Creates the wire error of an index error.
  init(_ error: SpotlightError) {
    switch error.code {
    case .busy, .damaged:
      self.init(
        code: ErrorName.storeBusy.code,
        message: error.message,
        data: .object(
          [JSONMember(.code, "storeBusy")]
            + (error.advice.map { [JSONMember(.hint, .string($0.words))] } ?? [])
        )
      )
    case .failed:
      self.init(.internalError, error.message, data: .object([.code: "indexFailed"]))
    case .stopping: self.init(StoreError(.closed, error.message))
    case .expired:
      self.init(
        code: ErrorName.historyExpired.code,
        message: error.message,
        data: .object([.code: "historyExpired", .hint: "index/status names the oldest commit"])
      )
    }
  }
}

extension SpotlightError.Advice {
  /// The advice in the words of the protocol.
  fileprivate var words: String {
    switch self {
    case .resume: "index/resume lets it follow the history again"
    case .freeSpace: "Free disk space; the index tries again by itself"
    case .readStatus: "index/status says what the index does"
    }
  }
}

extension SpotlightError {
  /// The error of an index whose last commit the history no longer has.
  static let needsRebuild = SpotlightError(
    .busy,
    "The index stopped at a commit that the history no longer has; it has to be rebuilt"
  )
}

extension StoreHint {
  /// The advice in the words of the protocol and of the command line.
  package var words: String {
    switch self {
    case .text(let text): text
    case .createStore(let path): "Make one from a model: cordial init \(path) --model FILE"
    case .openForWriting: "Serve it without --read-only to write"
    case .openWithItsModel:
      "Serve it with the newer model, or without --model; a model that returns to an earlier form "
        + "on purpose needs another versionHashModifier"
    case .compareModels: "cordial model diff shows the differences; the store is unchanged"
    case .registerFollower: "follower/register creates one"
    case .registerFollowerAgain: "Read everything again, then register it with since"
    case .readAgain: "Start over from a fresh fetch or observe"
    case .examineDamage: "See what `cordial doctor` finds, and restore a backup"
    }
  }
}

extension StoreError.Code {
  /// The code of this error on the wire.
  package var wireCode: Int {
    switch self {
    case .modelInvalid: ErrorName.modelInvalid.code
    case .unknownEntity: ErrorName.unknownEntity.code
    case .unknownProperty: ErrorName.unknownProperty.code
    case .predicateInvalid: ErrorName.predicateInvalid.code
    case .modelMismatch: ErrorName.modelMismatch.code
    case .objectNotFound: ErrorName.objectNotFound.code
    case .validationFailed: ErrorName.validationFailed.code
    case .saveConflict: ErrorName.saveConflict.code
    case .invalidIdentifier: ErrorName.invalidIdentifier.code
    case .uniquenessViolation: ErrorName.uniquenessViolation.code
    case .deleteDenied: ErrorName.deleteDenied.code
    case .historyExpired: ErrorName.historyExpired.code
    case .limitExceeded: ErrorName.limitExceeded.code
    case .timedOut: ErrorName.timedOut.code
    case .cancelled: RPCError.Code.requestCancelled.rawValue
    case .storeBusy: ErrorName.storeBusy.code
    case .storeFull: ErrorName.storeFull.code
    case .storeCorrupt: ErrorName.storeCorrupt.code
    case .storeReadOnly: ErrorName.storeReadOnly.code
    case .invalidRequest: RPCError.Code.invalidParams.rawValue
    case .cannotOpen, .closed, .internalError: RPCError.Code.internalError.rawValue
    }
  }
}
