import JSON
import ObjectModel
import PersistentStore
import TestSeeds
import TestStores
import Testing

/// Groups of random graphs with conditions, orders, pages and sections, against arrays.
@Suite struct `Groups of random graphs` {
  /// Objects with equal values of the paths.
  private struct Group {
    let keys: [JSONValue]
    let values: [GraphValue]
    var objects: [Int]
  }

  /// An aggregate, with what a group has for it.
  private struct Aggregate {
    let source: String
    let value: ([Int]) -> GraphValue
  }

  /// A comparison that `having` has, with what it means for a group.
  private struct Having {
    let source: String
    let holds: (Group) -> Bool?
  }

  private let store: TestStore

  init() throws {
    store = try TestStore(GraphSchema.model)
  }

  private func generator(_ seed: UInt64) async throws -> GraphGenerator {
    var random = SplitMix64(seed: seed)
    var world = GraphWorld.random(&random, things: 8 + random.below(16), tags: 3)
    try await world.save(in: store)
    return GraphGenerator(world: world, random: random)
  }

  /// The paths by which objects are grouped.
  ///
  /// Whether zero and negative zero are one group is open.
  private static let paths = [
    "small", "text", "flag", "moment", "price", "leader.small", "leader.flag", "title",
  ]

  private func end(_ path: String, _ object: Int, _ world: GraphWorld) -> (Int?, String) {
    let parts = path.split(separator: ".").map(String.init)
    return parts.count == 2 ? (world.reference(object, parts[0]), parts[1]) : (object, parts[0])
  }

  private func groups(_ paths: [String], _ objects: [Int], _ world: GraphWorld) -> [Group] {
    var groups: [Group] = []
    for object in objects {
      let ends = paths.map { end($0, object, world) }
      let keys = ends.map { world.wire($0.0, $0.1) }
      if let index = groups.firstIndex(where: { $0.keys == keys }) {
        groups[index].objects.append(object)
      } else {
        let values = ends.map { world.value($0.0, $0.1) }
        groups.append(Group(keys: keys, values: values, objects: [object]))
      }
    }
    return groups
  }

  private func aggregate(_ generator: inout GraphGenerator) -> Aggregate {
    let world = generator.world
    let name = generator.random.pick(["count", "sum", "min", "max", "avg"])
    if name == "count" {
      return Aggregate(source: "@count") { .integer(Int64($0.count)) }
    }
    let attributes =
      ["min", "max"].contains(name)
      ? ["small", "middle", "text", "moment", "price"] : ["small", "middle", "price"]
    let attribute = generator.random.pick(attributes)
    return Aggregate(source: "@\(name).\(attribute)") { objects in
      let values = objects.map { world.value($0, attribute) }
      // The sum of no values is 0 or missing.
      if name == "sum", values.allSatisfy(\.isMissing) { return .open }
      return GraphStatistics.value(name, values)
    }
  }

  private func having(
    _ generator: inout GraphGenerator,
    _ paths: [String],
    levels: Int
  ) -> Having {
    if levels > 0, generator.random.oneIn(2) {
      let first = having(&generator, paths, levels: levels - 1)
      let second = having(&generator, paths, levels: levels - 1)
      switch generator.random.below(3) {
      case 0:
        return Having(source: "(\(first.source)) AND (\(second.source))") {
          GraphLogic.all([first.holds($0), second.holds($0)])
        }
      case 1:
        return Having(source: "(\(first.source)) OR (\(second.source))") {
          GraphLogic.any([first.holds($0), second.holds($0)])
        }
      default:
        return Having(source: "NOT (\(first.source))") { GraphLogic.not(first.holds($0)) }
      }
    }
    let sign = generator.random.pick(["==", "!=", "<", "<=", ">", ">="])
    let number = Int64(generator.random.below(5)) - 1
    if let index = paths.firstIndex(where: { $0.hasSuffix("small") }), generator.random.oneIn(3) {
      return Having(source: "\(paths[index]) \(sign) \(number)") {
        $0.values[index].compare(sign, .integer(number))
      }
    }
    var aggregate = aggregate(&generator)
    while aggregate.source.hasSuffix("text") || aggregate.source.hasSuffix("moment") {
      aggregate = self.aggregate(&generator)
    }
    let chosen = aggregate
    return Having(source: "\(chosen.source) \(sign) \(number)") {
      chosen.value($0.objects).compare(sign, .integer(number))
    }
  }

  /// Sorts groups by all of their keys; the keys of two groups differ.
  private func sorted(_ groups: [Group], _ keys: [(index: Int, descends: Bool)]) -> [Group] {
    groups.sorted { first, second in
      for key in keys {
        let (a, b) =
          key.descends
          ? (second.values[key.index], first.values[key.index])
          : (first.values[key.index], second.values[key.index])
        if a.isMissing != b.isMissing { return a.isMissing }
        if !a.isMissing, let order = a.order(b), order != .equal { return order == .less }
      }
      return false
    }
  }

  private func page(_ request: FetchRequest) throws -> (rows: [JSONValue], next: String?) {
    try store.snapshot { snapshot in
      var writer = JSONWriter()
      let next = try snapshot.writeValues(request, bytesMax: 1 << 24, to: &writer)
      return (try JSONParser.parse(writer.bytes.span).array ?? [], next)
    }
  }

  // Evidence: P-058b, P-058d
  @Test(arguments: Seeds.first(30))
  func `groups have the aggregates of their objects`(seed: UInt64) async throws {
    var generator = try await generator(seed)
    let world = generator.world
    for _ in 0..<20 {
      var paths = [generator.random.pick(Self.paths)]
      let second = generator.random.pick(Self.paths)
      if second != paths[0], generator.random.oneIn(2) { paths.append(second) }
      let aggregates = (0..<1 + generator.random.below(3)).map { _ in aggregate(&generator) }
      // The order of all paths decides the order of the groups.
      var keys = paths.indices.map { (index: $0, descends: generator.random.oneIn(2)) }
      if generator.random.oneIn(2) { keys.reverse() }
      let select =
        paths.enumerated().map { JSONMember("k\($0.offset)", .string($0.element)) }
        + aggregates.enumerated().map { JSONMember("a\($0.offset)", .string($0.element.source)) }
      var request = FetchRequest(["entity": "Thing", "select": .object(select)])
      request.groupBy = paths
      request.sort = keys.map { ($0.descends ? "-" : "") + paths[$0.index] }
      var expected = groups(paths, world.all("Thing"), world)
      if generator.random.oneIn(2) {
        let having = having(&generator, paths, levels: 2)
        if expected.contains(where: { having.holds($0) == nil }) { continue }
        request.having = having.source
        expected = expected.filter { having.holds($0) == true }
      }
      expected = sorted(expected, keys)
      let comment =
        "\(paths) \(aggregates.map(\.source)) \(request.sort) "
        + "\(request.having ?? "")\n\(Seeds.repeating(seed))"
      do {
        let rows = try page(request).rows
        #expect(
          rows.map { row in paths.indices.map { row["k\($0)"] ?? .null } }
            == expected.map(\.keys),
          "\(comment)"
        )
        for (row, group) in zip(rows, expected) {
          for (index, aggregate) in aggregates.enumerated() {
            try check(row["a\(index)"] ?? .null, aggregate.value(group.objects), comment)
          }
        }
        let count = try store.snapshot { try $0.countValues(request) }
        #expect(count == Int64(expected.count), "\(comment)")
        try checkPages(request, rows, 1 + generator.random.below(4), comment)
        if keys.count == paths.count { try checkSections(request, expected, keys[0], comment) }
      } catch {
        Issue.record("\(error)\n\(comment)")
      }
    }
  }

  private func check(_ found: JSONValue, _ expected: GraphValue, _ comment: String) throws {
    switch expected {
    case .open: break
    case .near: #expect(expected.isNear(found), "\(found) \(expected) \(comment)")
    default: #expect(found.isSame(expected.wire), "\(found) \(expected) \(comment)")
    }
  }

  private func checkPages(
    _ request: FetchRequest,
    _ rows: [JSONValue],
    _ limit: Int,
    _ comment: String
  ) throws {
    var request = request
    request.limit = limit
    var found: [JSONValue] = []
    repeat {
      let page = try page(request)
      #expect(page.rows == Array(rows.dropFirst(found.count).prefix(limit)), "\(comment)")
      found += page.rows
      #expect((page.next != nil) == (found.count < rows.count), "\(comment)")
      request.after = page.next
    } while request.after != nil && found.count < rows.count
  }

  /// The first key as the key of the sections.
  private func checkSections(
    _ request: FetchRequest,
    _ groups: [Group],
    _ key: (index: Int, descends: Bool),
    _ comment: String
  ) throws {
    var request = request
    request.sectionBy = request.sort.removeFirst()
    let sections = try store.snapshot { snapshot in
      var writer = JSONWriter()
      try snapshot.writeValueSections(request, bytesMax: 1 << 20, to: &writer)
      return try JSONParser.parse(writer.bytes.span).array ?? []
    }
    var expected: [(name: JSONValue, offset: Int64, count: Int64)] = []
    for (offset, group) in groups.enumerated() {
      let name = group.keys[key.index]
      if expected.last?.name == name {
        expected[expected.count - 1].count += 1
      } else {
        expected.append((name, Int64(offset), 1))
      }
    }
    let wanted = expected.map { section -> JSONValue in
      ["name": section.name, "offset": .integer(section.offset), "count": .integer(section.count)]
    }
    #expect(sections == wanted, "\(comment)")
  }

  // Evidence: P-058c
  @Test(arguments: Seeds.first(10))
  func `aggregates alone are those of all objects`(seed: UInt64) async throws {
    var generator = try await generator(seed)
    let objects = generator.world.all("Thing")
    for _ in 0..<10 {
      let aggregates = (0..<1 + generator.random.below(3)).map { _ in aggregate(&generator) }
      let select = aggregates.enumerated().map {
        JSONMember("a\($0.offset)", .string($0.element.source))
      }
      let comment = "\(aggregates.map(\.source))\n\(Seeds.repeating(seed))"
      let rows = try page(FetchRequest(["entity": "Thing", "select": .object(select)])).rows
      #expect(rows.count == 1, "\(comment)")
      for (index, aggregate) in aggregates.enumerated() {
        try check(rows.first?["a\(index)"] ?? .null, aggregate.value(objects), comment)
      }
    }
  }
}
