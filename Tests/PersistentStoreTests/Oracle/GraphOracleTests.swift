import JSON
import ObjectModel
import PersistentStore
import TestSeeds
import TestStores
import Testing

/// Fetches of random graphs with every attribute type, against an evaluator over arrays.
// Evidence: P-052a, P-052b, P-052c, P-052d, P-052e, P-052f, P-052i, P-052j, P-052k, P-052l
// Evidence: P-053a, P-053b
@Suite struct `Predicates over random graphs of every type` {
  @Test(arguments: Seeds.first(40))
  func `a fetch finds the objects for which the condition holds`(seed: UInt64) async throws {
    var random = SplitMix64(seed: seed)
    var world = GraphWorld.random(&random, things: 5 + random.below(8), tags: 2 + random.below(4))
    let store = try TestStore(GraphSchema.model)
    try await world.save(in: store)
    var generator = GraphGenerator(world: world, random: random)
    var (compared, all) = (0, 0)
    for _ in 0..<60 {
      let entity = generator.random.oneIn(4) ? "Tag" : "Thing"
      let condition = generator.condition([("", entity)], 2)
      let rendering = condition.phrase.rendered(&generator.random)
      let request = JSONValue.object([.init("entity", .string(entity))] + rendering.requestMembers)
      let comment = "\(request.text)\n\(Seeds.repeating(seed))"
      do {
        let found = Set(try store.ids(request.text))
        for object in world.all(entity) {
          all += 1
          guard let holds = condition.holds(["": object]) else { continue }
          compared += 1
          let id = world.objects[object].id
          #expect(found.contains(id) == holds, "\(id) \(world.objects[object].values) \(comment)")
        }
      } catch let error as StoreError where error.code == .limitExceeded {
        // P-052h: what is too deep for SQLite is refused.
      } catch {
        Issue.record("\(error)\n\(comment)")
      }
    }
    // What the contract leaves open is the smaller part.
    #expect(compared * 2 > all, "\(compared) of \(all); \(Seeds.repeating(seed))")
  }
}
