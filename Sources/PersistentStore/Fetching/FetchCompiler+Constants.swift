import CordialValues
import JSON
import ObjectModel
import StoreLayout

/// The constants of a predicate.
extension FetchCompiler {
  /// Compiles a constant, decoding it with the type of the other side.
  func constant(
    _ value: JSONValue,
    _ expected: ComparedSide,
    _ offset: Int
  ) throws(StoreError) -> SQLFragment {
    if value.isNull { return SQLFragment("NULL") }
    switch expected {
    case .object(let entity): return try identifier(value, of: entity, offset)
    case .value(let type, let name): return try constant(value, type, name, offset)
    case .json, .constant: return try plainConstant(value, offset)
    }
  }

  private func constant(
    _ value: JSONValue,
    _ type: AttributeType,
    _ name: String?,
    _ offset: Int
  ) throws(StoreError) -> SQLFragment {
    guard let typed = type.codec.decode(comparand: value) else {
      let why = name.map { ", as \($0) is" } ?? ""
      throw StoreError(PredicateError(offset: offset, expected: type.codec.expectation + why))
    }
    return SQLFragment("?", [typed])
  }

  private func plainConstant(_ value: JSONValue, _ offset: Int) throws(StoreError) -> SQLFragment {
    switch value {
    case .null: return SQLFragment("NULL")
    case .bool(let flag): return SQLFragment("?", [.boolean(flag)])
    case .integer(let number): return SQLFragment("?", [.integer(number)])
    case .number(let number): return SQLFragment("?", [.double(number)])
    case .string(let text): return SQLFragment("?", [.string(text)])
    case .array, .object:
      throw StoreError(PredicateError(offset: offset, expected: "a single value"))
    }
  }

  /// Compiles a wrapped ID to the number of the object.
  private func identifier(
    _ value: JSONValue,
    of entity: EntityDescription,
    _ offset: Int
  ) throws(StoreError) -> SQLFragment {
    guard let text = value.string, let id = ObjectID(text),
      let named = model.entity(named: id.entity),
      model.isKind(named.number, of: entity.number) || model.isKind(entity.number, of: named.number)
    else {
      throw StoreError(
        PredicateError(
          offset: offset,
          expected: "the ID of a \(entity.name) as a string, or nil"
        )
      )
    }
    switch id.key {
    case .object(let number): return SQLFragment("?", [.integer(number)])
    case .temporary: throw .invalidIdentifier(text, "temporary IDs are valid inside a save only")
    case .integer(let number): return try identity(.integer(number), text, named)
    case .uuid(let uuid): return try identity(.uuid(uuid), text, named)
    case .string(let string): return try identity(.string(string), text, named)
    }
  }

  private func identity(
    _ value: AttributeValue,
    _ text: String,
    _ entity: EntityDescription
  ) throws(StoreError) -> SQLFragment {
    guard let identity = entity.identity else {
      throw .invalidIdentifier(text, "\(entity.name) has no identity attribute")
    }
    return SQLFragment(
      // The ID of a missing object becomes -1. No object has this number, so the ID equals no
      // object.
      "coalesce((SELECT \"_id\" FROM \(model.source(entity)) "
        + "WHERE \(quote(identity.name)) = ?), -1)",
      [value]
    )
  }
}
