import JSONRPC

/// The names of Cordial's own errors, with their codes.
package enum ErrorName: String, Sendable, CaseIterable {
  case modelInvalid, unknownEntity, unknownProperty, predicateInvalid, modelMismatch
  case objectNotFound, validationFailed, saveConflict, invalidIdentifier, uniquenessViolation
  case deleteDenied
  case historyExpired
  case unknownSubscription, limitExceeded, timedOut
  case storeBusy, storeFull, storeCorrupt, storeReadOnly

  /// The code on the wire.
  package var code: Int {
    switch self {
    case .modelInvalid: 1001
    case .unknownEntity: 1002
    case .unknownProperty: 1003
    case .predicateInvalid: 1004
    case .modelMismatch: 1005
    case .objectNotFound: 1101
    case .validationFailed: 1102
    case .saveConflict: 1103
    case .invalidIdentifier: 1104
    case .uniquenessViolation: 1105
    case .deleteDenied: 1106
    case .historyExpired: 1201
    case .unknownSubscription: 1301
    case .limitExceeded: RPCError.limitExceededCode
    case .timedOut: 1303
    case .storeBusy: 1401
    case .storeFull: 1402
    case .storeCorrupt: 1403
    case .storeReadOnly: 1404
    }
  }
}
