package import JSON
package import ObjectModel

/// The sources of time and randomness of a store, and a program's own settings.
///
/// The times of `now()` are SQLite's, because a trigger also sets them in an external client's
/// transaction.
package struct StoreEnvironment: Sendable {
  /// Milliseconds since 1970.
  package let now: @Sendable () -> Int64
  package let random: @Sendable () -> UInt32

  /// The program's own merge policies, by the names that saves use.
  ///
  /// One save may call a policy more than once.
  package var mergePolicies: [String: MergeDecision] = [:]

  /// The program's functions for transient attributes, by the names in `computed` of a model.
  package var computedValues: [String: ComputedValue] = [:]

  /// Returns the faults of a model that the store cannot find itself, such as those of `spotlight`.
  ///
  /// The store calls this function with models that have no other faults. It refuses to create or
  /// migrate a store with a model that has faults.
  package var modelProblems: @Sendable (Model) -> [ModelProblem] = { _ in [] }

  /// The limits for saves that write many rows.
  package var bulk = BulkLimits()

  /// The maximum number of connections for reads, besides the event loop's own: reads that take
  /// long pause for others on connections of their own.
  package var readersMax = 32

  package init(now: @escaping @Sendable () -> Int64, random: @escaping @Sendable () -> UInt32) {
    self.now = now
    self.random = random
  }

  /// Fails where `modelProblems` returns faults of a model.
  ///
  /// - Throws: `modelInvalid`.
  package func check(_ model: Model) throws(StoreError) {
    let problems = modelProblems(model)
    guard problems.isEmpty else { throw StoreError(ModelError(problems: problems), in: model.name) }
  }
}

/// The limits of bulk writes, which make saves of many rows faster and saves of few rows slower.
package struct BulkLimits: Sendable {
  /// The number of objects from which a save turns triggers off.
  ///
  /// SQLite then recompiles all statements, which pays off only for many objects.
  package var rowsMin = 1000
  /// The maximum number of new rows that one statement writes.
  package var rowsAtOnceMax = 16

  package init() {}
}

/// A property that other saves changed since the version that the client sent.
package struct PropertyConflict: Sendable {
  /// The object's ID.
  package let id: String
  package let property: String
  /// The value in the version that the client sent.
  package let base: JSONValue
  /// The stored value.
  package let store: JSONValue
  /// The value that the client sent, nil if it sent none.
  package let client: JSONValue?

  /// The decision about a property.
  package enum Resolution: Sendable {
    case store
    /// The value that the client sent; the stored value if it sent none.
    case client
    case base
    /// Another value, in the form in which a client sends it.
    case value(JSONValue)
  }
}

/// A decision about a property.
///
/// It runs inside the writer's transaction, so it must be fast and must wait for nothing.
package typealias MergeDecision = @Sendable (PropertyConflict) -> PropertyConflict.Resolution
