import JSON
import TestSeeds
import TestStores
import Testing

/// Random conditions on the objects of random models, against plain Swift.
@Suite struct `Predicates on random models` {
  // Evidence: P-052a, P-053a, P-053b, P-113c, P-113d
  @Test func `a condition on attributes of every type`() async throws {
    let coverage = ModelCoverage()
    try await WideSeeds.each(80) { seed in
      let filled = try await WideFilledStore(seed, changes: 3)
      let state = try filled.snapshot
      let model = filled.model
      var generator = WideConditionGenerator(model, state, seed: seed)
      for entity in model.entities {
        for _ in 0..<15 {
          guard let condition = generator.condition(entity.number) else { continue }
          let names = state.names(entity.number, model).sorted { $0.object < $1.object }
          let wanted = names.filter(condition.holds).map { state.objects[$0]?.id ?? "" }
          let request: JSONValue = [
            "entity": .string(entity.name), "predicate": .string(condition.source),
            "arguments": .array(condition.arguments),
          ]
          coverage.count(wanted.isEmpty ? "none" : wanted.count == names.count ? "all" : "some")
          let found: [String]?
          do {
            found = try filled.store?.ids(request.text)
          } catch {
            Issue.record(
              "\(request.text): \(error)\n\(Seeds.repeating(seed, "a condition on attributes"))"
            )
            continue
          }
          guard found != wanted else { continue }
          Issue.record(
            """
            \(request.text) finds \(found ?? []), not \(wanted)
            \(model.text)
            \(Seeds.repeating(seed, "a condition on attributes of every type"))
            """
          )
          return
        }
      }
    }
    print("Random conditions hold for:\n\(coverage.text)")
  }
}
