package import CordialProtocol
import JSON

/// The ordered list of all methods.
package enum MethodTable {
  /// The requests and notifications, in the order of the documentation.
  package static let all = MethodName.allCases.map { messageType(of: $0).method }

  /// Returns the type of a message; the type of a request conforms to `DescribedCall`.
  package static func messageType(of name: MethodName) -> any DescribedMessage.Type {
    switch name {
    case .initialize: InitializeCall.self
    case .initialized: InitializedNotification.self
    case .shutdown: ShutdownCall.self
    case .exit: ExitNotification.self
    case .cancelRequest: CancelNotification.self
    case .setTrace: SetTraceNotification.self
    case .fetch: FetchCall.self
    case .save: SaveCall.self
    case .delete: DeleteCall.self
    case .update: UpdateCall.self
    case .undo: UndoCall.self
    case .redo: RedoCall.self
    case .observe: ObserveCall.self
    case .unobserve: UnobserveCall.self
    case .flush: FlushCall.self
    case .listSubscriptions: ListSubscriptionsCall.self
    case .changes: ChangesNotification.self
    case .search: SearchCall.self
    case .explainSearch: SearchExplainCall.self
    case .suggest: SuggestCall.self
    case .indexStatus: IndexStatusCall.self
    case .verifyIndex: IndexVerifyCall.self
    case .rebuildIndex: IndexRebuildCall.self
    case .pauseIndex: IndexPauseCall.self
    case .resumeIndex: IndexResumeCall.self
    case .history: HistoryCall.self
    case .purgeHistory: PurgeCall.self
    case .registerFollower: RegisterFollowerCall.self
    case .acknowledge: AcknowledgeCall.self
    case .listFollowers: ListFollowersCall.self
    case .removeFollower: RemoveFollowerCall.self
    case .model: ModelCall.self
    case .status: StatusCall.self
    case .backupStore: BackupCall.self
    case .verifyStore: VerifyCall.self
    case .compactStore: CompactCall.self
    case .discover: DiscoverCall.self
    }
  }

  /// The maximum length of a method's name, in bytes.
  private static let nameBytesMax = 64

  private static let byName = Dictionary(uniqueKeysWithValues: all.map { ($0.name, $0) })

  /// Returns the method with this name that a client may call; nil if there is no such method.
  package static func method(named name: String) -> Method? {
    // A dictionary normalizes its keys, which takes long for a long name.
    guard name.utf8.count <= nameBytesMax, let method = byName[name],
      method.direction == .clientToServer
    else { return nil }
    return method
  }
}
