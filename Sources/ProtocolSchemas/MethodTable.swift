import CordialProtocol
import JSON

/// The ordered list of all methods.
package enum MethodTable {
  /// The requests and notifications, in the order of the documentation.
  package static let all = MethodName.allCases.map(row)

  private static func row(_ name: MethodName) -> Method {
    switch name {
    case .initialize: InitializeCall.method
    case .initialized: InitializedNotification.method
    case .shutdown: ShutdownCall.method
    case .exit: ExitNotification.method
    case .cancelRequest: CancelNotification.method
    case .setTrace: SetTraceNotification.method
    case .fetch: FetchCall.method
    case .save: SaveCall.method
    case .delete: DeleteCall.method
    case .update: UpdateCall.method
    case .undo: UndoCall.method
    case .redo: RedoCall.method
    case .observe: ObserveCall.method
    case .unobserve: UnobserveCall.method
    case .flush: FlushCall.method
    case .listSubscriptions: ListSubscriptionsCall.method
    case .changes: ChangesNotification.method
    case .search: SearchCall.method
    case .explainSearch: SearchExplainCall.method
    case .suggest: SuggestCall.method
    case .indexStatus: IndexStatusCall.method
    case .verifyIndex: IndexVerifyCall.method
    case .rebuildIndex: IndexRebuildCall.method
    case .pauseIndex: IndexPauseCall.method
    case .resumeIndex: IndexResumeCall.method
    case .history: HistoryCall.method
    case .purgeHistory: PurgeCall.method
    case .registerFollower: RegisterFollowerCall.method
    case .acknowledge: AcknowledgeCall.method
    case .listFollowers: ListFollowersCall.method
    case .removeFollower: RemoveFollowerCall.method
    case .model: ModelCall.method
    case .status: StatusCall.method
    case .backupStore: BackupCall.method
    case .verifyStore: VerifyCall.method
    case .compactStore: CompactCall.method
    case .discover: DiscoverCall.method
    }
  }

  /// No method has a longer name, in bytes.
  private static let nameBytesMax = 64

  private static let byName = Dictionary(uniqueKeysWithValues: all.map { ($0.name, $0) })

  /// Returns the method that a client may call by this name, nil when there is none.
  package static func method(named name: String) -> Method? {
    // A dictionary's key is normalized, which takes long for a long one.
    guard name.utf8.count <= nameBytesMax, let method = byName[name],
      method.direction == .clientToServer
    else { return nil }
    return method
  }
}
