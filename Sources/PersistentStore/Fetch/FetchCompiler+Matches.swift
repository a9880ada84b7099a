import CordialValues
import JSON
import ObjectModel
import PersistentHistory

/// What changes of all objects that match a predicate read.
extension FetchCompiler {
  /// The numbers of the objects that match, in order, each with what is computed for it.
  struct Matches {
    let entity: EntityDescription
    let query: SQLFragment
  }

  /// Compiles a condition and expressions over the objects that fulfil it.
  ///
  /// - Parameters:
  ///   - request: The entity and the condition; the rest of it does not count.
  ///   - expressions: Texts, each with the attribute that becomes what it makes.
  ///   - model: The store's model.
  /// - Returns: A query of one column for the number and one for each expression.
  /// - Throws: `unknownEntity`, `unknownProperty` or `predicateInvalid`.
  static func matches(
    _ request: FetchRequest,
    _ expressions: [(AttributeDescription, String)],
    model: Model
  ) throws(StoreError) -> Matches {
    var compiler = try FetchCompiler(request, model: model, mayDangle: true)
    let condition = try compiler.condition(request)
    var columns = [SQLFragment("t.\"_id\"")]
    for (attribute, text) in expressions {
      columns.append(try compiler.assigned(text, to: attribute))
    }
    let list = SQLFragment.joined(columns, separator: ", ")
    let table = model.source(compiler.entity, subentities: request.subentities)
    return Matches(
      entity: compiler.entity,
      query: SQLFragment(
        "SELECT \(list.sql) FROM \(table) t\(compiler.scopes[0].joins.sql) "
          + "WHERE \(condition.sql) ORDER BY t.\"_id\"",
        list.values + condition.values
      )
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
          expected: "what \(attribute.name), of type \(attribute.type.rawValue), can be: "
            + side.words
        )
      )
    }
    return fragment
  }
}
