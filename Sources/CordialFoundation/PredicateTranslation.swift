public import Cordial
import CordialValues
public import Foundation

extension FetchRequest where Value: ObjectValue {
  /// Creates a request with a condition from the macro `#Predicate`.
  ///
  ///     FetchRequest(where: #Predicate<TodoTask> { $0.priority > 3 && !$0.completed })
  ///
  /// The store evaluates the condition. If the predicate language lacks a part of the condition,
  /// the request fails when it runs, and the error names that part.
  ///
  /// - Parameters:
  ///   - condition: The condition.
  ///   - sort: The order, like `["-priority", "title"]`; empty for the order of the IDs.
  ///   - sectionBy: The property or key path whose values define the sections; nil for no sections.
  ///   - limit: The maximum number of objects; nil for all.
  ///   - offset: The number of objects that the result omits at its beginning.
  public init(
    where condition: Predicate<Value>,
    sort: [String] = [],
    sectionBy: String? = nil,
    limit: Int? = nil,
    offset: Int = 0
  ) {
    var translation = Translation { path throws(Untranslatable) in
      guard let path = path as? PartialKeyPath<Value> else {
        throw Untranslatable(reason: "#Predicate reads \(path), which is no property of the type")
      }
      do throws(ValueMismatch) {
        return try PropertyPath.of(path).get()
      } catch {
        throw Untranslatable(reason: error.description)
      }
    }
    do throws(Untranslatable) {
      let format = try translation.condition(condition.expression)
      let predicate = FetchPredicate(format: format, values: translation.arguments)
      self.init(
        predicate: predicate,
        sort: sort,
        sectionBy: sectionBy,
        limit: limit,
        offset: offset
      )
    } catch {
      self.init(sort: sort, sectionBy: sectionBy, limit: limit, offset: offset)
      refuse(because: error.reason)
    }
  }
}

/// The reason why a condition has no form in the predicate language.
private struct Untranslatable: Error {
  let reason: String
}

/// A translation of a condition into the predicate language.
private struct Translation {
  /// The arguments of the translated text, in the order of their placeholders.
  var arguments: [WireValue] = []
  /// The expressions that are bound to the variables of inner conditions.
  var bound: [PredicateExpressions.VariableID: any Translatable] = [:]
  /// Returns the name of a property in the model.
  let property: (AnyKeyPath) throws(Untranslatable) -> String

  init(property: @escaping (AnyKeyPath) throws(Untranslatable) -> String) {
    self.property = property
  }

  private func translatable(_ expression: Any) throws(Untranslatable) -> any Translatable {
    if let translatable = expression as? any Translatable { return translatable }
    let name = String(describing: type(of: expression)).prefix { $0 != "<" }
    throw Untranslatable(
      reason: "#Predicate contains \(name), which no store evaluates; use another condition"
    )
  }

  /// Returns the text of an operand.
  mutating func operand(_ expression: Any) throws(Untranslatable) -> String {
    try translatable(expression).operand(&self)
  }

  /// Returns the text of a condition.
  mutating func condition(_ expression: Any) throws(Untranslatable) -> String {
    try translatable(expression).condition(&self)
  }

  /// Adds an argument, and returns its placeholder.
  mutating func argument(_ value: WireValue) -> String {
    arguments.append(value)
    return "%@"
  }

  /// Adds a value of the program as an argument, and returns its placeholder.
  mutating func argument(_ value: Any) throws(Untranslatable) -> String {
    if let convertible = value as? any WireConvertible { return argument(convertible.wireValue) }
    if let raw = (value as? any RawRepresentable)?.rawValue as? any WireConvertible {
      return argument(raw.wireValue)
    }
    throw Untranslatable(
      reason: "#Predicate compares with a \(type(of: value)), which is no value of an attribute"
    )
  }

  mutating func comparison(
    _ first: Any,
    _ operation: String,
    _ second: Any
  ) throws(Untranslatable) -> String {
    let first = try operand(first)
    let second = try operand(second)
    return "\(first) \(operation) \(second)"
  }

  mutating func combination(
    _ first: Any,
    _ operation: String,
    _ second: Any
  ) throws(Untranslatable) -> String {
    let first = try condition(first)
    let second = try condition(second)
    return "(\(first)) \(operation) (\(second))"
  }
}

/// An expression of a Foundation predicate that can be translated.
private protocol Translatable {
  func operand(_ translation: inout Translation) throws(Untranslatable) -> String
  func condition(_ translation: inout Translation) throws(Untranslatable) -> String
}

extension Translatable {
  fileprivate func operand(_ translation: inout Translation) throws(Untranslatable) -> String {
    throw Untranslatable(reason: "#Predicate compares the value of a condition")
  }

  fileprivate func condition(_ translation: inout Translation) throws(Untranslatable) -> String {
    "\(try operand(&translation)) == YES"
  }
}

extension PredicateExpressions.Variable: Translatable {
  fileprivate func operand(_ translation: inout Translation) throws(Untranslatable) -> String {
    if let bound = translation.bound[key] { return try bound.operand(&translation) }
    return "SELF"
  }
}

extension PredicateExpressions.KeyPath: Translatable {
  fileprivate func operand(_ translation: inout Translation) throws(Untranslatable) -> String {
    guard root is PredicateExpressions.Variable<Root.Output> else {
      throw Untranslatable(
        reason:
          "#Predicate reads a property of \(Root.Output.self), and only those of the object itself "
          + "are stored"
      )
    }
    let name = try translation.property(keyPath)
    translation.arguments.append(.string(name))
    return "%K"
  }
}

extension PredicateExpressions.Value: Translatable {
  fileprivate func operand(_ translation: inout Translation) throws(Untranslatable) -> String {
    try translation.argument(value)
  }
}

extension PredicateExpressions.NilLiteral: Translatable {
  fileprivate func operand(_ translation: inout Translation) -> String {
    translation.argument(WireValue.null)
  }
}

extension PredicateExpressions.ForcedUnwrap: Translatable {
  fileprivate func operand(_ translation: inout Translation) throws(Untranslatable) -> String {
    try translation.operand(inner)
  }
}

extension PredicateExpressions.Equal: Translatable {
  fileprivate func condition(_ translation: inout Translation) throws(Untranslatable) -> String {
    try translation.comparison(lhs, "==", rhs)
  }
}

extension PredicateExpressions.NotEqual: Translatable {
  fileprivate func condition(_ translation: inout Translation) throws(Untranslatable) -> String {
    try translation.comparison(lhs, "!=", rhs)
  }
}

extension PredicateExpressions.Comparison: Translatable {
  fileprivate func condition(_ translation: inout Translation) throws(Untranslatable) -> String {
    let operation =
      switch op {
      case .lessThan: "<"
      case .lessThanOrEqual: "<="
      case .greaterThan: ">"
      case .greaterThanOrEqual: ">="
      @unknown default:
        throw Untranslatable(reason: "#Predicate contains the comparison \(op)")
      }
    return try translation.comparison(lhs, operation, rhs)
  }
}

extension PredicateExpressions.Conjunction: Translatable {
  fileprivate func condition(_ translation: inout Translation) throws(Untranslatable) -> String {
    try translation.combination(lhs, "AND", rhs)
  }
}

extension PredicateExpressions.Disjunction: Translatable {
  fileprivate func condition(_ translation: inout Translation) throws(Untranslatable) -> String {
    try translation.combination(lhs, "OR", rhs)
  }
}

extension PredicateExpressions.Negation: Translatable {
  fileprivate func condition(_ translation: inout Translation) throws(Untranslatable) -> String {
    "NOT (\(try translation.condition(wrapped)))"
  }
}

extension PredicateExpressions.CollectionContainsCollection: Translatable {
  fileprivate func condition(_ translation: inout Translation) throws(Untranslatable) -> String {
    try translation.comparison(base, "CONTAINS", other)
  }
}

extension PredicateExpressions.SequenceStartsWith: Translatable {
  fileprivate func condition(_ translation: inout Translation) throws(Untranslatable) -> String {
    try translation.comparison(base, "BEGINSWITH", prefix)
  }
}

#if canImport(Darwin)
// Foundation has this expression on Apple's systems only.
extension PredicateExpressions.StringLocalizedStandardContains: Translatable {
  fileprivate func condition(_ translation: inout Translation) throws(Untranslatable) -> String {
    try translation.comparison(root, "CONTAINS[cd]", other)
  }
}
#endif

extension PredicateExpressions.SequenceContains: Translatable {
  fileprivate func condition(_ translation: inout Translation) throws(Untranslatable) -> String {
    try translation.comparison(element, "IN", sequence)
  }
}

extension PredicateExpressions.NilCoalesce: Translatable {
  /// Translates `$0.title?.contains("a") ?? false`: a condition on a missing value is false.
  fileprivate func condition(_ translation: inout Translation) throws(Untranslatable) -> String {
    guard let otherwise = rhs as? PredicateExpressions.Value<Bool>, !otherwise.value else {
      throw Untranslatable(reason: "#Predicate contains ??, which a store knows with false only")
    }
    return try translation.condition(lhs)
  }
}

extension PredicateExpressions.OptionalFlatMap: Translatable {
  fileprivate func condition(_ translation: inout Translation) throws(Untranslatable) -> String {
    guard let wrapped = wrapped as? any Translatable else {
      return try translation.operand(wrapped)
    }
    translation.bound[variable.key] = wrapped
    defer { translation.bound[variable.key] = nil }
    return try translation.condition(transform)
  }
}
