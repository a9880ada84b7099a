/// A client that keeps the results of some fetches over its connections.
struct ResumingClient {
  private let requests: [JSON]
  private var rows: [[JSON]]
  private var names: [String] = []
  private(set) var position: JSON = .null
  private(set) var problems: [String] = []
  /// The number of `changes` that were applied.
  private(set) var changesCount = 0
  /// The names of other subscriptions of the connection.
  var others: Set<String> = []

  init(_ requests: [JSON]) {
    self.requests = requests
    rows = Array(repeating: [], count: requests.count)
  }

  var states: [(request: JSON, rows: [JSON])] {
    zip(requests, rows).map { ($0, $1) }
  }

  mutating func resume(on peer: Peer) throws {
    let since = position
    names = []
    for (index, request) in requests.enumerated() {
      var params: JSON = ["fetch": request]
      if since != .null { params = params.adding("since", since) }
      let answer = try peer.call("observe", params)
      // The changes of the older subscriptions come before the response.
      for message in peer.takeNotifications() { try apply(message["params"] ?? .null) }
      names.append(answer["subscription"]?.string ?? "")
      position = answer["token"] ?? .null
      if answer["fresh"] == true {
        let isFirst = since == .null && answer["why"] == nil
        if !isFirst, answer["why"] != "larger" { problems.append("why: \(answer.text)") }
        rows[index] = answer["result"]?["objects"]?.array ?? []
      } else {
        apply(answer["update"] ?? .null, to: index)
      }
    }
  }

  mutating func apply(_ changes: JSON) throws {
    changesCount += 1
    if changes["from"] != position { problems.append("from: \(changes.text)") }
    for update in changes["updates"]?.array ?? [] {
      let name = update["subscription"]?.string ?? ""
      if others.contains(name) { continue }
      guard let index = names.firstIndex(of: name) else {
        problems.append("unknown: \(update.text)")
        continue
      }
      if update["fresh"] == true {
        rows[index] = update["result"]?["objects"]?.array ?? []
      } else {
        apply(update, to: index)
      }
    }
    position = changes["token"] ?? .null
  }

  /// Observes another request, whose updates are not applied.
  ///
  /// - Parameters:
  ///   - params: The params of `observe`.
  ///   - peer: The connection.
  /// - Returns: The response.
  /// - Throws: `Failure`.
  mutating func observe(_ params: JSON, on peer: Peer) throws -> JSON {
    let answer = try peer.call("observe", params)
    for message in peer.takeNotifications() { try apply(message["params"] ?? .null) }
    others.insert(answer["subscription"]?.string ?? "")
    position = answer["token"] ?? .null
    return answer
  }

  private mutating func apply(_ update: JSON, to index: Int) {
    for removal in update["remove"]?.array ?? [] {
      guard let offset = removal["offset"]?.integer, rows[index].indices.contains(offset),
        rows[index][offset]["id"] == removal["id"]
      else {
        problems.append("remove: \(removal.text)")
        continue
      }
      rows[index].remove(at: offset)
    }
    for insertion in update["insert"]?.array ?? [] {
      guard let offset = insertion["offset"]?.integer, offset <= rows[index].count else {
        problems.append("insert: \(insertion.text)")
        continue
      }
      rows[index].insert(insertion["object"] ?? .null, at: offset)
    }
    for change in update["update"]?.array ?? [] {
      guard let offset = change["offset"]?.integer, rows[index].indices.contains(offset) else {
        problems.append("update: \(change.text)")
        continue
      }
      rows[index][offset] = change["object"] ?? .null
    }
  }
}

extension JSON {
  /// The object with another member.
  func adding(_ name: String, _ value: JSON) -> JSON {
    .object((object ?? [:]).merging([name: value]) { $1 })
  }
}
