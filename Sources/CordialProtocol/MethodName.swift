// CordialProtocol: the only definition of the vocabulary of the wire: the names of methods, errors
// and members, and a type for each request, result and notification. The service, the client
// library, mocks and the command line share these definitions.
//
// Must not know: schemas, storage, sockets.

/// The names of the requests and notifications, in the order of the documentation.
package enum MethodName: String, Sendable, CaseIterable {
  case initialize
  case initialized
  case shutdown
  case exit
  case cancelRequest = "$/cancelRequest"
  case setTrace = "$/setTrace"
  case fetch
  case save
  case delete
  case update
  case undo
  case redo
  case observe
  case unobserve
  case flush = "observe/flush"
  case listSubscriptions = "observe/list"
  case changes
  case search
  case explainSearch = "search/explain"
  case suggest
  case indexStatus = "index/status"
  case verifyIndex = "index/verify"
  case rebuildIndex = "index/rebuild"
  case pauseIndex = "index/pause"
  case resumeIndex = "index/resume"
  case history
  case purgeHistory = "history/purge"
  case registerFollower = "follower/register"
  case acknowledge = "follower/acknowledge"
  case listFollowers = "follower/list"
  case removeFollower = "follower/remove"
  case model
  case status
  case backupStore = "store/backup"
  case verifyStore = "store/verify"
  case compactStore = "store/compact"
  case discover = "rpc.discover"
}
