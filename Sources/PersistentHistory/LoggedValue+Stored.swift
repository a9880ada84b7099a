package import CordialValues
import JSON
package import ObjectModel
import StoreLayout

extension LoggedValue {
  /// Returns the value in the form in which its property's column stores it.
  package func stored(in entity: EntityDescription) -> AttributeValue {
    guard case .attribute(let attribute)? = entity.property(named: property) else {
      return value.integer.map { .integer($0) } ?? .null
    }
    return stored(as: attribute)
  }

  /// Returns the value in the form in which an attribute's column stores it; nil stands for a
  /// to-one.
  package func stored(as attribute: AttributeDescription?) -> AttributeValue {
    guard let attribute else { return value.integer.map { .integer($0) } ?? .null }
    switch (attribute.type, value) {
    case (_, .null): return .null
    case (.double, .integer(let number)), (.float, .integer(let number)):
      return .double(Double(number))
    case (.double, .number(let number)), (.float, .number(let number)): return .double(number)
    case (.boolean, .integer(let flag)): return .boolean(flag != 0)
    case (.date, .integer(let milliseconds)): return .date(milliseconds)
    case (_, .integer(let number)) where attribute.type.isInteger: return .integer(number)
    case (.string, _): return .string(value.string ?? value.text)
    case (.decimal, _): return .decimal(value.string ?? value.text)
    case (.uuid, .string(let text)): return .uuid(text)
    case (.uri, .string(let text)): return .uri(text)
    case (.json, .string(let text)): return .json(text)
    case (.binary, .string(let hex)): return .binary(Self.bytes(hex: hex))
    default: return .null
    }
  }

  /// Returns the bytes that hexadecimal digits stand for.
  package static func bytes(hex: String) -> [UInt8] {
    let digits = hex.compactMap(\.hexDigitValue)
    return stride(from: 0, to: digits.count - 1, by: 2).map {
      UInt8(digits[$0] << 4 | digits[$0 + 1])
    }
  }
}
