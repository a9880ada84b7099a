import JSON
import TestStores
import Testing

/// Collections, and single values in their place.
extension `Constructs of the predicate language` {
  // Evidence: P-052a
  @Test func `values where collections are usual, and the reverse`() throws {
    try check("ANY tags.name IN 'red and green'", ["Milk", "éclair"])
    try check("ALL tags.name IN 'red and green'", ["éclair", "Zebra", "10"])
    try check("title IN %@", ["Milk"], #"["Milkman"]"#)
    try check("rank BETWEEN {(1 * 2), rank - -1}", ["Milk", "éclair", "Zebra"])
    try check("rank IN {(rank + 1), -(-3), (2)}", ["Milk"])
    try check("rank IN {-%@, 3}", ["Milk"], "[7]")
    try check("title.length > 4", ["éclair", "Zebra"])
    try check("ANY tags.name.length == 4", ["Milk"])
    try check("group.title.length == 3 AND rank < 3", ["10"])
    try check("ANY SELF == %@", ["Milk"], #"["Task/p1"]"#)
    try check("NONE SELF IN %@", ["éclair", "Zebra", "10"], #"[["Task/p1"]]"#)
    try check("ALL SELF IN group.order", ["Milk", "éclair"])
    try check("NONE title IN %@", ["Zebra", "10"], #"[["Milk","éclair"]]"#)
    try check("NONE size IN {2.5}", ["éclair", "Zebra", "10"])
    try check("ALL {'red', 'blue'} IN tags.name", ["Milk"])
    try check("ANY {'green', 'blue'} IN tags.name", ["Milk"])
    try check("NONE {'green', 'blue'} IN[c] tags.name", ["éclair", "Zebra", "10"])
    try check("ALL {'red', nil} IN tags.name", [])
    try check("ALL {1, 2} IN facts.list", ["Milk"])
    try check("facts.list CONTAINS 2", ["Milk"])
  }

  // Evidence: P-052p
  @Test func `an object that is reached in several ways counts once`() throws {
    // The tasks of group 1 have the tags red and blue, and red again.
    try check("group.tasks.tags.@count == 2", ["Milk", "éclair", "10"])
    try check("SUBQUERY(group.tasks.tags, $t, $t != nil).@count == 2", ["Milk", "éclair", "10"])
    try check("group.tasks.tags[SIZE] == 2", ["Milk", "éclair", "10"])
    // Red has two tasks, and blue has one of them.
    try check("tags.tasks.@sum.rank == 9", ["Milk", "éclair"])
    try check("sum:(tags.tasks.rank) == 9", ["Milk", "éclair"])
    try check("tags.tasks.@avg.rank == 4.5", ["Milk", "éclair"])
    try check("tags.tasks.group.@count == 1", ["Milk", "éclair"])
    try check("count:(tags.tasks.rank) == 2", ["Milk", "éclair"])
    try check("tags.tasks[LAST].rank == 6", ["Milk", "éclair"])
    // Both tasks have the same group, whose title is the same.
    try check("count:(tags.tasks.group.title) == 1", ["Milk", "éclair"])
    try check("count:(group.tasks.done) == 3", ["Milk", "éclair", "10"])
    let sorted = try store.ids(
      #"{"entity":"Task","sort":["-tags.tasks.@sum.rank","title"],"limit":2}"#
    )
    #expect(sorted == ["Task/p1", "Task/p2"])
    let rows = try store.fetch(
      #"{"entity":"Task","predicate":"title == 'Milk'","select":{"ranks":"tags.tasks.rank"}}"#
    )
    #expect(rows.first?["values"]?["ranks"]?.array?.compactMap(\.integer).sorted() == [3, 6])
  }

  // Evidence: P-052p
  @Test func `a path after an aggregate begins at each object of any collection`() throws {
    // Red and blue have two tasks with one group, whose weight is 5.
    for collection in [
      "tags.tasks", "SUBQUERY(tags.tasks, $t, $t != nil)", "(tags.tasks UNION tags.tasks)",
      "SUBQUERY(tags, $t, $t != nil).tasks",
    ] {
      try check("\(collection).@sum.group.weight == 10", ["Milk", "éclair"])
      try check("sum:(\(collection).group.weight) == 5", ["Milk", "éclair"])
      try checkRefused("\(collection).@sum.tags.tasks.rank > 0")
    }
    try check("tags.%K == 10", ["Milk", "éclair"], #"["tasks.@sum.group.weight"]"#)
    let heavy = "SUBQUERY(tags, $t, $t.%K == 10).@count == 1"
    try check(heavy, ["Milk", "éclair"], #"["tasks.@sum.group.weight"]"#)
    try checkRefused("tags.%K > 0", #"["tasks.@sum.tags.tasks.rank"]"#)
  }

  // Evidence: P-052p
  @Test func `a path over to-manys that meets nil has no element there`() async throws {
    try await store.save(#"{"update":[{"id":"Task/p2","values":{"group":null}}]}"#)
    // Red has Milk, whose group is one, and éclair, which has no group.
    for collection in ["tags.tasks.group", "SUBQUERY(tags, $t, $t != nil).tasks.group"] {
      try check("\(collection).@count == 1", ["Milk", "éclair"])
      try check("\(collection)[SIZE] == 1", ["Milk", "éclair"])
      try check("\(collection)[LAST] == 'Group/p1'", ["Milk", "éclair"])
      try check("\(collection)[FIRST] == 'Group/p1'", ["Milk", "éclair"])
      try check("(\(collection) UNION \(collection)).@count == 1", ["Milk", "éclair"])
      try check("ANY \(collection) == nil", ["Milk", "éclair"])
    }
    let rows = try store.fetch(
      #"{"entity":"Task","predicate":"rank == 3","select":["tags.tasks.group.title"]}"#
    )
    #expect(rows.first?["values"]?["tags.tasks.group.title"] == .array([.string("one")]))
  }

  // Evidence: P-052o
  @Test func `numbers of several types are exact together`() throws {
    // Milk has the rank 3 and the price 0.1, éclair 6 and 0.2, the bug 1 and no price.
    try check("sum:({1.5, rank}) == 4.5", ["Milk"])
    try check("mode:({2.5, rank}) == 2.5", ["Milk", "éclair", "Zebra"])
    try check("mode:({1e300, rank}) < 4", ["Milk", "10"])
    try check("3 IN ({3, rank} MINUS group.tasks.price)", ["Milk", "éclair", "Zebra", "10"])
    try check("0.1 IN ({5, rank} UNION group.tasks.price)", ["Milk", "éclair", "10"])
    try check("6 IN ({rank, 2} MINUS tags.tasks.price)", ["éclair"])
  }

  private func checkRefused(
    _ predicate: String,
    _ arguments: String = "[]",
    sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    let request = """
      {"entity":"Task","predicate":\(JSONValue.string(predicate).text),"arguments":\(arguments)}
      """
    let refusal = try store.refusal(ofFetch: request)
    #expect(refusal?.code == "predicateInvalid", "\(predicate)", sourceLocation: sourceLocation)
  }

  // Evidence: P-052c
  @Test func `a json attribute that has a list contains its elements`() async throws {
    let store = try TestStore(
      """
      {"name":"L","entities":[{"name":"N","attributes":[
        {"name":"l","type":"json","optional":true},{"name":"s","type":"string"}]}]}
      """
    )
    let values = [#"["a",1,null]"#, #""bar""#, #"{"a":1}"#, "null", "[]"]
    for (number, value) in values.enumerated() {
      try await store.save(
        #"{"insert":[{"entity":"N","values":{"s":"\#(number)","l":\#(value)}}]}"#
      )
    }
    let expected: [(predicate: String, found: [String])] = [
      ("l CONTAINS 'a'", ["N/p1", "N/p2"]), ("l CONTAINS 1", ["N/p1"]), ("'a' IN l", ["N/p1"]),
      ("ANY l == 'a'", ["N/p1"]), ("l CONTAINS nil", []), ("l CONTAINS ''", []),
    ]
    for (predicate, found) in expected {
      let text = JSONValue.string(predicate).text
      #expect(try store.ids(#"{"entity":"N","predicate":\#(text)}"#) == found, "\(predicate)")
    }
  }
}
