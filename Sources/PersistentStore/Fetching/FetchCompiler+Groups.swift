import CordialValues
import ObjectModel

/// Groups, and conditions on them.
extension FetchCompiler {
  /// Returns SQL for a path of `groupBy`.
  mutating func groupTerm(_ path: String) throws(StoreError) -> String {
    let names = path.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
    let expression = PredicateExpression(form: .keyPath(names, variable: nil), offset: 0)
    return try value(expression).fragment.sql
  }

  /// Compiles the condition on groups of a request.
  mutating func having(
    _ text: String,
    _ request: FetchRequest
  ) throws(StoreError) -> SQLFragment {
    let predicate: Predicate
    do {
      // Only the predicate can use positional arguments. `having` can use only named arguments.
      let arguments =
        if case .named = request.arguments { request.arguments } else { PredicateArguments.none }
      predicate = try PredicateParser.parse(text, arguments: arguments, overGroups: true)
    } catch {
      throw StoreError(error)
    }
    groupedPaths = Set(request.groupBy)
    defer { groupedPaths = nil }
    return try compile(predicate)
  }
}
