/// A condition on the values of a type, from key paths and operators.
///
///     let request = FetchRequest<TodoTask>(where: \.title == "milk" && \.priority > 3)
///
/// The compiler checks the properties and the types of what they are compared with. The values are
/// bound as arguments.
public struct ValuePredicate<Value: ObjectValue>: Sendable, Equatable {
  /// The condition in the predicate language.
  let predicate: FetchPredicate
  /// The reason why a key path is no property of a stored object; nil for none.
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

  /// Requires both conditions.
  public static func && (first: ValuePredicate, second: ValuePredicate) -> ValuePredicate {
    first.joined("AND", second)
  }

  /// Requires one of the conditions.
  public static func || (first: ValuePredicate, second: ValuePredicate) -> ValuePredicate {
    first.joined("OR", second)
  }

  /// Requires that the condition does not hold.
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

/// The name in the model of the property that a key path reads.
package enum PropertyPath {
  /// Returns the name, or the reason why the type has no such property.
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

/// The way in which texts are compared.
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

/// Requires a value; nil is the missing value.
public func == <Value: ObjectValue, Property: WireConvertible>(
  path: KeyPath<Value, Property>,
  value: Property
) -> ValuePredicate<Value> {
  ValuePredicate(path, "== %@", [value.wireValue])
}

/// Requires another value; nil is the missing value.
public func != <Value: ObjectValue, Property: WireConvertible>(
  path: KeyPath<Value, Property>,
  value: Property
) -> ValuePredicate<Value> {
  ValuePredicate(path, "!= %@", [value.wireValue])
}

/// Requires a case of an enumeration.
public func == <Value: ObjectValue, Property: RawRepresentable>(
  path: KeyPath<Value, Property>,
  value: Property
) -> ValuePredicate<Value> where Property.RawValue: WireConvertible {
  ValuePredicate(path, "== %@", [value.rawValue.wireValue])
}

/// Requires another case of an enumeration.
public func != <Value: ObjectValue, Property: RawRepresentable>(
  path: KeyPath<Value, Property>,
  value: Property
) -> ValuePredicate<Value> where Property.RawValue: WireConvertible {
  ValuePredicate(path, "!= %@", [value.rawValue.wireValue])
}

/// Requires a smaller value.
public func < <Value: ObjectValue, Property: WireConvertible>(
  path: KeyPath<Value, Property>,
  value: Property
) -> ValuePredicate<Value> {
  ValuePredicate(path, "< %@", [value.wireValue])
}

/// Requires a value that is not greater.
public func <= <Value: ObjectValue, Property: WireConvertible>(
  path: KeyPath<Value, Property>,
  value: Property
) -> ValuePredicate<Value> {
  ValuePredicate(path, "<= %@", [value.wireValue])
}

/// Requires a greater value.
public func > <Value: ObjectValue, Property: WireConvertible>(
  path: KeyPath<Value, Property>,
  value: Property
) -> ValuePredicate<Value> {
  ValuePredicate(path, "> %@", [value.wireValue])
}

/// Requires a value that is not smaller.
public func >= <Value: ObjectValue, Property: WireConvertible>(
  path: KeyPath<Value, Property>,
  value: Property
) -> ValuePredicate<Value> {
  ValuePredicate(path, ">= %@", [value.wireValue])
}

extension ValuePredicate {
  /// Requires one of several values.
  public static func isIn<Property: WireConvertible>(
    _ path: KeyPath<Value, Property>,
    _ values: some Sequence<Property>
  ) -> ValuePredicate {
    ValuePredicate(path, "IN %@", [.list(values.map(\.wireValue))])
  }

  /// Requires a value within bounds, both included.
  public static func isBetween<Property: WireConvertible>(
    _ path: KeyPath<Value, Property>,
    _ low: Property,
    _ high: Property
  ) -> ValuePredicate {
    ValuePredicate(path, "BETWEEN %@", [.list([low.wireValue, high.wireValue])])
  }

  /// Requires a text that contains another one.
  public static func contains<Property: TextProperty>(
    _ path: KeyPath<Value, Property>,
    _ text: String,
    _ options: TextOptions = []
  ) -> ValuePredicate {
    ValuePredicate(path, "CONTAINS\(options.suffix) %@", [.string(text)])
  }

  /// Requires a text that begins with another one.
  public static func begins<Property: TextProperty>(
    _ path: KeyPath<Value, Property>,
    with text: String,
    _ options: TextOptions = []
  ) -> ValuePredicate {
    ValuePredicate(path, "BEGINSWITH\(options.suffix) %@", [.string(text)])
  }

  /// Requires a text that ends with another one.
  public static func ends<Property: TextProperty>(
    _ path: KeyPath<Value, Property>,
    with text: String,
    _ options: TextOptions = []
  ) -> ValuePredicate {
    ValuePredicate(path, "ENDSWITH\(options.suffix) %@", [.string(text)])
  }

  /// Requires a text of a pattern, in which `*` is any text and `?` any character.
  public static func isLike<Property: TextProperty>(
    _ path: KeyPath<Value, Property>,
    _ pattern: String,
    _ options: TextOptions = []
  ) -> ValuePredicate {
    ValuePredicate(path, "LIKE\(options.suffix) %@", [.string(pattern)])
  }

  /// Requires a text that a regular expression matches as a whole.
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
  ///   - condition: The condition. A key path that is no property of the stored object is an error
  ///     when the request opens.
  ///   - sort: The order, like `["-priority", "title"]`; empty for the order of the IDs.
  ///   - sectionBy: The property or key path whose values are the sections; nil for none.
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
