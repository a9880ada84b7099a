import Cordial
import JSON
import Synchronization
import TestSeeds
import TestStores
import Testing

/// The sequences of IDs of a connection's observed fetches, by subscription.
private final class LiveSequences: Sendable {
  private let sequences = Mutex<[String: [String]]>([:])
  private let faults = Mutex<[String]>([])

  func begin(_ subscription: String, _ ids: [String]) {
    sequences.withLock { $0[subscription] = ids }
  }

  func ids(_ subscription: String) -> [String]? { sequences.withLock { $0[subscription] } }

  /// Whatever was sent that is no update of an observed fetch.
  var unexpected: [String] { faults.withLock { $0 } }

  func take(_ method: String, _ params: JSONValue) {
    guard method == "changes" else { return }
    for update in params["updates"]?.array ?? [] {
      guard let name = update["subscription"]?.string, var ids = ids(name),
        let removals = update["remove"]?.array, let insertions = update["insert"]?.array
      else {
        faults.withLock { $0.append(update.text) }
        continue
      }
      // By descending old offset, then by ascending new offset.
      for removal in removals {
        guard let offset = removal["offset"]?.integer.map({ Int($0) }), ids.indices ~= offset else {
          faults.withLock { $0.append(update.text) }
          continue
        }
        ids.remove(at: offset)
      }
      for insertion in insertions {
        guard let offset = insertion["offset"]?.integer.map({ Int($0) }), offset <= ids.count,
          let id = insertion["id"]?.string
        else {
          faults.withLock { $0.append(update.text) }
          continue
        }
        ids.insert(id, at: offset)
      }
      begin(name, ids)
    }
  }
}

/// What is observed of random graphs, against what a fetch finds after the same commits.
// Evidence: P-082c, P-084a
@Suite struct `Observed predicates over random graphs of every type` {
  private static let commitCount = 300
  private static let predicateCount = 25

  @Test(arguments: Seeds.first(4))
  func `a live result is what a fetch finds`(seed: UInt64) async throws {
    var random = SplitMix64(seed: seed)
    let graph = GraphWorld.random(&random, things: 8, tags: 4)
    let folder = try TestFolder()
    let live = LiveSequences()
    let client = ClientConnection(notified: { live.take($0, $1) })
    try await withWideEngine(folder.path + "/s.cordial", GraphSchema.model, client) { client in
      let world = try await Self.save(graph, client)
      var objects = Dictionary(grouping: world.objects, by: \.family).mapValues { $0.map(\.id) }
      var generator = GraphGenerator(world: world, random: random)
      var observed: [(subscription: String, fetch: JSONValue)] = []
      for _ in 0..<Self.predicateCount {
        let entity = generator.random.oneIn(4) ? "Tag" : "Thing"
        let rendering = generator.condition([("", entity)], 2).phrase
          .rendered(&generator.random)
        let sort: JSONValue = entity == "Tag" ? ["weight"] : ["-large", "title"]
        let fetch = JSONValue.object(
          [.init("entity", .string(entity)), .init("sort", sort), .init("result", "ids")]
            + rendering.requestMembers
        )
        do throws(ClientError) {
          let answer = try await client.call("observe", ["fetch": fetch])
          let name = answer["subscription"]?.string ?? ""
          live.begin(name, (answer["result"]?["ids"]?.array ?? []).compactMap(\.string))
          observed.append((name, fetch))
        } catch {
          // P-080e: time and chance are not observed; P-052h: what is too deep is refused.
          #expect([-32602, 1302].contains(error.code), "\(fetch.text): \(error)")
        }
      }
      #expect(observed.count * 2 > Self.predicateCount, "\(Seeds.repeating(seed))")
      for commit in 1...Self.commitCount {
        try await Self.change(&objects, &generator.random, client)
        guard commit % 5 == 0 else { continue }
        _ = try await client.call("observe/flush", [:])
        for (name, fetch) in observed {
          let found = try await client.call("fetch", fetch)["ids"]?.array?.compactMap(\.string)
          #expect(
            live.ids(name) == found,
            "after commit \(commit): \(fetch.text)\n\(Seeds.repeating(seed))"
          )
        }
      }
      #expect(live.unexpected.isEmpty, "\(live.unexpected.prefix(3)) \(Seeds.repeating(seed))")
    }
  }

  /// Saves a graph, and returns it with the IDs of its objects.
  private static func save(
    _ graph: GraphWorld,
    _ client: ClientConnection
  ) async throws -> GraphWorld {
    let answer = try await client.call("save", graph.insertion)
    var saved = graph
    for index in saved.objects.indices {
      saved.objects[index].id = try #require(answer["ids"]?[graph.objects[index].id]?.string)
    }
    return saved
  }

  /// Commits one random change.
  private static func change(
    _ objects: inout [String: [String]],
    _ random: inout SplitMix64,
    _ client: ClientConnection
  ) async throws {
    let family = random.oneIn(3) ? "Tag" : "Thing"
    let ids = objects[family] ?? []
    switch random.below(8) {
    case 0:
      let entity = family == "Thing" && random.oneIn(4) ? "Special" : family
      let insertion: JSONValue = .object([
        .init("id", .string("\(entity)/t1")), .init("values", values(family, objects, &random)),
      ])
      let answer = try await client.call("save", ["insert": [insertion]])
      let id = try #require(answer["ids"]?["\(entity)/t1"]?.string)
      objects[family, default: []].append(id)
    case 1 where ids.count > 3:
      let id = random.pick(ids)
      _ = try await client.call("delete", ["ids": [.string(id)]])
      objects[family]?.removeAll { $0 == id }
    default:
      let changes: [JSONValue] = (0...random.below(3)).map { _ in random.pick(ids) }.uniqued.map {
        .object([.init("id", .string($0)), .init("values", values(family, objects, &random))])
      }
      _ = try await client.call("save", ["update": .array(changes)])
    }
  }

  /// One to three random properties with values.
  private static func values(
    _ family: String,
    _ objects: [String: [String]],
    _ random: inout SplitMix64
  ) -> JSONValue {
    let attributes = GraphSchema.attributes[family] ?? []
    var values: [String: JSONValue] = [:]
    for _ in 0...random.below(3) {
      if random.oneIn(2) {
        let attribute = random.pick(attributes)
        values[attribute.name] =
          random.oneIn(4) ? .null : GraphSamples.value(attribute, &random)
      } else if random.oneIn(2) {
        let (name, destination) = random.pick(GraphSchema.toOnes[family] ?? [])
        values[name] =
          random.oneIn(4) ? .null : .string(random.pick(objects[destination] ?? []))
      } else {
        let (name, destination) = random.pick(GraphSchema.toManys[family] ?? [])
        let members = (0..<random.below(4)).map { _ in random.pick(objects[destination] ?? []) }
        values[name] = .array(members.uniqued.map { .string($0) })
      }
    }
    return .object(values.sorted { $0.key < $1.key }.map { JSONMember($0.key, $0.value) })
  }
}

extension [String] {
  /// The different elements, in the order in which they are first.
  fileprivate var uniqued: [String] {
    var seen: Set<String> = []
    return filter { seen.insert($0).inserted }
  }
}
