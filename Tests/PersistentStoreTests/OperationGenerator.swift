import JSON
import TestSeeds

/// What a foreign client writes.
struct ForeignWrite {
  let sql: String
  /// The same on plain objects.
  let write: (inout PlainTransaction) -> Void
}

/// Makes operations that mean something to a store, most of the time.
struct OperationGenerator {
  static let league = """
    {"name":"League","entities":[
      {"name":"Team","attributes":[
        {"name":"name","type":"string","optional":true},
        {"name":"size","type":"int32","default":0}],
       "unique":[["name"]],
       "relationships":[
        {"name":"players","destination":"Player","toMany":true,"inverse":"team",
         "deleteRule":"cascade"},
        {"name":"games","destination":"Game","toMany":true,"inverse":"home"}]},
      {"name":"Player","attributes":[
        {"name":"name","type":"string","optional":true},
        {"name":"goals","type":"int16","optional":true}],
       "relationships":[
        {"name":"team","destination":"Team","optional":true,"inverse":"players"},
        {"name":"shirt","destination":"Shirt","optional":true,"inverse":"player",
         "deleteRule":"cascade"},
        {"name":"skills","destination":"Skill","toMany":true,"inverse":"players"},
        {"name":"likes","destination":"Player","toMany":true,"inverse":"likedBy"},
        {"name":"likedBy","destination":"Player","toMany":true,"inverse":"likes"}]},
      {"name":"Shirt","attributes":[{"name":"number","type":"int64","default":1}],
       "relationships":[
        {"name":"player","destination":"Player","optional":true,"inverse":"shirt"}]},
      {"name":"Skill","identity":"code","attributes":[
        {"name":"code","type":"string"},{"name":"level","type":"int32","default":1}],
       "relationships":[
        {"name":"players","destination":"Player","toMany":true,"inverse":"skills",
         "deleteRule":"deny"}]},
      {"name":"Game","attributes":[{"name":"place","type":"string","optional":true}],
       "relationships":[{"name":"home","destination":"Team","inverse":"games"}]}]}
    """
  static let policies = ["error", "storeTrump", "objectTrump", "overwrite", "rollback"]
  private static let names: [JSONValue] = ["a", "b", "c", "d", "e", "f", "g", "h", nil]
  private static let codes = ["go", "run", "jump", "kick", "rest"]

  var random: SplitMix64

  /// A save, a delete or an update of some objects, or of those that match.
  mutating func request(_ store: PlainStore) -> JSONValue {
    var members: [JSONMember] = []
    switch random.below(8) {
    case 0: members.append(JSONMember("deleteMatching", matching()))
    case 1, 2: members.append(JSONMember("updateMatching", matching(setting: store)))
    default: members = save(store)
    }
    return .object(members + stamp() + [JSONMember("mergePolicy", .string(policy()))])
  }

  /// Whose it is; the disk is not what is tested.
  mutating func stamp() -> [JSONMember] {
    var members = [JSONMember("durability", "normal")]
    if !random.oneIn(5) { members.append(JSONMember("author", author())) }
    if random.oneIn(3) { members.append(JSONMember("context", context())) }
    return members
  }

  mutating func author() -> JSONValue { random.pick(["ann", "bob"]) }
  mutating func context() -> JSONValue { random.pick(["typing", "import"]) }

  private mutating func policy() -> String { random.pick(Self.policies) }

  /// An undo or a redo.
  mutating func revert() -> JSONValue {
    let author = random.oneIn(6) ? "external" : self.author()
    let count = random.oneIn(4) ? 1 + random.below(3) : 1
    var members = [
      JSONMember("durability", "normal"), JSONMember("author", author),
      JSONMember(random.oneIn(3) ? "redo" : "undo", .integer(Int64(count))),
    ]
    if random.oneIn(5) { members.append(JSONMember("only", context())) }
    if random.oneIn(3) { members.append(JSONMember("mergePolicy", "storeTrump")) }
    return .object(members)
  }

  /// What a foreign client writes, as SQL and on plain objects; nil where there is nothing to.
  ///
  /// No `INSERT OR REPLACE`: `ModelFindingsTests` has what merges and undo make of it.
  mutating func foreign(_ store: PlainStore) -> ForeignWrite? {
    let players = store.state.keys("Player")
    let player = players.isEmpty ? nil : random.pick(players)
    let number = Int64(100 + random.below(1000))
    switch (random.below(6), player) {
    case (0, let player?):
      return ForeignWrite(sql: "UPDATE Player SET goals = \(number) WHERE _id = \(player.number)") {
        $0.set("goals", of: player, to: .integer(number))
      }
    case (1, let player?):
      guard let team = store.state.keys("Team").last,
        store.state.objects[player]?.toOnes["team"] != team
      else { return nil }
      let sql = "UPDATE Player SET team = \(team.number) WHERE _id = \(player.number)"
      return ForeignWrite(sql: sql) { $0.setOne("team", of: player, to: team) }
    case (2, _):
      return ForeignWrite(sql: "INSERT INTO Shirt(number) VALUES (\(number))") {
        $0.add("Shirt", ["number": .integer(number)])
      }
    case (3, _):
      let sql = "INSERT INTO Player(name, goals) VALUES ('foreign', \(number))"
      return ForeignWrite(sql: sql) {
        $0.add("Player", ["name": "foreign", "goals": .integer(number)])
      }
    case (4, _):
      let lonely = ["Team", "Shirt", "Player", "Skill"].flatMap(store.state.keys).filter { key in
        store.model.entity(key.entity).relationships.allSatisfy {
          store.state.related($0, of: key).isEmpty
        }
      }
      guard !lonely.isEmpty else { return nil }
      let key = random.pick(lonely)
      return ForeignWrite(sql: "DELETE FROM \(key.entity) WHERE _id = \(key.number)") {
        $0.state.objects[key] = nil
      }
    case (5, let player?):
      guard let skill = store.state.keys("Skill").first else { return nil }
      let isThere = store.state.objects[player]?.pairs["skills"]?.contains(skill) == true
      let sql =
        isThere
        ? """
        DELETE FROM cordial_pairs_Player_skills
        WHERE source = \(player.number) AND target = \(skill.number)
        """
        : """
        INSERT INTO cordial_pairs_Player_skills(source, target)
        VALUES (\(player.number), \(skill.number))
        """
      return ForeignWrite(sql: sql) { transaction in
        guard let skills = store.model.relationship("skills", of: "Player") else { return }
        transaction.pair(skills, player, skill, !isThere)
      }
    default: return nil
    }
  }

  // MARK: Saves

  private mutating func save(_ store: PlainStore) -> [JSONMember] {
    var temporary: [String: [String]] = [:]
    let inserts = (0..<random.pick([0, 0, 1, 2, 4])).map { index -> (id: String, entity: String) in
      let entity = random.pick(store.model.entities.map(\.name))
      let id =
        entity == "Skill" && random.oneIn(2)
        ? "Skill/s\(random.pick(Self.codes))" : "\(entity)/t\(index)"
      if !temporary[entity, default: []].contains(id) { temporary[entity, default: []].append(id) }
      return (id, entity)
    }
    var used: Set<String> = []
    var unused: [String] = []
    for _ in 0..<random.pick([0, 1, 1, 2, 3, 4]) {
      let id = id(random.pick(store.model.entities.map(\.name)), store)
      if let id, used.insert(id).inserted || random.oneIn(30) { unused.append(id) }
    }
    let split = random.oneIn(2) ? unused.count : random.below(unused.count + 1)
    let updates = unused[..<split].map { id -> JSONValue in
      let entity = String(id.prefix { $0 != "/" })
      return .object(
        [JSONMember("id", .string(id)), JSONMember("values", values(entity, store, temporary))]
          + version(id, store)
      )
    }
    let deletes = unused[split...].map { id -> JSONValue in
      .object([JSONMember("id", .string(id))] + version(id, store))
    }
    return [
      JSONMember(
        "insert",
        .array(
          inserts.map { id, entity in
            ["id": .string(id), "values": insertValues(id, entity, store, temporary)]
          }
        )
      ), JSONMember("update", .array(Array(updates))), JSONMember("delete", .array(deletes)),
    ]
  }

  /// An object of an entity that is there, or seldom one that is not.
  private mutating func id(_ entity: String, _ store: PlainStore) -> String? {
    let keys = store.state.keys(entity)
    if random.oneIn(60) { return "\(entity)/p\(random.below(20) + 1)" }
    return keys.isEmpty ? nil : store.state.id(random.pick(keys))
  }

  /// The version that the client says that it knew.
  private mutating func version(_ id: String, _ store: PlainStore) -> [JSONMember] {
    guard random.oneIn(2), let key = store.state.key(id), let object = store.state.objects[key]
    else { return [] }
    let versions = (store.past[key] ?? []).map(\.object.version)
    let ahead = random.oneIn(20) ? [object.version + 1] : []
    return [JSONMember("version", .integer(random.pick(versions + ahead)))]
  }

  private mutating func insertValues(
    _ id: String,
    _ entity: String,
    _ store: PlainStore,
    _ temporary: [String: [String]]
  ) -> JSONValue {
    var members = values(entity, store, temporary).members ?? []
    if entity == "Skill", id.contains("/t") {
      members.append(JSONMember("code", .string(random.pick(Self.codes))))
    }
    if entity == "Game", !members.contains(where: { $0.name == "home" }),
      let team = one("Team", store, temporary), !random.oneIn(10)
    {
      members.append(JSONMember("home", .string(team)))
    }
    return .object(members)
  }

  private mutating func values(
    _ entity: String,
    _ store: PlainStore,
    _ temporary: [String: [String]]
  ) -> JSONValue {
    var members: [JSONMember] = []
    let entity = store.model.entity(entity)
    for name in entity.attributes where name != entity.identity && random.oneIn(2) {
      members.append(JSONMember(name, attribute(name)))
    }
    for relationship in entity.relationships where random.oneIn(3) {
      let name = relationship.name
      if relationship.toMany {
        members.append(JSONMember(name, many(relationship.destination, store, temporary)))
      } else {
        let target = random.oneIn(4) ? nil : one(relationship.destination, store, temporary)
        if relationship.optional || target != nil || random.oneIn(20) {
          members.append(JSONMember(name, target.map { .string($0) } ?? .null))
        }
      }
    }
    return .object(members)
  }

  private mutating func attribute(_ name: String) -> JSONValue {
    switch name {
    case "name", "place": random.pick(Self.names)
    case "goals": random.oneIn(5) ? nil : .integer(Int64(random.below(6)))
    default: random.oneIn(40) ? nil : .integer(Int64(random.below(6)))
    }
  }

  private mutating func one(
    _ entity: String,
    _ store: PlainStore,
    _ temporary: [String: [String]]
  ) -> String? {
    if let new = temporary[entity], random.oneIn(2) { return random.pick(new) }
    return id(entity, store)
  }

  private mutating func some(
    _ entity: String,
    _ store: PlainStore,
    _ temporary: [String: [String]]
  ) -> JSONValue {
    .array(
      (0..<random.below(4)).compactMap { _ in
        one(entity, store, temporary).map { .string($0) }
      }
    )
  }

  private mutating func many(
    _ entity: String,
    _ store: PlainStore,
    _ temporary: [String: [String]]
  ) -> JSONValue {
    switch random.below(4) {
    case 0: ["@add": some(entity, store, temporary)]
    case 1: ["@remove": some(entity, store, temporary)]
    case 2: ["@add": some(entity, store, temporary), "@remove": some(entity, store, temporary)]
    default: some(entity, store, temporary)
    }
  }

  // MARK: Predicates

  private mutating func matching() -> JSONValue {
    let (entity, predicate) = random.pick([
      ("Team", "size > 3"), ("Player", "goals < 2"), ("Player", "team == nil"),
      ("Player", "name != \"a\""), ("Shirt", "player == nil"), ("Skill", "code == \"go\""),
      ("Game", "place == nil"), ("Team", "name == \"b\""), ("Player", "goals > 4"),
    ])
    return ["entity": .string(entity), "predicate": .string(predicate)]
  }

  private mutating func matching(setting store: PlainStore) -> JSONValue {
    let fetch = matching()
    let entity = fetch["entity"]?.string ?? ""
    let set: JSONValue
    switch (entity, random.below(3)) {
    case ("Player", 0): set = ["goals": ["@expression": "goals + 1"], "name": attribute("name")]
    case ("Team", 0): set = ["size": ["@expression": "size + 2"]]
    case ("Skill", 0): set = ["level": ["@expression": "level + 1"]]
    default: set = values(entity, store, [:])
    }
    return .object((fetch.members ?? []) + [JSONMember("set", set)])
  }
}
