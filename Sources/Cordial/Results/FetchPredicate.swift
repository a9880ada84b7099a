import JSON

/// A condition on objects, in the predicate language of the protocol.
///
/// Interpolated values are bound as arguments, so that no text can change the condition:
///
///     let predicate: FetchPredicate = "title CONTAINS[cd] \(text) AND group == \(group.id)"
public struct FetchPredicate: Equatable, Sendable, ExpressibleByStringInterpolation {
  /// The condition, with `%@` for each argument and `%K` for the name of a property.
  public let format: String
  /// The arguments, one for each `%@` and `%K`, in their order.
  public let arguments: [WireValue]

  /// Creates a condition.
  ///
  /// - Parameters:
  ///   - format: The condition, with `%@` for each argument and `%K` for the name of a property.
  ///   - arguments: The arguments, one for each `%@` and `%K`, in their order.
  public init(format: String, arguments: [any WireConvertible] = []) {
    self.format = format
    self.arguments = arguments.map(\.wireValue)
  }

  /// Creates a condition with arguments in the form of the protocol.
  package init(format: String, values: [WireValue]) {
    (self.format, arguments) = (format, values)
  }

  /// Creates a condition without arguments.
  public init(stringLiteral value: String) {
    format = value
    arguments = []
  }

  /// Creates a condition with bound values.
  public init(stringInterpolation: StringInterpolation) {
    format = stringInterpolation.format
    arguments = stringInterpolation.arguments
  }

  /// The arguments in the form of the protocol; nil for none.
  var wireArguments: JSONValue? {
    arguments.isEmpty ? nil : .array(arguments.map(\.json))
  }

  /// A builder of a condition from an interpolated literal.
  public struct StringInterpolation: StringInterpolationProtocol {
    fileprivate var format = ""
    fileprivate var arguments: [WireValue] = []

    /// Creates an empty condition.
    public init(literalCapacity: Int, interpolationCount: Int) {
      format.reserveCapacity(literalCapacity + 2 * interpolationCount)
      arguments.reserveCapacity(interpolationCount)
    }

    /// Appends a part of the condition.
    public mutating func appendLiteral(_ literal: String) {
      format += literal
    }

    /// Appends a bound value.
    public mutating func appendInterpolation(_ value: some WireConvertible) {
      format += "%@"
      arguments.append(value.wireValue)
    }

    /// Appends the name of a property.
    public mutating func appendInterpolation(property: String) {
      format += "%K"
      arguments.append(.string(property))
    }
  }
}
