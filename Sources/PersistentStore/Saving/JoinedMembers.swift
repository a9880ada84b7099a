/// The members of a to-many in the order in which they joined it; joining and leaving take constant
/// time.
struct JoinedMembers {
  private var positions: [Int64: Int] = [:]
  private var next = 0

  var count: Int { positions.count }

  /// The numbers of the members, in order.
  var inOrder: [Int64] {
    positions.sorted { $0.value < $1.value }.map(\.key)
  }

  func contains(_ member: Int64) -> Bool { positions[member] != nil }

  /// Adds a member at the end; an existing member keeps its position.
  mutating func append(_ member: Int64) {
    guard positions[member] == nil else { return }
    positions[member] = next
    next += 1
  }

  /// Removes a member.
  ///
  /// - Returns: Whether the object was a member.
  @discardableResult
  mutating func remove(_ member: Int64) -> Bool { positions.removeValue(forKey: member) != nil }
}
