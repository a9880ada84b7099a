import JSON
import ObjectModel
import Testing

// Trees as text: `(and (== a 1) (not (any in[c] b {1 2})))`.

extension Predicate {
  var text: String {
    switch self {
    case .constant(let flag): "\(flag)"
    case .not(let inner): "(not \(inner.text))"
    case .and(let terms): "(and \(terms.map(\.text).joined(separator: " ")))"
    case .or(let terms): "(or \(terms.map(\.text).joined(separator: " ")))"
    case .comparison(let comparison): comparison.text
    }
  }
}

extension PredicateComparison {
  fileprivate var text: String {
    let sign =
      switch comparison {
      case .equal: "=="
      case .notEqual: "!="
      case .less: "<"
      case .lessOrEqual: "<="
      case .greater: ">"
      case .greaterOrEqual: ">="
      default: comparison.rawValue
      }
    let options =
      (options.contains(.ignoresCase) ? "c" : "")
      + (options.contains(.ignoresDiacritics) ? "d" : "")
      + (options.contains(.localized) ? "l" : "")
    let quantity = modifier == .direct ? "" : modifier.rawValue + " "
    return
      "(\(quantity)\(sign)\(options.isEmpty ? "" : "[\(options)]") \(left.text) \(right.text))"
  }
}

extension PredicateExpression {
  var text: String {
    switch form {
    case .keyPath(let names, let variable): Self.path(names, variable)
    case .constant(let value): value.text
    case .list(let elements): "{" + elements.map(\.text).joined(separator: " ") + "}"
    case .aggregate(let aggregate, let names, let variable, let path):
      "(\(aggregate.rawValue) \(Self.path(names, variable))\(path.isEmpty ? "" : " ")"
        + path.joined(separator: ".") + ")"
    case .subquery(let collection, let name, let predicate):
      "(subquery \(collection.text) $\(name) \(predicate.text))"
    case .statistic(let statistic, let collection, let path):
      "(\(statistic.rawValue): \(collection.text)\(path.isEmpty ? "" : " ")"
        + path.joined(separator: ".") + ")"
    case .path(let base, let names): "\(base.text).\(names.joined(separator: "."))"
    case .element(let collection, let index): "\(collection.text)[\(index)]"
    case .set(let operation, let first, let second):
      "(\(operation.rawValue) \(first.text) \(second.text))"
    case .distinct(let collection): "(distinct \(collection.text))"
    case .cast(let value, let type): "(cast \(value.text) \(type.rawValue))"
    case .ternary(let condition, let first, let second):
      "(if \(condition.text) \(first.text) \(second.text))"
    case .now: "(now)"
    case .random(let limit): "(random\(limit.map { " " + $0.text } ?? ""))"
    case .arithmetic(let operation, let left, let right):
      "(\(operation.rawValue) \(left.text) \(right.text))"
    case .negative(let inner): "(- \(inner.text))"
    case .function(let function, let argument): "(\(function.rawValue) \(argument.text))"
    }
  }

  private static func path(_ names: [String], _ variable: String?) -> String {
    let start = variable.map { ["$" + $0] } ?? []
    return names.isEmpty && start.isEmpty ? "SELF" : (start + names).joined(separator: ".")
  }
}

/// Checks that a predicate is read as a tree.
func checkTree(
  _ text: String,
  _ expected: String,
  _ arguments: PredicateArguments = .none,
  sourceLocation: SourceLocation = #_sourceLocation
) {
  do throws(PredicateError) {
    let tree = try PredicateParser.parse(text, arguments: arguments)
    #expect(tree.text == expected, "\(text)", sourceLocation: sourceLocation)
  } catch {
    Issue.record("\(text): \(error.message)", sourceLocation: sourceLocation)
  }
}
