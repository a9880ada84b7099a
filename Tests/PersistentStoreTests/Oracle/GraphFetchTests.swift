import CordialValues
import JSON
import ObjectModel
import PersistentStore
import TestSeeds
import TestStores
import Testing

/// Windows, pages, sections and included objects of random graphs, against sorted arrays.
@Suite struct `Fetches of random graphs` {
  /// A fetch with the objects that it finds, in their order.
  private struct Case {
    var request: FetchRequest
    let entity: String
    let order: GraphOrder
    let objects: [Int]
    let comment: String
  }

  private let store: TestStore

  init() throws {
    store = try TestStore(GraphSchema.model)
  }

  private func generator(_ seed: UInt64) async throws -> GraphGenerator {
    try await GraphGenerator.generator(seed, in: store)
  }

  /// Makes a fetch with a predicate and an order; nil where the contract leaves one open.
  private func fetch(_ generator: inout GraphGenerator, _ seed: UInt64, keys: Int) -> Case? {
    let world = generator.world
    let entity = generator.random.oneIn(4) ? "Tag" : "Thing"
    let keys = (0..<keys).map { _ in generator.sortKey(entity) }
    var members: [JSONMember] = [.init("entity", .string(entity))]
    var found = world.all(entity)
    if generator.random.oneIn(2) {
      let condition = generator.condition([("", entity)], 1)
      if found.contains(where: { condition.holds(["": $0]) == nil }) { return nil }
      members += condition.phrase.rendered(&generator.random).requestMembers
      found = found.filter { condition.holds(["": $0]) == true }
    }
    let order = GraphOrder(keys: keys, world: world)
    guard let sorted = order.sorted(found) else { return nil }
    var request = FetchRequest(.object(members))
    request.sort = keys.map(\.source)
    let comment = "\(JSONValue.object(members).text) \(request.sort)\n\(Seeds.repeating(seed))"
    return Case(request: request, entity: entity, order: order, objects: sorted, comment: comment)
  }

  private func ids(_ objects: some Sequence<Int>, _ world: GraphWorld) -> [String] {
    objects.map { world.objects[$0].id }
  }

  /// Returns the IDs of a page, the cursor after it, and the number of objects of all pages.
  private func page(
    _ request: FetchRequest
  ) throws -> (ids: [String], next: String?, total: Int64) {
    try store.snapshot { snapshot in
      let plan = try snapshot.plan(request)
      let (objects, hasMore) = try snapshot.page(plan)
      let last = hasMore ? objects.last : nil
      return (
        try objects.map { try snapshot.wrappedID(plan.key($0)).description },
        try last.flatMap { try snapshot.cursor(plan, after: $0) },
        try snapshot.count(plan)
      )
    }
  }

  // Evidence: P-051b, P-055a, P-055b, P-055c
  @Test(arguments: Seeds.first(20))
  func `windows are parts of the sorted objects`(seed: UInt64) async throws {
    var generator = try await generator(seed)
    for _ in 0..<30 {
      let count = generator.random.below(4)
      guard var fetch = fetch(&generator, seed, keys: count) else { continue }
      let offset = generator.random.oneIn(2) ? 0 : generator.random.below(6)
      let limit = generator.random.oneIn(2) ? nil : generator.random.below(8)
      fetch.request.offset = offset
      fetch.request.limit = limit
      let page = try page(fetch.request)
      let expected = fetch.objects.dropFirst(offset).prefix(limit ?? .max)
      #expect(page.ids == ids(expected, generator.world), "\(fetch.comment)")
      #expect(page.total == Int64(fetch.objects.count), "\(fetch.comment)")
    }
  }

  // Evidence: P-051c
  @Test(arguments: Seeds.first(20))
  func `pages together are the sorted objects`(seed: UInt64) async throws {
    var generator = try await generator(seed)
    for _ in 0..<15 {
      let count = generator.random.below(4)
      guard var fetch = fetch(&generator, seed, keys: count) else { continue }
      if generator.random.oneIn(3), !fetch.request.sort.isEmpty {
        fetch.request.sectionBy = fetch.request.sort.removeFirst()
      }
      let limit = 1 + generator.random.below(6)
      fetch.request.limit = limit
      let all = ids(fetch.objects, generator.world)
      var found: [String] = []
      repeat {
        let page = try page(fetch.request)
        #expect(page.ids == Array(all.dropFirst(found.count).prefix(limit)), "\(fetch.comment)")
        found += page.ids
        #expect((page.next != nil) == (found.count < all.count), "\(fetch.comment)")
        fetch.request.after = page.next
      } while fetch.request.after != nil && found.count < all.count
      #expect(found == all, "\(fetch.comment)")
    }
  }

  // Evidence: P-051d
  @Test(arguments: Seeds.first(20))
  func `sections are the runs of the first key`(seed: UInt64) async throws {
    var generator = try await generator(seed)
    for _ in 0..<20 {
      let count = 1 + generator.random.below(3)
      guard var fetch = fetch(&generator, seed, keys: count) else { continue }
      fetch.request.sectionBy = fetch.request.sort.removeFirst()
      // The sections are those of the whole result.
      if generator.random.oneIn(2) { fetch.request.limit = generator.random.below(5) }
      let page = try page(fetch.request)
      let expected = fetch.objects.prefix(fetch.request.limit ?? .max)
      #expect(page.ids == ids(expected, generator.world), "\(fetch.comment)")
      let sections = try store.snapshot { snapshot in
        var writer = JSONWriter()
        try snapshot.writeSections(
          try snapshot.plan(fetch.request),
          bytesMax: 1 << 20,
          to: &writer
        )
        return try JSONParser.parse(writer.bytes.span).array ?? []
      }
      let wanted = fetch.order.sections(fetch.objects)
      #expect(sections.count == wanted.count, "\(fetch.comment)")
      for (section, wanted) in zip(sections, wanted) {
        #expect(section["offset"]?.integer == Int64(wanted.offset), "\(fetch.comment)")
        #expect(section["count"]?.integer == Int64(wanted.objects.count), "\(fetch.comment)")
        // Of equal values that are written differently, the contract does not choose one.
        let name = section["name"] ?? .null
        let key = fetch.order.keys[0]
        let isName = wanted.objects.contains {
          name.isSame(key.wire($0)) || key.value($0).isNear(name)
        }
        #expect(isName, "\(name): \(wanted) \(fetch.comment)")
      }
    }
  }

  // Evidence: P-051e
  @Test(arguments: Seeds.first(10))
  func `included objects are those that the paths reach`(seed: UInt64) async throws {
    var generator = try await generator(seed)
    let world = generator.world
    for _ in 0..<10 {
      guard var fetch = fetch(&generator, seed, keys: 1) else { continue }
      let limit = generator.random.below(8)
      fetch.request.limit = limit
      // Whether the objects between are included without being named is open.
      var paths: [String] = []
      var reached: Set<Int> = []
      for _ in 0..<1 + generator.random.below(2) {
        var (path, entity, objects) = ("", fetch.entity, Array(fetch.objects.prefix(limit)))
        for _ in 0..<1 + generator.random.below(3) {
          let toOnes = GraphSchema.toOnes[entity] ?? []
          let (name, destination) = generator.random.pick(
            toOnes + (GraphSchema.toManys[entity] ?? [])
          )
          let isToOne = toOnes.contains { $0.0 == name }
          objects = objects.flatMap { object in
            isToOne
              ? [world.reference(object, name)].compactMap { $0 } : world.members(object, name)
          }
          path += (path.isEmpty ? "" : ".") + name
          entity = destination
          paths.append(path)
          reached.formUnion(objects)
        }
      }
      let included = try store.snapshot { snapshot in
        let plan = try snapshot.plan(fetch.request)
        var writer = JSONWriter()
        try snapshot.writeIncluded(
          paths,
          of: plan.entity,
          try snapshot.objects(plan),
          bytesMax: 1 << 24,
          to: &writer
        )
        return try JSONParser.parse(writer.bytes.span).members ?? []
      }
      let comment = "\(paths) \(fetch.comment)"
      #expect(included.map(\.name).sorted() == ids(reached, world).sorted(), "\(comment)")
      for member in included {
        let family = member.name.hasPrefix("Tag/") ? "Tag" : "Thing"
        let whole = try store.fetch(
          #"{"entity":"\#(family)","predicate":"SELF == '\#(member.name)'"}"#
        )
        #expect([member.value] == whole, "\(member.name) \(comment)")
      }
    }
  }
}
