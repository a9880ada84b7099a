import Cordial
import CordialValues
import JSON
import PersistentHistory
import PersistentStore
import TestSeeds
import TestStores
import Testing

/// Random saves of random models, followed back and forth.
@Suite struct `The past of random models` {
  // Evidence: P-071a, P-071b, P-071c, P-071d
  @Test func `a history that is read backwards`() async throws {
    try await WideSeeds.each(40) { seed in
      let filled = try await WideFilledStore(seed)
      let model = filled.model
      var states = [WideReplay(try filled.snapshot, model)]
      for _ in 0..<8 {
        let token = try filled.token()
        try await filled.change()
        if try filled.token() != token { states.append(WideReplay(try filled.snapshot, model)) }
      }
      let log = try filled.log()
      _ = try filled.close()
      let commits = try await withWideEngine(filled.folder.path, nil) { client in
        var commits: [JSONValue] = []
        var params: [JSONMember] = [JSONMember("limit", 3)]
        while true {
          let page = try await client.call("history", .object(params))
          commits += page["transactions"]?.array ?? []
          guard page["more"] == true, let token = page["token"] else { return commits }
          params = [JSONMember("limit", 3), JSONMember("since", token)]
        }
      }
      #expect(commits.map { $0["token"]?.string } == log)
      // Before the first commit there was nothing.
      states.insert(WideReplay(WideState(), model), at: 0)
      guard commits.count < states.count, var replay = states.last else { return }
      for (commit, wanted) in zip(commits.reversed(), states.dropLast().reversed()) {
        replay.undo(commit)
        let differences = replay.differences(from: wanted)
        guard !differences.isEmpty else { continue }
        Issue.record(
          """
          \(differences.joined(separator: "\n"))
          before \(commit.text)
          \(model.text)
          \(Seeds.repeating(seed, "a history that is read backwards"))
          """
        )
        return
      }
    }
  }

  // Evidence: P-057c
  @Test func `a snapshot of each commit shows what a read at that commit showed`() async throws {
    try await WideSeeds.each(40) { seed in
      let filled = try await WideFilledStore(seed)
      let model = filled.model
      let store = try #require(filled.store)
      var states: [(token: StoreToken, state: WideState)] = []
      var random = SplitMix64(seed: seed)
      for step in 0..<14 {
        let state = (try store.snapshot(\.token), try filled.snapshot)
        if states.last?.token != state.0 { states.append(state) }
        switch random.below(6) {
        case 0 where step > 4: try await store.save(#"{"undo":1,"author":"ann"}"#)
        case 1 where step > 4: try await store.save(#"{"redo":1,"author":"ann"}"#)
        default: try await filled.change([JSONMember("author", "ann")])
        }
      }
      for (token, state) in states.shuffled(using: &random) {
        store.past = token
        let found = try filled.snapshot
        store.past = nil
        guard found != state else { continue }
        Issue.record(
          """
          \(token) shows
          \(found.differences(from: state, model).joined(separator: "\n"))
          \(model.text)
          \(Seeds.repeating(seed, "a snapshot of each commit"))
          """
        )
        return
      }
    }
  }

  // Evidence: P-124b, P-127a, P-127b
  @Test func `an undo of everything, and a redo`() async throws {
    try await WideSeeds.each(40) { seed in
      let filled = try await WideFilledStore(seed)
      let model = filled.model
      var states = [try filled.snapshot.timeless(model)]
      var tokens = [try filled.token()]
      for _ in 0..<8 {
        try await filled.change([JSONMember("author", "ann")])
        guard try filled.token() != tokens.last else { continue }
        tokens.append(try filled.token())
        states.append(try filled.snapshot.timeless(model))
      }
      func expect(_ index: Int, _ what: String) throws -> Bool {
        let found = try filled.snapshot.timeless(model)
        if found == states[index] { return true }
        Issue.record(
          """
          \(what) of \(states.count - 1) leaves
          \(found.differences(from: states[index], model).joined(separator: "\n"))
          \(model.text)
          \(Seeds.repeating(seed, "an undo of everything, and a redo"))
          """
        )
        return false
      }
      var random = SplitMix64(seed: seed)
      for direction in ["undo", "redo", "undo", "redo"] {
        var place = direction == "undo" ? states.count - 1 : 0
        let end = direction == "undo" ? 0 : states.count - 1
        while place != end {
          let count = 1 + random.below(abs(end - place))
          let answer = try await filled.store?.save(#"{"\#(direction)":\#(count),"author":"ann"}"#)
          guard answer?["undone"]?.integer == Int64(count) else {
            Issue.record("\(answer?.text ?? ""); \(Seeds.repeating(seed, "an undo of everything"))")
            return
          }
          place += direction == "undo" ? -count : count
          guard try expect(place, "\(direction) \(count) to \(place)") else { return }
        }
      }
      try filled.verify(seed, "an undo of everything, and a redo")
    }
  }

  // Evidence: P-073a, P-134a
  @Test func `two processes that save in turn`() async throws {
    try await WideSeeds.each(40) { seed in
      let filled = try await WideFilledStore(seed)
      let model = filled.model
      let second = try TestStore(nil, in: filled.folder)
      var random = SplitMix64(seed: seed)
      var tokens = try filled.log()
      for _ in 0..<10 {
        let isSecond = random.oneIn(2)
        try await filled.change([], in: isSecond ? second : nil)
        let token = try isSecond ? second.snapshot { $0.token.description } : filled.token()
        if token != tokens.last { tokens.append(token) }
      }
      let comment: Comment = "\(Seeds.repeating(seed, "two processes that save in turn"))"
      #expect(try WideState(second, model) == (try filled.snapshot), comment)
      for store in [try #require(filled.store), second] {
        let commits = try store.snapshot { snapshot in
          try snapshot.log.transactions(after: 0, through: .max, limit: .max).map {
            try snapshot.token(of: $0.number).description
          }
        }
        #expect(commits == tokens, comment)
      }
      try filled.verify(seed, "two processes that save in turn")
    }
  }
}
