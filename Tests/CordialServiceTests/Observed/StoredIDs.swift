import TestSeeds

/// The IDs of the objects that the store has, as the last check read them.
struct StoredIDs {
  static let entities = ["Group", "Task", "Tag", "Memo"]

  /// The IDs by entity; the tasks include the special ones.
  var byEntity: [String: [String]] = [:]

  var groups: [String] { byEntity["Group"] ?? [] }
  var tasks: [String] { byEntity["Task"] ?? [] }
  var tags: [String] { byEntity["Tag"] ?? [] }
  var memos: [String] { byEntity["Memo"] ?? [] }

  /// The names of tags, stored or not.
  static let tagNames = ["red", "green", "blue", "x", "rose"]

  /// Returns the ID that the next object of an entity may have.
  func next(_ entity: String, _ random: inout SplitMix64) -> String {
    guard entity != "Tag" else { return "Tag/s\(random.pick(Self.tagNames))" }
    let numbers = (byEntity[entity] ?? []).filter { $0.hasPrefix("\(entity)/p") }
      .compactMap { Int($0.dropFirst(entity.count + 2)) }
    return "\(entity)/p\((numbers.max() ?? 0) + 1 + random.below(2))"
  }

  /// Returns the entity and the number of an ID of the form `Entity/p1`.
  static func number(of id: String) -> (entity: String, number: String) {
    let parts = id.split(separator: "/", maxSplits: 1)
    return (String(parts.first ?? ""), String(parts.last?.dropFirst() ?? ""))
  }
}

extension SplitMix64 {
  /// Returns some elements of an array, in their order and each at most once.
  mutating func some<Element>(_ elements: [Element], atMost count: Int) -> [Element] {
    var indices: Set<Int> = []
    guard !elements.isEmpty else { return [] }
    for _ in 0..<count { indices.insert(below(elements.count)) }
    return indices.sorted().map { elements[$0] }
  }

  /// Returns one element of an array, or nil where the array is empty.
  mutating func any<Element>(_ elements: [Element]) -> Element? {
    elements.isEmpty ? nil : pick(elements)
  }
}
