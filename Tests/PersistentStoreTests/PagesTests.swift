import JSON
import ObjectModel
import PersistentHistory
import PersistentStore
import TestSeeds
import TestStores
import Testing

// Evidence: P-051c
@Suite struct `Pages after cursors` {
  private let store: TestStore

  init() throws {
    store = try TestStore(TestModels.todo)
  }

  /// The IDs of one page, and the cursor behind it.
  private func page(
    _ sort: [String],
    _ limit: Int,
    after: String?
  ) throws -> (ids: [String], next: String?) {
    try store.snapshot { snapshot in
      let request = FetchRequest(entity: "Task", sort: sort, limit: limit, after: after)
      let plan = try snapshot.plan(request)
      let (objects, hasMore) = try snapshot.page(plan)
      let last = hasMore ? objects.last : nil
      return (
        objects.map { "Task/p\($0)" },
        try last.flatMap { try snapshot.cursor(plan, after: $0) }
      )
    }
  }

  private func walk(_ sort: [String], _ limit: Int) throws -> [String] {
    var ids: [String] = []
    var next: String?
    repeat {
      let (more, cursor) = try page(sort, limit, after: next)
      ids += more
      next = cursor
    } while next != nil
    return ids
  }

  /// Missing values, equal ones, both directions and key paths.
  @Test(arguments: Seeds.first(10))
  func `all pages together are the whole result`(seed: UInt64) async throws {
    var random = SplitMix64(seed: seed)
    let groups = (1...3).map { number in
      #"{"id":"Group/t\#(number)","values":{"rank":\#(number == 2 ? "null" : "\(number)")}}"#
    }
    let tasks = (0..<40).map { _ in
      let title = random.oneIn(3) ? "null" : "\"\(random.pick(["a", "B", "c10", "c9", "ä"]))\""
      let priority = random.oneIn(3) ? "null" : "\(random.below(4))"
      let group = random.oneIn(3) ? "null" : "\"Group/t\(1 + random.below(3))\""
      return #"{"entity":"Task","values":{"title":\#(title),"priority":\#(priority),"#
        + #""group":\#(group)}}"#
    }
    try await store.save(#"{"insert":[\#((groups + tasks).joined(separator: ","))]}"#)
    for sort in [
      [], ["priority"], ["-priority"], ["title", "-priority"], ["-title:localized", "priority"],
      ["group.rank", "-title"], ["-group.rank", "title:localized"],
    ] {
      let list = JSONValue.array(sort.map { .string($0) }).text
      let all = try store.ids(#"{"entity":"Task","sort":\#(list)}"#)
      for limit in [1, 7, 39, 40, 41] {
        #expect(try walk(sort, limit) == all, "\(sort), \(limit); \(Seeds.repeating(seed))")
      }
    }
  }

  @Test func `a cursor belongs to its request`() async throws {
    try await store.save(#"{"insert":[{"entity":"Task"},{"entity":"Task"}]}"#)
    let next = try #require(try page(["priority"], 1, after: nil).next)
    #expect(try page(["priority"], 5, after: next).ids == ["Task/p2"])
    for (sort, cursor) in [(["-priority"], next), ([], next), (["priority"], "x"), ([], "W10=")] {
      #expect(throws: StoreError.self) { try page(sort, 1, after: cursor) }
    }
    #expect(try page([], 2, after: nil).next == nil)
    #expect(try page([], 3, after: nil).next == nil)
  }

  @Test func `a cursor belongs to its store`() async throws {
    let other = try TestStore(TestModels.todo)
    for store in [store, other] {
      try await store.save(#"{"insert":[{"entity":"Task"},{"entity":"Task"}]}"#)
    }
    let next = try #require(try page(["priority"], 1, after: nil).next)
    let request = FetchRequest(entity: "Task", sort: ["priority"], limit: 1, after: next)
    try store.snapshot { _ = try $0.plan(request) }
    let error = #expect(throws: StoreError.self) {
      try other.snapshot { _ = try $0.plan(request) }
    }
    #expect(error?.code == .invalidRequest)
  }
}

// Evidence: P-051d, P-051e, P-058a, P-058b, P-058c
@Suite struct `Sections, groups and included objects` {
  private let store: TestStore

  init() async throws {
    store = try TestStore(TestModels.todo)
    try await store.save(
      """
      {"insert":[{"id":"Group/t1","values":{"title":"B"}},{"id":"Group/t2","values":{"title":"A"}},
        {"id":"Label/t1","values":{"name":"x"}},
        {"id":"Task/t1","values":{"title":"x","priority":2,"group":"Group/t1",
          "labels":["Label/t1"]}},
        {"id":"Task/t2","values":{"title":"y","priority":1,"group":"Group/t1",
          "labels":["Label/t1"]}},
        {"id":"Task/t3","values":{"title":"z","priority":2,"group":"Group/t2"}},
        {"id":"Task/t4","values":{"priority":3}}]}
      """
    )
  }

  private func sections(_ request: FetchRequest) throws -> String {
    try store.snapshot { snapshot in
      var writer = JSONWriter()
      try snapshot.writeSections(try snapshot.plan(request), bytesMax: 1 << 20, to: &writer)
      return String(decoding: writer.bytes, as: UTF8.self)
    }
  }

  private func values(_ request: FetchRequest) throws -> String {
    try store.snapshot { snapshot in
      var writer = JSONWriter()
      try snapshot.writeValues(request, bytesMax: 1 << 20, to: &writer)
      return String(decoding: writer.bytes, as: UTF8.self)
    }
  }

  @Test func `sections are ranges of the result in its order`() throws {
    #expect(
      try sections(FetchRequest(entity: "Task", limit: 1, sectionBy: "group.title")) == """
        [{"name":null,"offset":0,"count":1},{"name":"A","offset":1,"count":1},\
        {"name":"B","offset":2,"count":2}]
        """
    )
    #expect(
      try sections(
        FetchRequest(entity: "Task", predicate: "priority < 3", sectionBy: "-priority")
      ) == #"[{"name":2,"offset":0,"count":2},{"name":1,"offset":2,"count":1}]"#
    )
    let ids = try store.snapshot { snapshot in
      try snapshot.objects(
        try snapshot.plan(FetchRequest(entity: "Task", sort: ["-title"], sectionBy: "group.title"))
      )
    }
    #expect(ids == [4, 3, 2, 1])
  }

  private func select(_ pairs: (String, String)...) -> [FetchRequest.Selection] {
    pairs.map { FetchRequest.Selection(name: $0.0, path: $0.1) }
  }

  @Test func `groups have aggregates and conditions`() throws {
    let select = select(
      ("g", "group.title"),
      ("n", "@count"),
      ("sum", "@sum.priority"),
      ("avg", "@avg.priority"),
      ("last", "@max.title")
    )
    var request = FetchRequest(entity: "Task", select: select, groupBy: ["group.title"])
    #expect(
      try values(request) == """
        [{"g":null,"n":1,"sum":3,"avg":3.0,"last":null},\
        {"g":"A","n":1,"sum":2,"avg":2.0,"last":"z"},{"g":"B","n":2,"sum":3,"avg":1.5,"last":"y"}]
        """
    )
    request.having = "@count > 1 OR @sum.priority == 2"
    request.sort = ["-group.title"]
    request.limit = 1
    #expect(try values(request) == #"[{"g":"B","n":2,"sum":3,"avg":1.5,"last":"y"}]"#)
    request.predicate = "priority > 1"
    request.having = nil
    request.limit = nil
    request.select = self.select(("n", "@count"))
    request.groupBy = []
    request.sort = []
    #expect(try values(request) == #"[{"n":3}]"#)
  }

  @Test func `a distinct fetch returns equal rows once`() throws {
    let select = select(("p", "priority"))
    let all = FetchRequest(entity: "Task", sort: ["priority"], select: select)
    #expect(try values(all) == #"[{"p":1},{"p":2},{"p":2},{"p":3}]"#)
    let distinct = FetchRequest(
      entity: "Task",
      sort: ["-priority"],
      select: select,
      distinct: true
    )
    #expect(try values(distinct) == #"[{"p":3},{"p":2},{"p":1}]"#)
  }

  @Test func `what no group has in common is refused`() throws {
    for request in [
      FetchRequest(entity: "Task", select: select(("t", "title")), groupBy: ["priority"]),
      FetchRequest(
        entity: "Task",
        sort: ["title"],
        select: select(("n", "@count")),
        groupBy: ["priority"]
      ),
      FetchRequest(entity: "Task", groupBy: ["priority"]),
      FetchRequest(entity: "Task", select: select(("s", "@sum.title")), groupBy: ["priority"]),
      FetchRequest(entity: "Task", select: select(("s", "@sum")), groupBy: ["priority"]),
      FetchRequest(
        entity: "Task",
        select: select(("n", "@count")),
        groupBy: ["priority"],
        having: "title == 'x'"
      ),
      FetchRequest(
        entity: "Task",
        select: select(("n", "@count")),
        groupBy: ["priority"],
        having: "labels.@count > 0"
      ),
    ] {
      #expect(throws: StoreError.self) { try values(request) }
    }
  }

  @Test func `a sum beyond 64 bits is a double`() async throws {
    try await store.save(
      """
      {"insert":[{"entity":"Task","values":{"priority":9223372036854775807}},
        {"entity":"Task","values":{"priority":9223372036854775807}}]}
      """
    )
    let sum = FetchRequest(entity: "Task", select: select(("s", "@sum.priority")))
    #expect(try values(sum) == #"[{"s":1.8446744073709552e+19}]"#)
    #expect(try store.ids(#"{"entity":"Task","predicate":"abs:(abs:(priority)) > 3"}"#).count == 2)
  }

  /// One statement for each step, however many objects there are.
  @Test func `an included object is returned once`() throws {
    let (text, statements) = try store.snapshot { snapshot in
      var writer = JSONWriter()
      let group = try #require(snapshot.model.entity(named: "Group"))
      let statements = try snapshot.writeIncluded(
        ["tasks", "tasks.labels", "tasks.group"],
        of: group,
        [1, 2],
        bytesMax: 1 << 20,
        to: &writer
      )
      return (String(decoding: writer.bytes, as: UTF8.self), statements)
    }
    #expect(statements == 3)
    let names = try JSONParser.parse(text).members?.map(\.name)
    #expect(
      names == ["Task/p1", "Task/p2", "Task/p3", "Label/p1", "Group/p1", "Group/p2"]
    )
  }
}
