import JSONRPC
import Spotlight

/// The searches of a connection that have begun, and that its client can stop.
struct RunningSearches {
  private struct Search {
    let serial: Int
    let id: RequestID
    /// The key of the subscription that the search is for; nil for none.
    let key: String?
    let stop: SearchStop
  }

  private var searches: [Search] = []

  /// Adds the search of a request, until `remove`.
  mutating func add(_ request: Request, key: String?) -> SearchStop {
    let stop = SearchStop()
    searches.append(Search(serial: request.serial, id: request.id, key: key, stop: stop))
    return stop
  }

  /// Removes the search of a request, if it has one.
  mutating func remove(_ serial: Int) {
    searches.removeAll { $0.serial == serial }
  }

  /// Stops the search of a request, if it has one.
  func stop(_ id: RequestID) {
    for search in searches where search.id == id { search.stop.stop() }
  }

  /// Stops the search for a subscription that another one replaces.
  func stop(key: String) {
    for search in searches where search.key == key { search.stop.stop() }
  }

  /// Stops all searches, after the connection has ended.
  func stopAll() {
    for search in searches { search.stop.stop() }
  }
}
