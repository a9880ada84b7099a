import CordialValues
import JSON
import ObjectModel
import PersistentHistory
import StoreLayout

/// The queries of updates and deletes by predicate.
extension FetchCompiler {
  /// A query for the numbers of the matching objects in ascending order, and the values that are
  /// computed for each object.
  struct Matches {
    let entity: EntityDescription
    let query: SQLFragment
    let condition: SQLFragment
    /// The computed values, in the order of the expressions.
    let computed: [SQLFragment]
    /// Whether the condition and the expressions only read columns of the object itself.
    let isPlain: Bool
  }

  /// Compiles a condition, and expressions over the objects that match it.
  ///
  /// - Parameters:
  ///   - request: The entity and the condition; the other members are ignored.
  ///   - expressions: The texts of expressions, each with the attribute that gets the result.
  ///   - context: The model, and the state of the store.
  /// - Returns: A query with a column for the number and a column for each expression.
  /// - Throws: `unknownEntity`, `unknownProperty` or `predicateInvalid`.
  static func matches(
    _ request: FetchRequest,
    _ expressions: [(AttributeDescription, String)],
    in context: FetchContext
  ) throws(StoreError) -> Matches {
    var compiler = try FetchCompiler(request, in: context)
    let condition = try compiler.condition(request)
    var computed: [SQLFragment] = []
    for (attribute, text) in expressions {
      computed.append(try compiler.assigned(text, to: attribute))
    }
    let list = SQLFragment.joined([SQLFragment("t.\"_id\"")] + computed, separator: ", ")
    let table = context.model.source(compiler.entity, subentities: request.subentities)
    return Matches(
      entity: compiler.entity,
      query: SQLFragment(
        "SELECT \(list.sql) FROM \(table) t\(compiler.scope(at: 0).joins.sql) "
          + "WHERE \(condition.sql) ORDER BY t.\"_id\"",
        list.values + condition.values
      ),
      condition: condition,
      computed: computed,
      isPlain: compiler.scope(at: 0).joins.count == 0
        && !(computed + [condition]).contains { $0.sql.contains("SELECT") }
    )
  }

  private mutating func assigned(
    _ text: String,
    to attribute: AttributeDescription
  ) throws(StoreError) -> SQLFragment {
    let expression: PredicateExpression
    do {
      expression = try PredicateParser.parse(expression: text)
    } catch {
      throw StoreError(error)
    }
    let own = ComparedSide.value(attribute.type, name: attribute.name)
    let (fragment, side) = try value(expression, as: own)
    let fits =
      switch side {
      case .constant, .json: true
      case .object: false
      case .value(let type, _):
        type == attribute.type
          || type.isNumber && attribute.type.isNumber
            && (attribute.type != .decimal || type.isInteger)
      }
    guard fits else {
      throw StoreError(
        PredicateError(
          offset: expression.offset,
          expected: "a value for \(attribute.name), of type \(attribute.type.rawValue): "
            + side.words
        )
      )
    }
    return fragment
  }
}
