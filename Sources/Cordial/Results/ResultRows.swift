import CordialValues

/// The rows of a result, and its sections.
struct ResultRows<Value: BaseValue>: Sendable {
  /// The origin of the rows.
  enum Content: Sendable {
    /// The objects of a list of mocks; an empty list for a result without a request.
    case objects(SharedList<AnyConvertibleValueObject<Value>>)
    /// The IDs of a service's result, the pool that loads the objects, and the recently read
    /// objects.
    case identifiers(IdentifierList, ObjectPool<Value>, RecentObjects<Value>)
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
    case .identifiers(let list, _, _): list.count
    }
  }

  subscript(index: Int) -> AnyConvertibleValueObject<Value> {
    switch content {
    case .objects(let objects): return objects[index]
    case .identifiers(let list, let pool, let recent):
      let object = pool.object(list[index], at: index, in: list)
      recent.keep(object)
      return object
    }
  }

  /// Returns whether two results have the same IDs in the same order and in the same sections.
  ///
  /// - Complexity: Linear in the rows that the results do not share.
  func hasSameSequence(as other: ResultRows) -> Bool {
    guard sections == other.sections else { return false }
    return switch (content, other.content) {
    case (.objects(let a), .objects(let b)):
      a.elementsEqual(b) { $0 === $1 || $0.id == $1.id }
    case (.identifiers(let a, _, _), .identifiers(let b, _, _)): a == b
    default: count == other.count && count == 0
    }
  }
}
