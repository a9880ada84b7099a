import CordialValues
package import ObjectModel
import StoreLayout

/// One comparison of a fetch's predicate, for explanations of the result.
package struct FetchTerm: Sendable {
  /// The comparison as the client wrote it.
  package let text: String
  /// The properties of the object itself that the comparison reads.
  package let properties: Set<String>
  /// The properties of other objects that the comparison reads, by entity number.
  package let related: [Int: Set<String>]
  /// The comparison as a condition on the columns of one object.
  package let condition: RowCondition
  /// The query for the given objects that fulfil the comparison; its first bound value is a JSON
  /// list of the given objects' numbers.
  let matchSQL: String
  let values: [AttributeValue]
}

extension FetchCompiler {
  /// Compiles each comparison of a request's predicate separately.
  ///
  /// - Parameters:
  ///   - request: A request that is known to compile.
  ///   - context: The model, and the state of the store.
  /// - Returns: The comparisons, in the order of the text.
  /// - Throws: The errors of compiling.
  static func terms(
    of request: FetchRequest,
    in context: FetchContext
  ) throws(StoreError) -> [FetchTerm] {
    guard let text = request.predicate else { return [] }
    let predicate: Predicate
    do {
      predicate = try PredicateParser.parse(text, arguments: request.arguments)
    } catch {
      throw StoreError(error)
    }
    let bytes = Array(text.utf8)
    return try predicate.comparisons.map { comparison throws(StoreError) in
      var compiler = try FetchCompiler(request, in: context)
      let term = try compiler.compile(.comparison(comparison))
      let table = compiler.model.source(
        compiler.entity,
        subentities: request.subentities,
        wide: compiler.isWide(request)
      )
      let source = bytes[comparison.source.clamped(to: 0..<bytes.count)]
      return FetchTerm(
        text: String(decoding: source, as: UTF8.self).trimmed,
        properties: compiler.reads.condition,
        related: compiler.reads.related(in: context.model),
        condition: term.condition,
        matchSQL: "SELECT t.\"_id\" FROM \(table) t\(compiler.scope(at: 0).joins.sql) "
          + "WHERE t.\"_id\" IN (SELECT value FROM json_each(?1)) AND (\(term.sql))",
        values: term.values
      )
    }
  }
}

extension String {
  /// The text without the white space at its end.
  fileprivate var trimmed: String {
    var text = self[...]
    while text.last?.isWhitespace == true { text.removeLast() }
    return String(text)
  }
}

extension StoreSnapshot {
  /// Returns the comparisons of a request's predicate.
  ///
  /// - Parameter request: The request.
  /// - Returns: The comparisons, in the order of the text.
  /// - Throws: As `plan(_:)`.
  package func terms(of request: FetchRequest) throws(StoreError) -> [FetchTerm] {
    try FetchCompiler.terms(of: request, in: context)
  }

  /// Returns the given objects that fulfil a comparison.
  ///
  /// - Throws: `SQLiteError`.
  package func fulfilling(_ objects: [Int64], _ term: FetchTerm) throws -> Set<Int64> {
    try matching(objects, term.matchSQL, term.values)
  }
}
