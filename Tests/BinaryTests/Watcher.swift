/// A client that observes fetches in every mode and holds what it is told against what it can fetch.
final class Watcher {
  let peer: Peer
  private let fetches: [JSON]
  private var views: [View] = []
  private var sequences: [[JSON]] = []
  /// The subscriptions of each fetch: by values, by IDs, by signal.
  private var names: [[JSON]] = []
  private var position: JSON

  init(_ peer: Peer, _ fetches: [JSON]) throws {
    self.peer = peer
    self.fetches = fetches
    position = .null
    for fetch in fetches {
      var names: [JSON] = []
      for mode in ["values", "ids", "signal"] {
        let observed = try peer.call("observe", ["fetch": fetch, "mode": .string(mode)])
        names.append(observed["subscription"] ?? .null)
        if mode == "values" { views.append(View(observed)) }
        if mode == "ids" { sequences.append(observed["result"]?["ids"]?.array ?? []) }
        position = observed["token"] ?? .null
      }
      self.names.append(names)
    }
  }

  /// Takes everything that happened up to now, and says what is wrong; nil when nothing is.
  func catchUp() throws -> String? {
    try peer.call("observe/flush")
    for changes in peer.takeNotifications().compactMap({ $0["params"] }) {
      if changes["from"] != position { return "a gap before \(changes.text)" }
      position = changes["token"] ?? .null
      for index in fetches.indices {
        if let problem = try apply(changes, index) { return problem }
      }
    }
    for (index, fetch) in fetches.enumerated() {
      let fresh = try peer.call("fetch", fetch)["objects"] ?? .null
      if .array(views[index].objects) != fresh {
        return
          "\(fetch.text)\ntold: \(JSON.array(views[index].objects).text)\nfetched: \(fresh.text)"
      }
      let ids = (fresh.array ?? []).map { $0["id"] ?? .null }
      if sequences[index] != ids {
        return
          "\(fetch.text)\ntold: \(JSON.array(sequences[index]).text)\nids: \(JSON.array(ids).text)"
      }
    }
    return nil
  }

  private func apply(_ changes: JSON, _ index: Int) throws -> String? {
    func update(_ mode: Int) -> JSON? {
      changes["updates"]?.array?.first { $0["subscription"] == names[index][mode] }
    }
    let values = update(0)
    if let values { try views[index].apply(update: values) }
    if let ids = update(1) { apply(ids: ids, index) }
    let signal = update(2)
    guard (values == nil) == (signal == nil), signal == nil || signal?["signal"] == true else {
      return
        "\(fetches[index].text): values \(values?.text ?? "silent"), signal \(signal?.text ?? "silent")"
    }
    return nil
  }

  private func apply(ids update: JSON, _ index: Int) {
    if let result = update["result"] { return sequences[index] = result["ids"]?.array ?? [] }
    for row in update["remove"]?.array ?? [] {
      guard let offset = row["offset"]?.integer, sequences[index].indices.contains(offset) else {
        continue
      }
      sequences[index].remove(at: offset)
    }
    for row in update["insert"]?.array ?? [] {
      guard let offset = row["offset"]?.integer, offset <= sequences[index].count else { continue }
      sequences[index].insert(row["id"] ?? .null, at: offset)
    }
  }
}
