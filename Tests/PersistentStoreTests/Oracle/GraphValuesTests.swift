import JSON
import ObjectModel
import PersistentStore
import TestSeeds
import TestStores
import Testing

/// Selected paths, rows of values, and groups of random graphs, against arrays.
@Suite struct `Values of random graphs` {
  /// A path of `select` with what an object has for it; nil where the contract is open.
  private struct Path {
    let source: String
    /// Whether it is a number that may have a default.
    var isAttribute = false
    let value: (Int) -> JSONValue?
  }

  private let store: TestStore

  init() throws {
    store = try TestStore(GraphSchema.model)
  }

  private func generator(_ seed: UInt64) async throws -> GraphGenerator {
    try await GraphGenerator.generator(seed, in: store)
  }

  // MARK: Paths

  private func path(_ generator: inout GraphGenerator, _ entity: String) -> Path {
    let world = generator.world
    var (prefix, owner) = ("", entity)
    var ends: (Int) -> Int? = { $0 }
    while generator.random.oneIn(3) {
      let (name, destination) = generator.random.pick(GraphSchema.toOnes[owner] ?? [])
      let before = ends
      ends = { world.reference(before($0), name) }
      prefix += name + "."
      owner = destination
    }
    let end = ends
    let (toMany, destination) = generator.random.pick(GraphSchema.toManys[owner] ?? [])
    func id(_ object: Int?) -> JSONValue {
      object.map { .string(world.objects[$0].id) } ?? .null
    }
    switch generator.random.below(9) {
    case 0:
      let name = generator.random.pick(["objectID", "SELF"])
      // Whether a path may end with `SELF` is open.
      guard name == "objectID" || prefix.isEmpty else { fallthrough }
      return Path(source: prefix + name) { id(end($0)) }
    case 1:
      return Path(source: prefix + "entity.name") { object in
        end(object).map { .string(world.objects[$0].entity) } ?? .null
      }
    case 2:
      let (name, _) = generator.random.pick(GraphSchema.toOnes[owner] ?? [])
      return Path(source: prefix + name) { id(world.reference(end($0), name)) }
    case 3:
      // Whether the list of an object that is not there is empty or missing is open.
      return Path(source: prefix + toMany) { object in
        end(object).map { .array(world.members($0, toMany).map(id)) }
      }
    case 4:
      let attribute = generator.random.pick(GraphSchema.names(destination, Self.kinds))
      return Path(source: "\(prefix)\(toMany).\(attribute)") { object in
        end(object).map {
          .array(world.members($0, toMany).map { world.wire($0, attribute) })
        }
      }
    case 5:
      let (second, last) = generator.random.pick(GraphSchema.toManys[destination] ?? [])
      let attribute = generator.random.pick(GraphSchema.names(last, Self.kinds))
      return Path(source: "\(prefix)\(toMany).\(second).\(attribute)") { object in
        guard let object = end(object) else { return nil }
        // An object is where it is reached first.
        var met: Set<Int> = []
        let reached = world.members(object, toMany).flatMap { world.members($0, second) }
          .filter { met.insert($0).inserted }
        return .array(reached.map { world.wire($0, attribute) })
      }
    case 6:
      let name = generator.random.pick(["count", "sum", "min", "max", "avg"])
      let kinds: [GraphSchema.Kind] =
        ["min", "max"].contains(name) ? [.integer, .decimal, .text, .date] : [.integer, .decimal]
      let attribute = generator.random.pick(GraphSchema.names(destination, kinds))
      let end = end
      return Path(source: "\(prefix)\(toMany).@\(name)" + (name == "count" ? "" : ".\(attribute)"))
      {
        object in
        guard let object = end(object) else { return nil }
        let members = world.members(object, toMany)
        if name == "count" { return .integer(Int64(members.count)) }
        let isDecimal = GraphSchema.names(destination, [.decimal]).contains(attribute)
        return Self.wire(
          GraphStatistics.value(name, members.map { world.value($0, attribute) }),
          isDecimal: isDecimal
        )
      }
    case 7 where owner == "Thing":
      let steps = generator.random.pick([["name"], ["deep", "n"], ["list"]])
      return Path(source: "\(prefix)facts." + steps.joined(separator: ".")) { object in
        steps.reduce(world.wire(end(object), "facts") as JSONValue?) { $0?[$1] } ?? .null
      }
    default:
      let name = generator.random.pick(GraphSchema.names(owner, Self.kinds + [.token, .json]))
      let isNumber = ["small", "middle", "large", "weight"].contains(name)
      return Path(source: prefix + name, isAttribute: isNumber) { world.wire(end($0), name) }
    }
  }

  private static let kinds: [GraphSchema.Kind] = [
    .integer, .double, .decimal, .text, .flag, .date,
  ]

  /// A computed value as it is sent; nil where it is open.
  private static func wire(_ value: GraphValue, isDecimal: Bool) -> JSONValue? {
    switch value {
    // The sum of no decimals is a decimal.
    case .integer(let number) where isDecimal: .string("\(number)")
    case .open, .near: nil
    default: value.wire
    }
  }

  // Evidence: P-056a, P-056b, P-058a
  @Test(arguments: Seeds.first(20))
  func `selected paths have the values of the objects`(seed: UInt64) async throws {
    var generator = try await generator(seed)
    let world = generator.world
    for _ in 0..<20 {
      let entity = generator.random.oneIn(4) ? "Tag" : "Thing"
      let paths = (0..<1 + generator.random.below(4)).map { _ in path(&generator, entity) }
      let hasDefault = generator.random.oneIn(3)
      let select = paths.enumerated().map { index, path in
        JSONMember(
          "v\(index)",
          hasDefault && path.isAttribute
            ? ["path": .string(path.source), "default": 77] : .string(path.source)
        )
      }
      let request: JSONValue = ["entity": .string(entity), "select": .object(select)]
      let comment = "\(request.text)\n\(Seeds.repeating(seed))"
      do {
        let objects = try store.fetch(request.text)
        let rows = try rows(FetchRequest(request))
        for (index, object) in world.all(entity).enumerated() {
          for (path, member) in zip(paths, select) {
            guard var expected = path.value(object) else { continue }
            if member.value["default"] != nil, expected == .null { expected = 77 }
            let found = objects[index]["values"]?[member.name] ?? .null
            let inRow = rows[index][member.name] ?? .null
            #expect(found.isSame(expected), "\(world.objects[object].id) \(path.source) \(comment)")
            #expect(inRow.isSame(expected), "\(world.objects[object].id) \(path.source) \(comment)")
          }
        }
      } catch {
        Issue.record("\(error)\n\(comment)")
      }
    }
  }

  private func rows(_ request: FetchRequest) throws -> [JSONValue] {
    try store.snapshot { snapshot in
      var writer = JSONWriter()
      try snapshot.writeValues(request, bytesMax: 1 << 24, to: &writer)
      return try JSONParser.parse(writer.bytes.span).array ?? []
    }
  }

  /// Distinct rows have no order that the contract has, so that they compare as sets.
  // Evidence: P-058a
  @Test(arguments: Seeds.first(10))
  func `distinct rows are each there once`(seed: UInt64) async throws {
    var generator = try await generator(seed)
    let world = generator.world
    for _ in 0..<10 {
      let kinds: [GraphSchema.Kind] = [.integer, .text, .flag, .date, .decimal]
      let names = (0..<1 + generator.random.below(2)).map { _ in
        generator.random.pick(GraphSchema.names("Thing", kinds))
      }
      let select = names.enumerated().map { JSONMember("v\($0.offset)", .string($0.element)) }
      var request = FetchRequest(["entity": "Thing", "select": .object(select)])
      request.distinct = true
      let found = try rows(request).map { row in
        Array(JSONValue.array(select.map { row[$0.name] ?? .null }).text.utf8)
      }
      let expected = Set(
        world.all("Thing").map { object in
          Array(JSONValue.array(names.map { world.wire(object, $0) }).text.utf8)
        }
      )
      // Texts of equal characters may be different.
      #expect(
        found.count == expected.count && Set(found) == expected,
        "\(names); \(Seeds.repeating(seed))"
      )
    }
  }
}
