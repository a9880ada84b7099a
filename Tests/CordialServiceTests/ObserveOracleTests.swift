import TestSeeds
import Testing

/// The model and the length of the random scripts.
enum ObserveOracle {
  static let steps = 60

  static let model = """
    {"name": "Observed", "version": "1", "entities": [
      {"name": "Group",
       "attributes": [{"name": "title", "type": "string", "optional": true},
                      {"name": "rank", "type": "int64", "optional": true},
                      {"name": "count", "type": "int64", "derived": "tasks.@count"}],
       "relationships": [
         {"name": "tasks", "destination": "Task", "toMany": true, "inverse": "group",
          "deleteRule": "cascade"},
         {"name": "owner", "destination": "Owner", "inverse": "groups", "optional": true}]},
      {"name": "Owner",
       "attributes": [{"name": "name", "type": "string", "optional": true}],
       "relationships": [
         {"name": "groups", "destination": "Group", "toMany": true, "inverse": "owner"}]},
      {"name": "Task",
       "attributes": [
         {"name": "title", "type": "string", "optional": true, "sorted": "localized"},
         {"name": "priority", "type": "int16", "default": 0},
         {"name": "done", "type": "boolean", "default": false},
         {"name": "size", "type": "double", "optional": true},
         {"name": "due", "type": "date", "optional": true}],
       "relationships": [
         {"name": "group", "destination": "Group", "inverse": "tasks", "optional": true},
         {"name": "tags", "destination": "Tag", "toMany": true, "inverse": "tasks"},
         {"name": "friends", "destination": "Task", "toMany": true, "inverse": "friends"},
         {"name": "parent", "destination": "Task", "inverse": "children", "optional": true},
         {"name": "children", "destination": "Task", "toMany": true, "ordered": true,
          "inverse": "parent"},
         {"name": "memo", "destination": "Memo", "inverse": "task", "optional": true,
          "deleteRule": "cascade"}]},
      {"name": "Special", "parent": "Task",
       "attributes": [{"name": "extra", "type": "string", "optional": true}]},
      {"name": "Tag", "identity": "name",
       "attributes": [{"name": "name", "type": "string"}],
       "relationships": [
         {"name": "tasks", "destination": "Task", "toMany": true, "inverse": "tags"}]},
      {"name": "Memo",
       "attributes": [{"name": "content", "type": "string", "optional": true}],
       "relationships": [
         {"name": "task", "destination": "Task", "inverse": "memo", "optional": true}]}]}
    """
}

@Suite struct `The state of a client that applies every update` {
  // Evidence: P-080a, P-080d, P-081a, P-081b, P-082a, P-082b, P-082c, P-084a, P-084b
  // Evidence: P-081c, P-082d, P-083, P-085a, P-085c, P-086a
  // In seed 115, two connections flush while steps leave out all requests; in seed 334, a request is
  // compiled for dangling references, and its client has an earlier result; in seed 796, the log
  // loses commits of which a client was not yet notified.
  @Test(arguments: Seeds.first(30, and: [115, 334, 796]))
  func `equals a fetch of the same request after every commit`(seed: UInt64) async throws {
    let failure: String? = try await onOwnThread {
      do {
        let run = try ObserveRun(seed: seed)
        try run.run(steps: ObserveOracle.steps)
        // A script whose writes are refused would test nothing.
        guard run.accepted > run.refused else {
          return "\(run.refused) of \(run.accepted + run.refused) writes were refused"
        }
        return nil
      } catch {
        return "\(error)"
      }
    }
    if let failure { Issue.record("\(failure)\n\(Seeds.repeating(seed))") }
  }
}

@Suite struct `What a client receives` {
  // Evidence: P-086d
  // In seed 103, a client does not read while its result is read again and stays equal; in seed 19,
  // explanations of another length divide an update into other parts.
  @Test(arguments: Seeds.first(6, and: [19, 103]))
  func `is the same whether memory or SQL matches the changes`(seed: UInt64) async throws {
    func received(_ matchesInMemory: Bool) async throws -> [String] {
      try await onOwnThread {
        let run = try ObserveRun(seed: seed, isSettled: true, matchesInMemory: matchesInMemory)
        try run.run(steps: ObserveOracle.steps)
        return try run.received()
      }
    }
    let (memory, sql) = (try await received(true), try await received(false))
    try #require(memory.count == sql.count, "\(Seeds.repeating(seed))")
    for (first, second) in zip(memory, sql) where first != second {
      let lines = zip(first.split(separator: "\n"), second.split(separator: "\n"))
      let different = lines.first { $0 != $1 }
      Issue.record("\(different.map { "\($0)\n\($1)" } ?? "lengths")\n\(Seeds.repeating(seed))")
      return
    }
  }
}
