import JSON

/// The ordered list of all methods.
package enum MethodTable {
  /// The requests and notifications, in the order of the documentation.
  package static let all: [Method] = [
    InitializeCall.method, InitializedNotification.method, ShutdownCall.method,
    ExitNotification.method, CancelNotification.method, SetTraceNotification.method,
    FetchCall.method, SaveCall.method, DeleteCall.method, UpdateCall.method,
    UndoCall.method, RedoCall.method,
    ObserveCall.method, UnobserveCall.method, FlushCall.method, ListSubscriptionsCall.method,
    ChangesNotification.method,
    SearchCall.method, SearchExplainCall.method, SuggestCall.method,
    IndexStatusCall.method, IndexVerifyCall.method,
    IndexRebuildCall.method, IndexPauseCall.method, IndexResumeCall.method,
    HistoryCall.method, PurgeCall.method, RegisterFollowerCall.method, AcknowledgeCall.method,
    ListFollowersCall.method, RemoveFollowerCall.method,
    ModelCall.method, StatusCall.method, BackupCall.method, VerifyCall.method, CompactCall.method,
    DiscoverCall.method,
  ]

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
