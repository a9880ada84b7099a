import CordialValues
import ObjectModel

extension DerivedExpression.TextForm {
  /// Returns this form of a value; null for null.
  func applied(to value: AttributeValue) -> AttributeValue {
    guard case .string(let text) = value else { return .null }
    return switch self {
    case .canonical: .string(Folding.fold(text, flags: 3))
    case .lowercase: .string(Folding.lower(text))
    case .uppercase: .string(text.uppercased())
    }
  }
}
