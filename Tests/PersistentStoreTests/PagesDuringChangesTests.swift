import JSON
import PersistentHistory
import PersistentStore
import TestSeeds
import TestStores
import Testing

private let model = """
  {"name":"M","entities":[
    {"name":"Group","attributes":[{"name":"rank","type":"int64","optional":true}],
     "relationships":[{"name":"tasks","destination":"Task","toMany":true,"inverse":"group"}]},
    {"name":"Task","attributes":[
      {"name":"title","type":"string","optional":true,"sorted":"localized"},
      {"name":"note","type":"string","optional":true},
      {"name":"price","type":"decimal","optional":true},
      {"name":"size","type":"double","optional":true}],
     "relationships":[
      {"name":"group","destination":"Group","inverse":"tasks","optional":true}],
     "indexes":[["note"]]},
    {"name":"Special","parent":"Task"}]}
  """

// Evidence: P-051c
@Suite struct `Pages while other clients write` {
  private let store: TestStore

  init() throws {
    store = try TestStore(model)
  }

  private static let keys = [
    "title:localized", "title", "note", "note:localized", "price", "size", "group.rank",
  ]

  private static func values(_ random: inout SplitMix64) -> String {
    let texts = ["null", #""""#, #""a""#, #""A""#, #""ä""#, #""a10""#, #""a9""#]
    let prices = ["null", #""1.50""#, #""1.5""#, #""-2""#, #""10""#]
    let sizes = ["null", "0", "-1.5", "1e300", "2"]
    let groups = ["null", #""Group/p1""#, #""Group/p2""#, #""Group/p3""#]
    return #"{"title":\#(random.pick(texts)),"note":\#(random.pick(texts)),"#
      + #""price":\#(random.pick(prices)),"size":\#(random.pick(sizes)),"#
      + #""group":\#(random.pick(groups))}"#
  }

  /// Objects that do not change are seen once each, in their order, whatever other objects do.
  @Test(arguments: Seeds.first(500))
  func `have each unchanged object once, in order`(seed: UInt64) async throws {
    var random = SplitMix64(seed: seed)
    let tasks = (0..<30).map { _ in
      #"{"entity":"\#(random.oneIn(3) ? "Special" : "Task")","values":\#(Self.values(&random))}"#
    }
    let groups = ["1", "1", "null"].map { #"{"entity":"Group","values":{"rank":\#($0)}}"# }
    try await store.save(#"{"insert":[\#(groups.joined(separator: ","))]}"#)
    try await store.save(#"{"insert":[\#(tasks.joined(separator: ","))]}"#)
    let sort = (0...random.below(3)).map { _ in
      (random.oneIn(2) ? "-" : "") + random.pick(Self.keys)
    }
    let list = JSONValue.array(sort.map { .string($0) }).text
    let all = try store.ids(#"{"entity":"Task","sort":\#(list)}"#)
    var changing = all.filter { _ in random.oneIn(3) }
    let unchanged = all.filter { !changing.contains($0) }
    let limit = 1 + random.below(9)
    var seen: [String] = []
    var next: String?
    repeat {
      let (ids, cursor) = try page(sort, limit, after: next)
      seen += ids
      next = cursor
      guard let id = changing.popLast() else { continue }
      let change =
        random.oneIn(2)
        ? #""delete":["\#(id)"]"#
        : #""update":[{"id":"\#(id)","values":\#(Self.values(&random))}]"#
      let insert = #"{"entity":"Task","values":\#(Self.values(&random))}"#
      try await store.save(#"{\#(change),"insert":[\#(insert)]}"#)
    } while next != nil
    let kept = Set(unchanged)
    #expect(seen.filter(kept.contains) == unchanged, "\(sort), \(limit); \(Seeds.repeating(seed))")
  }

  private func page(
    _ sort: [String],
    _ limit: Int,
    after: String?
  ) throws -> (ids: [String], next: String?) {
    try store.snapshot { snapshot in
      let plan = try snapshot.plan(
        FetchRequest(entity: "Task", sort: sort, limit: limit, after: after)
      )
      var writer = JSONWriter()
      let (_, hasMore) = try snapshot.writeObjects(plan, bytesMax: 1 << 20, to: &writer)
      let objects = try JSONParser.parse(writer.bytes.span).array ?? []
      let numbers = try snapshot.page(plan).objects
      return (
        objects.compactMap { $0["id"]?.string },
        hasMore ? try numbers.last.flatMap { try snapshot.cursor(plan, after: $0) } : nil
      )
    }
  }
}
