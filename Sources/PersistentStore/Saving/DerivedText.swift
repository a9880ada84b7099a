import CordialValues
import ObjectModel

extension DerivedExpression.TextForm {
  /// That form of a value; null of null.
  func applied(to value: AttributeValue) -> AttributeValue {
    guard case .string(let text) = value else { return .null }
    return switch self {
    case .canonical: .string(Folding.fold(text, flags: 3))
    case .lowercase: .string(text.lowercased())
    case .uppercase: .string(text.uppercased())
    }
  }
}
