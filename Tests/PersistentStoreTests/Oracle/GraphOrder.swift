import JSON
import TestSeeds

/// A sort key with the value that each object has for it.
struct GraphSortKey {
  /// The key as it is sent.
  let source: String
  let descends: Bool
  let isLocalized: Bool
  let value: (Int) -> GraphValue
  /// The value as it is sent as the name of a section.
  let wire: (Int) -> JSONValue

  /// Returns the order of two objects by this key alone; nil where it is open.
  func order(_ first: Int, _ second: Int) -> GraphValue.Order? {
    let (a, b) = descends ? (value(second), value(first)) : (value(first), value(second))
    switch (a.isMissing, b.isMissing) {
    case (true, true): return .equal
    case (true, false): return .less
    case (false, true): return .greater
    case (false, false): break
    }
    guard isLocalized else {
      guard let order = a.order(b), order != .none else { return nil }
      return order
    }
    guard case .text(let x) = a, case .text(let y) = b,
      let first = GraphCollation(x, digitsAreNumbers: true),
      let second = GraphCollation(y, digitsAreNumbers: true)
    else { return nil }
    return GraphCollation.order(first, second)
  }
}

extension GraphGenerator {
  /// Makes a sort key; the order of UUIDs, URIs, base64 and JSON is open.
  mutating func sortKey(_ entity: String) -> GraphSortKey {
    let world = world
    let descends = random.oneIn(2)
    let sign = descends ? "-" : ""
    if random.oneIn(4) { return aggregateKey(entity, descends) }
    var path: [String] = []
    var owner = entity
    while random.oneIn(3), path.count < 2 {
      let (name, destination) = random.pick(GraphSchema.toOnes[owner] ?? [])
      path.append(name)
      owner = destination
    }
    let kinds: [GraphSchema.Kind] = [.integer, .double, .decimal, .text, .flag, .date]
    let name = random.pick(GraphSchema.names(owner, kinds))
    let isLocalized = name == "title" && !random.oneIn(3)
    let steps = path
    func end(_ object: Int) -> Int? {
      steps.reduce(object as Int?) { world.reference($0, $1) }
    }
    return GraphSortKey(
      source: sign + (path + [name]).joined(separator: ".") + (isLocalized ? ":localized" : ""),
      descends: descends,
      isLocalized: isLocalized,
      value: { world.value(end($0), name) },
      wire: { world.wire(end($0), name) }
    )
  }

  private mutating func aggregateKey(_ entity: String, _ descends: Bool) -> GraphSortKey {
    let world = world
    let (path, destination) = random.pick(GraphSchema.toManys[entity] ?? [])
    let aggregate = random.pick(["count", "sum", "min", "max", "avg"])
    let kinds: [GraphSchema.Kind] =
      ["min", "max"].contains(aggregate) ? [.integer, .decimal, .text, .date] : [.integer]
    let name = random.pick(GraphSchema.names(destination, kinds))
    let source = "\(path).@\(aggregate)" + (aggregate == "count" ? "" : ".\(name)")
    let value = { (object: Int) -> GraphValue in
      let members = world.members(object, path)
      if aggregate == "count" { return .integer(Int64(members.count)) }
      return GraphStatistics.value(aggregate, members.map { world.value($0, name) })
    }
    return GraphSortKey(
      source: (descends ? "-" : "") + source,
      descends: descends,
      isLocalized: false,
      value: value,
      wire: { value($0).wire }
    )
  }
}

/// Sorts by keys.
struct GraphOrder {
  let keys: [GraphSortKey]
  let world: GraphWorld

  /// Returns the objects in their order; nil where it is open.
  func sorted(_ objects: [Int]) -> [Int]? {
    var isOpen = objects.contains { object in keys.contains { $0.value(object).isOpen } }
    let sorted = objects.sorted { first, second in
      for key in keys {
        guard let order = key.order(first, second) else {
          isOpen = true
          continue
        }
        if order != .equal { return order == .less }
      }
      return world.objects[first].number < world.objects[second].number
    }
    return isOpen ? nil : sorted
  }

  /// Returns the sections of sorted objects by the first key, as they are sent.
  func sections(_ objects: [Int]) -> [(objects: [Int], offset: Int)] {
    var sections: [(objects: [Int], offset: Int)] = []
    var last: Int?
    for (offset, object) in objects.enumerated() {
      if let last, keys[0].order(last, object) == .equal {
        sections[sections.count - 1].objects.append(object)
      } else {
        sections.append(([object], offset))
      }
      last = object
    }
    return sections
  }
}

extension GraphValue {
  /// The value as it is sent; null for one that is not sent.
  var wire: JSONValue {
    switch self {
    case .integer(let number): .integer(number)
    case .double(let number), .untyped(let number), .near(let number, _): .number(number)
    case .decimal(let number): .string(number.text)
    case .text(let text), .token(let text): .string(text)
    case .flag(let flag): .bool(flag)
    case .date(let time):
      GraphDates.milliseconds.first { $0.value == time }.map { .string($0.key) } ?? .null
    case .missing, .open, .object: .null
    }
  }
}

extension GraphValue {
  /// Whether a number that was received is as near to the value as the contract has it.
  func isNear(_ found: JSONValue) -> Bool {
    guard case .near(let number, let within) = self else { return false }
    switch found {
    case .integer(let integer): return abs(Double(integer) - number) <= within
    case .number(let double): return abs(double - number) <= within
    default: return false
    }
  }
}

extension JSONValue {
  /// Whether two values are the same, however a number is written.
  func isSame(_ other: JSONValue) -> Bool {
    switch (self, other) {
    case (.integer(let a), .number(let b)), (.number(let b), .integer(let a)):
      b == b.rounded() && Double(a) == b
    case (.array(let a), .array(let b)):
      a.count == b.count && zip(a, b).allSatisfy { $0.isSame($1) }
    default: self == other
    }
  }
}
