import JSON
import ObjectModel
import TestSeeds
import TestStores
import Testing

// Evidence: P-052a, P-052b, P-052d, P-052e, P-053a
@Suite struct `The whole predicate language, against plain Swift` {
  private static let model = """
    {"name": "Nodes", "entities": [
      {"name": "Node",
       "attributes": [{"name": "a", "type": "int32", "optional": true},
                      {"name": "b", "type": "double", "optional": true},
                      {"name": "text", "type": "string", "optional": true},
                      {"name": "flag", "type": "boolean", "default": false}],
       "relationships": [
         {"name": "leader", "destination": "Node", "inverse": "followers", "optional": true},
         {"name": "followers", "destination": "Node", "toMany": true, "inverse": "leader"},
         {"name": "tags", "destination": "Tag", "toMany": true, "inverse": "nodes"}]},
      {"name": "Tag",
       "attributes": [{"name": "name", "type": "string", "optional": true},
                      {"name": "weight", "type": "int16", "optional": true}],
       "relationships": [
         {"name": "nodes", "destination": "Node", "toMany": true, "inverse": "tags"}]}]}
    """

  @Test(arguments: Seeds.first(30))
  func `a fetch finds what the condition holds for`(seed: UInt64) async throws {
    var random = SplitMix64(seed: seed)
    let data = Self.data(&random)
    let store = try TestStore(Self.model)
    try await store.save(Self.save(data))
    var generator = OracleGenerator(data: data, random: random)
    for _ in 0..<60 {
      let condition = generator.condition("", 3)
      let expected = data.nodes.keys.sorted()
        .filter { condition.holds(["": .node($0)]) }.map { "Node/p\($0)" }
      let predicate = JSONValue.string(condition.source).text
      let found = try store.ids(#"{"entity":"Node","predicate":\#(predicate)}"#)
      #expect(found == expected, "\(condition.source); \(Seeds.repeating(seed))")
    }
  }

  /// The nodes are of random kinds here, the entity that is asked for has none or some of its own,
  /// and what is derived is beside what is computed.
  // Evidence: P-113c, P-113d, P-115a
  @Test(arguments: Seeds.first(20))
  func `a fetch of an ancestor finds what the condition holds for, whatever the kinds`(
    seed: UInt64
  ) async throws {
    var random = SplitMix64(seed: seed)
    let data = Self.data(&random)
    let isAbstract = random.oneIn(2)
    // Each kind is a child of one before it, the first of the asked entity.
    let count = 1 + random.below(12)
    let parents = (0..<count).map { $0 == 0 ? 0 : random.below($0 + 1) }
    let kinds = parents.enumerated().map { index, parent in
      let name = parent == 0 ? "Node" : "Kind\(parent)"
      return #"{"name":"Kind\#(index + 1)","parent":"\#(name)"}"#
    }
    let model = Self.model.replacing(
      #"{"name": "Node","#,
      with: "\(kinds.joined(separator: ",")),"
        + #"{"name": "Node", "abstract": \#(isAbstract),"#
    ).replacing(
      #""default": false}]"#,
      with: """
        "default": false}, {"name": "key", "type": "int32"},
        {"name": "count", "type": "int64", "derived": "followers.@count"},
        {"name": "sum", "type": "int64", "derived": "followers.@sum.a"},
        {"name": "lead", "type": "string", "derived": "leader.text"}]
        """
    )
    let store = try TestStore(model)
    var names: [Int: String] = [:]
    for number in data.nodes.keys.sorted() {
      let kind = isAbstract ? 1 + random.below(count) : random.below(count + 1)
      names[number] = kind == 0 ? "Node" : "Kind\(kind)"
    }
    try await store.save(Self.save(data, names))
    var generator = OracleGenerator(data: data, random: random)
    for _ in 0..<40 {
      let condition = generator.condition("", 3)
      let expected = data.nodes.keys.sorted().filter { condition.holds(["": .node($0)]) }
      let predicate = JSONValue.string(condition.source).text
      let found = try store.fetch(
        #"{"entity":"Node","predicate":\#(predicate),"select":["key"],"sort":["key"]}"#
      ).compactMap { $0["values"]?["key"]?.integer.map { Int($0) } }
      #expect(found == expected, "\(condition.source); \(Seeds.repeating(seed))")
    }
    for object in try store.fetch(
      """
      {"entity":"Node","select":["count","followers.@count","sum","followers.@sum.a","lead",
        "leader.text"]}
      """
    ) {
      let values = object["values"]
      #expect(values?["count"] == values?["followers.@count"], "\(Seeds.repeating(seed))")
      #expect(values?["sum"] == values?["followers.@sum.a"], "\(Seeds.repeating(seed))")
      #expect(values?["lead"] == values?["leader.text"], "\(Seeds.repeating(seed))")
    }
  }

  private static func data(_ random: inout SplitMix64) -> OracleData {
    var data = OracleData()
    for number in 1...4 {
      data.tags[number] = (
        random.oneIn(4) ? nil : random.pick(["a", "b", "é"]),
        random.oneIn(4) ? nil : random.below(5) - 1
      )
    }
    for number in 1...(6 + random.below(8)) {
      data.nodes[number] = OracleData.Node(
        a: random.oneIn(4) ? nil : random.below(6) - 2,
        b: random.oneIn(4) ? nil : Double(random.below(9)) / 2 - 1,
        text: random.oneIn(5) ? nil : random.pick(OracleGenerator.texts),
        flag: random.oneIn(2),
        leader: number == 1 || random.oneIn(3) ? nil : 1 + random.below(number - 1),
        tags: Set((0..<random.below(4)).map { _ in 1 + random.below(4) })
      )
    }
    return data
  }

  /// A save of everything; nodes have their number as a key where they are of several kinds.
  private static func save(_ data: OracleData, _ kinds: [Int: String] = [:]) -> String {
    func node(_ number: Int) -> String { "\(kinds[number] ?? "Node")/t\(number)" }
    let tags = data.tags.sorted { $0.key < $1.key }.map { number, tag in
      let values: JSONValue = [
        "name": tag.name.map { .string($0) } ?? nil,
        "weight": tag.weight.map { .integer(Int64($0)) } ?? nil,
      ]
      return #"{"id":"Tag/t\#(number)","values":\#(values.text)}"#
    }
    let nodes = data.nodes.sorted { $0.key < $1.key }.map { number, row in
      var values = [
        JSONMember("a", row.a.map { .integer(Int64($0)) } ?? nil),
        JSONMember("b", row.b.map { .number($0) } ?? nil),
        JSONMember("text", row.text.map { .string($0) } ?? nil),
        JSONMember("flag", .bool(row.flag)),
        JSONMember("leader", row.leader.map { .string(node($0)) } ?? nil),
        JSONMember("tags", .array(row.tags.sorted().map { .string("Tag/t\($0)") })),
      ]
      if !kinds.isEmpty { values.append(JSONMember("key", .integer(Int64(number)))) }
      return #"{"id":"\#(node(number))","values":\#(JSONValue.object(values).text)}"#
    }
    return #"{"insert":[\#((tags + nodes).joined(separator: ","))]}"#
  }
}
