/// A condition on the values of a type, from key paths and operators.
///
///     let request = FetchRequest<TodoTask>(where: \.title == "milk" && \.priority > 3)
///
/// The compiler checks that each property exists and that its type matches the compared value.
/// Values are bound as arguments.
public struct ValuePredicate<Value: ObjectValue>: Sendable, Equatable {
  /// The condition in the predicate language.
  let predicate: FetchPredicate
  /// The reason why a key path does not refer to a stored property; nil if every key path does.
  let mismatch: ValueMismatch?

  init(_ format: String, _ arguments: [WireValue] = [], mismatch: ValueMismatch? = nil) {
    predicate = FetchPredicate(format: format, values: arguments)
    self.mismatch = mismatch
  }

  /// Compares a property with arguments.
  fileprivate init(
    _ path: PartialKeyPath<Value>,
    _ comparison: String,
    _ arguments: [WireValue]
  ) {
    switch PropertyPath.of(path) {
    case .success(let name): self.init("%K \(comparison)", [.string(name)] + arguments)
    case .failure(let mismatch): self.init("TRUEPREDICATE", mismatch: mismatch)
    }
  }

  /// Requires that both conditions hold.
  public static func && (first: ValuePredicate, second: ValuePredicate) -> ValuePredicate {
    first.joined("AND", second)
  }

  /// Requires that at least one of the conditions holds.
  public static func || (first: ValuePredicate, second: ValuePredicate) -> ValuePredicate {
    first.joined("OR", second)
  }

  /// Requires that a condition does not hold.
  public static prefix func ! (condition: ValuePredicate) -> ValuePredicate {
    ValuePredicate(
      "NOT (\(condition.predicate.format))",
      condition.predicate.arguments,
      mismatch: condition.mismatch
    )
  }

  private func joined(_ operation: String, _ other: ValuePredicate) -> ValuePredicate {
    ValuePredicate(
      "(\(predicate.format)) \(operation) (\(other.predicate.format))",
      predicate.arguments + other.predicate.arguments,
      mismatch: mismatch ?? other.mismatch
    )
  }
}

/// The translation of key paths into names of the model's properties.
package enum PropertyPath {
  /// Returns the model's name for the property of a key path, or the reason why there is none.
  package static func of<Value: ObjectValue>(
    _ path: PartialKeyPath<Value>
  ) -> Result<String, ValueMismatch> {
    let text = path.debugDescription
    guard let dot = text.firstIndex(of: ".") else {
      return .failure(ValueMismatch("", text, "the key path has no name in this build"))
    }
    let name = String(text[text.index(after: dot)...])
    if name.hasPrefix("<computed") {
      let reason = "a key path reads a computed property, which no store has"
      return .failure(ValueMismatch("", "", reason))
    }
    if name == "id" {
      return .failure(ValueMismatch("", name, "compare a relationship, or fetch the object by ID"))
    }
    do throws(ValueMismatch) {
      let decoded = try DecodedProperties.of(Value.self).properties
      guard decoded.contains(where: { $0.name == name }) else {
        let names = decoded.map(\.name).joined(separator: ", ")
        let reason = "\(Value.self) does not decode it; it decodes \(names)"
        return .failure(ValueMismatch("", name, reason))
      }
      return .success(Value.properties[name] ?? name)
    } catch {
      return .failure(error)
    }
  }
}

/// The options for comparing texts.
public struct TextOptions: OptionSet, Sendable {
  /// The bits of the options.
  public let rawValue: Int

  /// Creates options from their bits.
  public init(rawValue: Int) {
    self.rawValue = rawValue
  }

  /// Upper and lower case are equal.
  public static let caseInsensitive = TextOptions(rawValue: 1)
  /// Letters with and without diacritics are equal.
  public static let diacriticInsensitive = TextOptions(rawValue: 2)

  fileprivate var suffix: String {
    let letters =
      (contains(.caseInsensitive) ? "c" : "") + (contains(.diacriticInsensitive) ? "d" : "")
    return letters.isEmpty ? "" : "[\(letters)]"
  }
}

// MARK: Comparisons

/// Requires that a property equals a value; nil means a missing value.
public func == <Value: ObjectValue, Property: WireConvertible>(
  path: KeyPath<Value, Property>,
  value: Property
) -> ValuePredicate<Value> {
  ValuePredicate(path, "== %@", [value.wireValue])
}

/// Requires that a property differs from a value; nil means a missing value.
public func != <Value: ObjectValue, Property: WireConvertible>(
  path: KeyPath<Value, Property>,
  value: Property
) -> ValuePredicate<Value> {
  ValuePredicate(path, "!= %@", [value.wireValue])
}

/// Requires that a property equals a case of an enumeration.
public func == <Value: ObjectValue, Property: RawRepresentable>(
  path: KeyPath<Value, Property>,
  value: Property
) -> ValuePredicate<Value> where Property.RawValue: WireConvertible {
  ValuePredicate(path, "== %@", [value.rawValue.wireValue])
}

/// Requires that a property differs from a case of an enumeration.
public func != <Value: ObjectValue, Property: RawRepresentable>(
  path: KeyPath<Value, Property>,
  value: Property
) -> ValuePredicate<Value> where Property.RawValue: WireConvertible {
  ValuePredicate(path, "!= %@", [value.rawValue.wireValue])
}

/// Requires that a property is less than a value.
public func < <Value: ObjectValue, Property: WireConvertible>(
  path: KeyPath<Value, Property>,
  value: Property
) -> ValuePredicate<Value> {
  ValuePredicate(path, "< %@", [value.wireValue])
}

/// Requires that a property is less than or equal to a value.
public func <= <Value: ObjectValue, Property: WireConvertible>(
  path: KeyPath<Value, Property>,
  value: Property
) -> ValuePredicate<Value> {
  ValuePredicate(path, "<= %@", [value.wireValue])
}

/// Requires that a property is greater than a value.
public func > <Value: ObjectValue, Property: WireConvertible>(
  path: KeyPath<Value, Property>,
  value: Property
) -> ValuePredicate<Value> {
  ValuePredicate(path, "> %@", [value.wireValue])
}

/// Requires that a property is greater than or equal to a value.
public func >= <Value: ObjectValue, Property: WireConvertible>(
  path: KeyPath<Value, Property>,
  value: Property
) -> ValuePredicate<Value> {
  ValuePredicate(path, ">= %@", [value.wireValue])
}

extension ValuePredicate {
  /// Requires that a property equals one of several values.
  public static func isIn<Property: WireConvertible>(
    _ path: KeyPath<Value, Property>,
    _ values: some Sequence<Property>
  ) -> ValuePredicate {
    ValuePredicate(path, "IN %@", [.list(values.map(\.wireValue))])
  }

  /// Requires that a property is within bounds, both included.
  public static func isBetween<Property: WireConvertible>(
    _ path: KeyPath<Value, Property>,
    _ low: Property,
    _ high: Property
  ) -> ValuePredicate {
    ValuePredicate(path, "BETWEEN %@", [.list([low.wireValue, high.wireValue])])
  }

  /// Requires that a property contains a text.
  public static func contains<Property: TextProperty>(
    _ path: KeyPath<Value, Property>,
    _ text: String,
    _ options: TextOptions = []
  ) -> ValuePredicate {
    ValuePredicate(path, "CONTAINS\(options.suffix) %@", [.string(text)])
  }

  /// Requires that a property begins with a text.
  public static func begins<Property: TextProperty>(
    _ path: KeyPath<Value, Property>,
    with text: String,
    _ options: TextOptions = []
  ) -> ValuePredicate {
    ValuePredicate(path, "BEGINSWITH\(options.suffix) %@", [.string(text)])
  }

  /// Requires that a property ends with a text.
  public static func ends<Property: TextProperty>(
    _ path: KeyPath<Value, Property>,
    with text: String,
    _ options: TextOptions = []
  ) -> ValuePredicate {
    ValuePredicate(path, "ENDSWITH\(options.suffix) %@", [.string(text)])
  }

  /// Requires that a property matches a pattern, in which `*` is any text and `?` any character.
  public static func isLike<Property: TextProperty>(
    _ path: KeyPath<Value, Property>,
    _ pattern: String,
    _ options: TextOptions = []
  ) -> ValuePredicate {
    ValuePredicate(path, "LIKE\(options.suffix) %@", [.string(pattern)])
  }

  /// Requires that a regular expression matches the whole text of a property.
  public static func matches<Property: TextProperty>(
    _ path: KeyPath<Value, Property>,
    _ expression: String,
    _ options: TextOptions = []
  ) -> ValuePredicate {
    ValuePredicate(path, "MATCHES\(options.suffix) %@", [.string(expression)])
  }
}

/// The type of a property with a text: `String` or `String?`.
public protocol TextProperty: WireConvertible {}

extension String: TextProperty {}
extension Optional: TextProperty where Wrapped == String {}

extension FetchRequest where Value: ObjectValue {
  /// Creates a request with a condition from key paths.
  ///
  /// - Parameters:
  ///   - condition: The condition. If a key path does not refer to a stored property, the request
  ///     fails when it runs.
  ///   - sort: The order, like `["-priority", "title"]`; empty for the order of the IDs.
  ///   - sectionBy: The property or key path whose values define the sections; nil for no sections.
  ///   - limit: The maximum number of objects; nil for all.
  ///   - offset: The number of objects that the result omits at its beginning.
  public init(
    where condition: ValuePredicate<Value>,
    sort: [String] = [],
    sectionBy: String? = nil,
    limit: Int? = nil,
    offset: Int = 0
  ) {
    self.init(
      predicate: condition.predicate,
      sort: sort,
      sectionBy: sectionBy,
      limit: limit,
      offset: offset
    )
    mismatch = condition.mismatch
  }
}
