import JSON
import TestSeeds

/// Random requests of the whole language.
extension OracleRequest {
  /// Returns a request that `observe` accepts.
  ///
  /// - Parameters:
  ///   - ids: The stored IDs.
  ///   - random: The randomness.
  /// - Returns: The request, without a key.
  static func random(_ ids: StoredIDs, _ random: inout SplitMix64) -> OracleRequest {
    switch random.below(16) {
    case 0...3: byIDs(ids, &random)
    case 4: history(&random)
    case 5: count(ids, &random)
    case 6, 7: values(ids, &random)
    default: objects(ids, &random)
    }
  }

  private static func strings(_ texts: [String]) -> JSONValue {
    .array(texts.map { .string($0) })
  }

  /// Returns the members for an entity and a predicate.
  private static func fetch(
    _ entity: String,
    _ ids: StoredIDs,
    _ random: inout SplitMix64
  ) -> [JSONMember] {
    var members = [JSONMember("entity", .string(entity))]
    if !random.oneIn(3) {
      let predicate = PredicateChoice.random(entity, ids, &random)
      members.append(JSONMember("predicate", .string(predicate.text)))
      if !predicate.arguments.isEmpty {
        members.append(JSONMember("arguments", .object(predicate.arguments)))
      }
    }
    if entity == "Task", random.oneIn(8) { members.append(JSONMember("subentities", false)) }
    return members
  }

  private static func entity(_ random: inout SplitMix64) -> String {
    random.pick(["Task", "Task", "Task", "Task", "Group", "Group", "Tag", "Memo", "Special"])
  }

  // MARK: Parts of a fetch

  private static func sort(_ entity: String, _ random: inout SplitMix64) -> JSONValue {
    let choices: [[String]] =
      switch entity {
      case "Group": [["rank"], ["title:localized"], ["-tasks.@count"], ["-count", "title"]]
      case "Tag": [["name"], ["-tasks.@count"]]
      case "Memo": [["content"], ["task.title"], ["-task.group.rank"]]
      default:
        [
          ["title"], ["-priority"], ["title:localized"], ["group.title"], ["-tags.@count"], ["due"],
          ["done", "-title:localized"], ["-group.rank", "priority"], ["-size"],
          ["memo.content", "-due"],
        ]
      }
    return strings(random.pick(choices))
  }

  private static func select(_ entity: String, _ random: inout SplitMix64) -> JSONValue {
    let choices: [JSONValue] =
      switch entity {
      case "Group":
        [
          ["title"], ["n": "tasks.@count", "p": "tasks.@sum.priority"], ["title", "tasks.title"],
          ["tasks", "count"],
        ]
      case "Tag": [["name", "tasks.@count"], ["titles": "tasks.title"]]
      case "Memo": [["content", "task.title"], ["g": "task.group.title"]]
      default:
        [
          ["title"], ["title", "group.title"], ["priority", "tags"],
          ["t": "title", "g": "group.title", "n": "tags.@count"], ["names": "tags.name"],
          ["memo": "memo.content", "done": "done"], ["t": ["path": "title", "default": ""]],
          ["id": "SELF", "others": "group.tasks.title"], ["group.count", "group.rank"],
        ]
      }
    return random.pick(choices)
  }

  private static func include(_ entity: String, _ random: inout SplitMix64) -> JSONValue {
    let choices: [[String]] =
      switch entity {
      case "Group": [["tasks"], ["tasks.tags"], ["tasks", "tasks.memo"]]
      case "Tag": [["tasks"], ["tasks.group"]]
      case "Memo": [["task"], ["task.group"]]
      default: [["group"], ["tags"], ["group.tasks"], ["memo"], ["group", "memo"]]
      }
    return strings(random.pick(choices))
  }

  // MARK: Forms

  private static func objects(_ ids: StoredIDs, _ random: inout SplitMix64) -> OracleRequest {
    let entity = entity(&random)
    var members = fetch(entity, ids, &random)
    if !random.oneIn(4) { members.append(JSONMember("sort", sort(entity, &random))) }
    if random.oneIn(3) {
      members.append(JSONMember("limit", .integer(Int64(1 + random.below(8)))))
      if random.oneIn(2) {
        members.append(JSONMember("offset", .integer(Int64(random.below(7)))))
      }
    }
    if random.oneIn(4) { members.append(JSONMember("total", true)) }
    if random.oneIn(4) {
      let paths: [String: [String]] = [
        "Task": ["priority", "group.title", "done", "-priority"], "Group": ["rank"],
      ]
      if let path = random.any(paths[entity] ?? []) {
        members.append(JSONMember("sectionBy", .string(path)))
      }
    }
    var request = OracleRequest(form: .objects, query: members)
    if random.oneIn(4) {
      if random.oneIn(2) {
        request.mode = .ids
      } else {
        request.query.append(JSONMember("result", "ids"))
      }
      if request.mode == .ids, random.oneIn(2) { request.first = 1 + random.below(5) }
    } else {
      if random.oneIn(2) {
        request.query.append(JSONMember("select", select(entity, &random)))
      }
      if random.oneIn(4) {
        request.query.append(JSONMember("include", include(entity, &random)))
      }
      request.hasBefore = random.oneIn(3)
    }
    return request
  }

  private static func byIDs(_ ids: StoredIDs, _ random: inout SplitMix64) -> OracleRequest {
    let entity = random.pick(["Task", "Task", "Group", "Tag", "Memo"])
    var wanted = random.some(ids.byEntity[entity] ?? [], atMost: 4)
    if random.oneIn(2) {
      let next = ids.next(entity, &random)
      if !wanted.contains(next) { wanted.append(next) }
    }
    if random.oneIn(4) { wanted.append(entity == "Tag" ? "Tag/snone" : "\(entity)/p9999") }
    var request = OracleRequest(form: .ids, query: [])
    if random.oneIn(4) {
      request.mode = .ids
    } else {
      request.hasBefore = random.oneIn(3)
      switch random.below(4) {
      case 0:
        for other in StoredIDs.entities where other != entity {
          wanted += random.some(ids.byEntity[other] ?? [], atMost: 1)
        }
      case 1: request.query.append(JSONMember("select", select(entity, &random)))
      case 2:
        // `include` requires IDs of one entity.
        wanted.removeAll { !$0.hasPrefix("\(entity)/") }
        request.query.append(JSONMember("include", include(entity, &random)))
      default:
        if entity == "Tag", random.oneIn(2) { wanted = ["Tag/p1", "Tag/p3", "Tag/p5"] }
      }
    }
    request.query.insert(JSONMember("ids", strings(wanted)), at: 0)
    request.isDirect = !random.oneIn(3)
    return request
  }

  private static func count(_ ids: StoredIDs, _ random: inout SplitMix64) -> OracleRequest {
    let members = fetch(entity(&random), ids, &random)
    return OracleRequest(form: .count, query: members + [JSONMember("result", "count")])
  }

  private static func values(_ ids: StoredIDs, _ random: inout SplitMix64) -> OracleRequest {
    let groups: [(group: [String], select: JSONValue, sort: [String])] = [
      (["priority"], ["priority", "@count"], ["priority"]),
      (["group.title"], ["g": "group.title", "n": "@count", "p": "@sum.priority"], []),
      (["done", "priority"], ["done", "priority", "@max.title"], ["-done"]),
      (["group"], ["group", "@count", "@min.due"], []),
    ]
    var members = fetch(random.oneIn(4) ? "Special" : "Task", ids, &random)
    members.append(JSONMember("result", "values"))
    switch random.below(6) {
    case 0, 1, 2:
      let choice = random.pick(groups)
      members.append(JSONMember("groupBy", strings(choice.group)))
      members.append(JSONMember("select", choice.select))
      if !choice.sort.isEmpty { members.append(JSONMember("sort", strings(choice.sort))) }
      if random.oneIn(3) { members.append(JSONMember("having", "@count > 1")) }
    case 3:
      let paths: [[String]] = [["priority"], ["done", "group.title"], ["title"]]
      members.append(JSONMember("select", strings(random.pick(paths))))
      members.append(JSONMember("distinct", true))
    case 4: members.append(JSONMember("select", strings(["@count", "@max.priority"])))
    default:
      members.append(JSONMember("select", select("Task", &random)))
      members.append(JSONMember("sort", sort("Task", &random)))
      if random.oneIn(2) { members.append(JSONMember("limit", 5)) }
    }
    return OracleRequest(form: .values, query: members)
  }

  private static func history(_ random: inout SplitMix64) -> OracleRequest {
    var members: [JSONMember] = []
    if random.oneIn(2) {
      let entities: [[String]] = [["Task"], ["Group", "Tag"], ["Memo"]]
      members.append(JSONMember("entities", strings(random.pick(entities))))
    }
    if random.oneIn(2) {
      let authors: [JSONValue] = [["ann", .null], [["prefix": "b"]], ["external"], [.null]]
      members.append(JSONMember("authors", random.pick(authors)))
    }
    return OracleRequest(form: .history, query: members)
  }
}
