import ObjectModel

/// The kind of one side of a comparison, which determines how a constant on the other side is
/// decoded.
enum ComparedSide {
  /// An attribute, or a computed value that has the type of an attribute.
  case value(AttributeType, name: String?)
  case object(EntityDescription)
  /// A value inside a json attribute.
  case json
  case constant

  var type: AttributeType? {
    if case .value(let type, _) = self { type } else { nil }
  }

  /// A description of the side, for messages.
  var words: String {
    switch self {
    case .value(let type, let name): "\(name ?? "this") is of type \(type.rawValue)"
    case .object(let entity): "this is a \(entity.name)"
    case .json: "this is inside a json attribute"
    case .constant: "this is a constant"
    }
  }

  /// The form in which the side's value is returned.
  var form: ColumnForm {
    switch self {
    // A computed integer may exceed 64 bits, and is then a double.
    case .value(.int64, nil): .number
    case .value(let type, _): ColumnForm(type)
    case .object(let entity): ColumnForm(referenceTo: entity)
    case .json, .constant: .json
    }
  }
}
