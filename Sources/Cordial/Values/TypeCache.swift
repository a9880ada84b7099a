import Synchronization

/// A cache of one fact for each type.
///
/// Facts are never removed, because a program has a limited number of types.
final class TypeCache<Fact: Sendable>: Sendable {
  private let facts = Mutex<[ObjectIdentifier: Fact]>([:])

  /// Returns the fact about a type.
  ///
  /// - Parameters:
  ///   - type: The type.
  ///   - find: Finds the fact; two threads may call it for the same type.
  /// - Returns: The fact.
  func fact(for type: Any.Type, _ find: () -> Fact) -> Fact {
    let key = ObjectIdentifier(type)
    if let known = facts.withLock({ $0[key] }) { return known }
    let fact = find()
    facts.withLock { $0[key] = fact }
    return fact
  }
}
