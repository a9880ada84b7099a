import CordialValues
import PersistentHistory
import StoreLayout
import TestSeeds
import Testing

/// Reading names without values, against parsing the whole text.
@Suite struct `The names of logged values` {
  private func row(_ before: String?) -> HistoryRow {
    HistoryRow(number: 1, key: ObjectKey(entity: 1, object: 1), kind: .update, before: before)
  }

  // Evidence: P-082a
  @Test(arguments: Seeds.first(20))
  func `are those of the parsed values`(seed: UInt64) {
    var random = SplitMix64(seed: seed)
    var names = LoggedNames()
    let all = ["a", "ab", "name", "address.city", "größe", "b"]
    let values = [
      "1", "null", "-2.5e3", #""""#, #""x""#, #"",\"a\":1""#, #""\\""#, #""\\\"""#, #""é,{[""#,
      #"{"moved":7}"#, #"{"left":{"a":[1,"]}"]}}"#, "[1,2]",
    ]
    var columns = [random.pick(all)]
    for _ in 0..<500 {
      // Most rows have the names of the row before them.
      if random.oneIn(4) {
        columns = (0..<1 + random.below(3)).map { _ in random.pick(all) }
        columns = Array(Set(columns)).sorted()
      }
      let text = columns.map { ",\"\($0)\":\(random.pick(values))" }.joined()
      #expect(names.read(row(text)) == Set(columns), "\(text) \(Seeds.repeating(seed))")
    }
  }

  // Evidence: P-082a
  @Test func `of a row without values or with a damaged text are none`() {
    var names = LoggedNames()
    #expect(names.read(row(#","a":1"#)) == ["a"])
    for damaged in [nil, "", ",", #","a""#, #","a":"#, #","a":"x"#, #","a":{"#, "a", #","a":1,"#] {
      #expect(names.read(row(damaged)).isEmpty, "\(damaged ?? "nil")")
      #expect(names.read(row(#","a":1"#)) == ["a"])
    }
  }
}
