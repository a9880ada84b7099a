import CordialValues
import PersistentStore
import TestSeeds
import Testing

@Suite struct `The stages of a save are deterministic` {
  /// Everything that a plan says, and the problems of its validation.
  private func outcome(_ stored: [String], _ request: String) throws -> [String] {
    let run = try StageRun("{" + stored.joined(separator: ",\n") + "}")
    let resolver = try run.resolve(request)
    let plan = try run.plan(resolver).plan
    let text = StageText(run.layout)
    let followed = plan.followed.sorted { $0.key < $1.key }
      .map { "followed \(text.id($0.key)) \($0.value.sorted())" }
    let touched = plan.touched.sorted { $0.key < $1.key }
      .map { "touched \(text.id($0.key.owner)).\($0.value.name)" }
    return text.lines(resolver.resolved) + text.lines(plan) + followed + touched
      + lines(try run.validate(request)).map { "problem \($0)" }
  }

  @Test(arguments: Seeds.first(300))
  func `a random save gives the same plan from the same look-ups`(seed: UInt64) throws {
    var random = RandomSave(seed: seed)
    let stored = random.stored()
    let request = random.request()
    let first = try outcome(stored, request)
    // Other dictionaries iterate in other orders, and so do those that were filled backwards.
    for other in [stored, stored.reversed()] {
      let again = try outcome(other, request)
      #expect(again == first, "\(Seeds.repeating(seed))\n\(request)")
    }
  }

  @Test func `random saves plan changes of every kind`() throws {
    var kinds: Set<String> = []
    for seed in 1...100 {
      var random = RandomSave(seed: UInt64(seed))
      for line in try outcome(random.stored(), random.request()) {
        kinds.insert(String(line.prefix { $0 != " " }))
      }
    }
    #expect(
      kinds == [
        "insert", "update", "delete", "link", "unlink", "position", "increment", "followed",
        "touched", "problem",
      ]
    )
  }
}
