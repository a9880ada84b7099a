import Synchronization

/// What was found about types, so that it is found once for each.
///
/// A program has a limited number of types, so that nothing is ever removed.
final class TypeCache<Fact: Sendable>: Sendable {
  private let facts = Mutex<[ObjectIdentifier: Fact]>([:])

  /// Returns what was found about a type.
  ///
  /// - Parameters:
  ///   - type: The type.
  ///   - find: Finds it; two threads may do so for one type.
  /// - Returns: What was found.
  func fact(for type: Any.Type, _ find: () -> Fact) -> Fact {
    let key = ObjectIdentifier(type)
    if let known = facts.withLock({ $0[key] }) { return known }
    let fact = find()
    facts.withLock { $0[key] = fact }
    return fact
  }
}
