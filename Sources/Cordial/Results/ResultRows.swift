import CordialValues

/// The rows of a result, and its sections.
struct ResultRows<Value: BaseValue>: Sendable {
  /// The origin of the rows.
  enum Content: Sendable {
    /// The objects of a mock.
    case objects([AnyConvertibleValueObject<Value>])
    /// The IDs of a service's result, and the pool that loads their objects.
    case identifiers(IdentifierList, ObjectPool<Value>)
  }

  let content: Content
  /// The sections in the order of the rows; empty without sections.
  let sections: [ResultSection]

  init(_ content: Content, sections: [ResultSection] = []) {
    self.content = content
    self.sections = sections
  }

  var count: Int {
    switch content {
    case .objects(let objects): objects.count
    case .identifiers(let list, _): list.count
    }
  }

  subscript(index: Int) -> AnyConvertibleValueObject<Value> {
    switch content {
    case .objects(let objects): objects[index]
    case .identifiers(let list, let pool): pool.object(list[index], at: index, in: list)
    }
  }

  /// Returns whether both have the same IDs in the same order and in the same sections.
  ///
  /// - Complexity: Linear in the rows.
  func hasSameSequence(as other: ResultRows) -> Bool {
    guard sections == other.sections else { return false }
    return switch (content, other.content) {
    case (.objects(let a), .objects(let b)):
      a.count == b.count && zip(a, b).allSatisfy { $0 === $1 || $0.id == $1.id }
    case (.identifiers(let a, _), .identifiers(let b, _)): a == b
    default: count == other.count && count == 0
    }
  }
}
