import TestSeeds

/// A random board and a random save of it, as JSON texts.
struct RandomSave {
  private var random: SplitMix64
  private static let policies = ["error", "objectTrump", "overwrite", "storeTrump", "rollback"]
  private static let counts = ["Group": 3, "Task": 8, "Memo": 4, "Tag": 4, "Team": 2, "Player": 6]

  init(seed: UInt64) { random = SplitMix64(seed: seed) }

  /// The stored objects, each as one member of a JSON object.
  mutating func stored() -> [String] {
    var objects = (1...3).map { number in
      Self.member("Group/p\(number)", ["colors": list("Tag", 4)])
    }
    for number in 1...8 {
      // Each memo is of the task that has its number, so that both ends agree.
      objects.append(
        Self.member(
          "Task/p\(number)",
          [
            "code": #""c\#(number)""#, "group": reference("Group", 3),
            "line": reference("Group", 3),
            "tags": list("Tag", 4), "memo": number <= 3 ? #""Memo/p\#(number)""# : "null",
          ]
        )
      )
    }
    for number in 1...4 {
      objects.append(
        Self.member("Memo/p\(number)", ["task": number <= 3 ? #""Task/p\#(number)""# : "null"])
      )
    }
    for number in 1...4 {
      objects.append(Self.member("Tag/p\(number)", ["name": #""n\#(number)""#]))
    }
    for number in 1...2 { objects.append(Self.member("Team/p\(number)", [:])) }
    for number in 1...6 {
      objects.append(Self.member("Player/p\(number)", ["team": reference("Team", 2)]))
    }
    return objects
  }

  /// A save of up to a dozen changes.
  mutating func request() -> String {
    let names = Self.counts.keys.sorted()
    let inserts = (1...4).map { number in
      let entity = random.pick(names)
      return #"{"id": "\#(entity)/t\#(number)", "values": {\#(values(entity, number))}}"#
    }
    var ids = names.flatMap { name in (1...(Self.counts[name] ?? 1)).map { (name, $0) } }
    let updates = (0..<random.below(6)).map { _ in
      let (entity, number) = ids.remove(at: random.below(ids.count))
      return #"{"id": "\#(entity)/p\#(number)", "values": {\#(values(entity, number))}}"#
    }
    let deletes = (0..<random.below(3)).map { _ in
      let (entity, number) = ids.remove(at: random.below(ids.count))
      return #""\#(entity)/p\#(number)""#
    }
    return """
      {"insert": [\(inserts.prefix(random.below(5)).joined(separator: ", "))],
       "update": [\(updates.joined(separator: ", "))], "delete": [\(deletes.joined(separator: ", "))],
       "mergePolicy": "\(random.pick(Self.policies))"}
      """
  }

  private mutating func values(_ entity: String, _ number: Int) -> String {
    let values: [(String, String)]
    switch entity {
    case "Group":
      values = [
        ("tasks", change("Task", 8)), ("queue", change("Task", 8, isOrdered: true)),
        ("colors", change("Tag", 4, isOrdered: true)),
      ]
    case "Task":
      values = [
        ("title", random.pick([#""a""#, #""b""#, "null"])), ("code", #""c\#(random.below(12))""#),
        ("group", reference("Group", 3)), ("tags", change("Tag", 4)),
        ("friends", change("Task", 8)), ("memo", reference("Memo", 4)),
      ]
    case "Memo": values = [("task", reference("Task", 8))]
    case "Tag": values = [("tasks", change("Task", 8)), ("shade", #""s\#(number)""#)]
    case "Team": values = [("players", change("Player", 6))]
    default: values = [("team", reference("Team", 2))]
    }
    let chosen = values.indices.filter { _ in random.oneIn(2) }
    return chosen.map { #""\#(values[$0].0)": \#(values[$0].1)"# }.joined(separator: ", ")
  }

  private static func member(_ id: String, _ values: [String: String]) -> String {
    let values = values.sorted { $0.key < $1.key }.map { #""\#($0.key)": \#($0.value)"# }
    return #""\#(id)": {\#(values.joined(separator: ", "))}"#
  }

  private mutating func reference(_ entity: String, _ count: Int) -> String {
    random.oneIn(4) ? "null" : #""\#(entity)/p\#(random.below(count) + 1)""#
  }

  private mutating func list(_ entity: String, _ count: Int) -> String {
    var numbers = Array(1...count)
    let chosen = (0..<random.below(count)).map { _ in
      numbers.remove(at: random.below(numbers.count))
    }
    return "[" + chosen.map { #""\#(entity)/p\#($0)""# }.joined(separator: ", ") + "]"
  }

  private mutating func change(_ entity: String, _ count: Int, isOrdered: Bool = false) -> String {
    guard random.oneIn(2) else { return list(entity, count) }
    let position = isOrdered && random.oneIn(2) ? #", "@at": \#(random.below(3))"# : ""
    return #"{"@add": \#(list(entity, count)), "@remove": \#(list(entity, count))\#(position)}"#
  }
}
