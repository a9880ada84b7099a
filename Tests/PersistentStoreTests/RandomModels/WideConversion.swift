import Foundation
import JSON
import ObjectModel

/// What the contract says about changes of an attribute's type in a migration (P-117b, P-117l).
enum WideConversion {
  private static let integers: [AttributeType] = [.int16, .int32, .int64]

  /// The types to which a type can change, with or without a check of the values.
  static func targets(of type: AttributeType) -> [AttributeType] {
    switch type {
    case .int16: [.int32, .int64, .decimal, .string, .double, .float]
    case .int32: [.int64, .decimal, .string, .double, .float]
    case .int64: [.decimal, .string, .double, .float]
    case .float: [.double]
    case .boolean: integers
    case .uuid, .uri, .decimal: [.string]
    case .double: [.decimal] + integers
    case .string: integers + [.double, .float, .decimal, .date, .uuid, .uri]
    case .date, .binary, .json: []
    }
  }

  /// Returns a value of the new type; nil if the value does not survive.
  static func convert(_ value: JSONValue, to type: AttributeType) -> JSONValue? {
    switch value {
    case .null: .null
    case .bool(let flag): .integer(flag ? 1 : 0)
    case .integer(let number): convert(number, to: type)
    case .number(let number): convert(number, to: type)
    case .string(let text): convert(text, to: type)
    default: nil
    }
  }

  private static func convert(_ number: Int64, to type: AttributeType) -> JSONValue? {
    switch type {
    case .decimal, .string: .string("\(number)")
    case .double: Int64(exactly: Double(number)) == number ? .number(Double(number)) : nil
    case .float:
      Int64(exactly: Float(number)) == number ? .number(Double(Float(number))) : nil
    default: .integer(number)
    }
  }

  private static func convert(_ number: Double, to type: AttributeType) -> JSONValue? {
    switch type {
    case .double: .number(number)
    case .decimal: digits(number).map { .string($0) }
    default: Int64(exactly: number).flatMap { range(type).contains($0) ? .integer($0) : nil }
    }
  }

  private static func convert(_ text: String, to type: AttributeType) -> JSONValue? {
    func matches(_ pattern: String) -> Bool {
      text.range(of: "^(\(pattern))$", options: .regularExpression) != nil
    }
    let number = #"-?(0|[1-9][0-9]*)(\.[0-9]*[1-9])?"#
    let isTextOfType =
      switch type {
      case .string: true
      case .int16, .int32, .int64: matches("0|-?[1-9][0-9]*")
      case .double, .float, .decimal: matches(number)
      case .date: matches(#"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}\.[0-9]{3}Z"#)
      case .uuid: matches("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
      case .uri: matches(#"[a-z]+:[!-~]+"#)
      default: false
      }
    guard isTextOfType else { return nil }
    switch type {
    case .int16, .int32, .int64:
      return Int64(text).flatMap { range(type).contains($0) ? .integer($0) : nil }
    case .double: return Double(text).map { .number($0) }
    case .float: return Float(text).map { .number(Double($0)) }
    default: return .string(text)
    }
  }

  private static func range(_ type: AttributeType) -> ClosedRange<Int64> {
    switch type {
    case .int16: Int64(Int16.min)...Int64(Int16.max)
    case .int32: Int64(Int32.min)...Int64(Int32.max)
    default: Int64.min...Int64.max
    }
  }

  /// The shortest digits of a number without an exponent; nil if they are more than 38.
  private static func digits(_ number: Double) -> String? {
    guard number != 0 else { return "0" }
    let parts = number.magnitude.description.split(separator: "e")
    let point = parts[0].split(separator: ".")
    let fraction = point.count > 1 && point[1] != "0" ? String(point[1]) : ""
    var digits = point[0] + fraction
    var exponent = (parts.count > 1 ? Int(parts[1]) ?? 0 : 0) - fraction.count
    while digits.hasSuffix("0"), digits.count > 1 {
      digits.removeLast()
      exponent += 1
    }
    while digits.hasPrefix("0"), digits.count > 1 { digits.removeFirst() }
    let sign = number < 0 ? "-" : ""
    if exponent >= 0 {
      guard digits.count + exponent <= 38 else { return nil }
      return sign + digits + String(repeating: "0", count: exponent)
    }
    guard max(-exponent, digits.count) <= 38 else { return nil }
    let zeros = String(repeating: "0", count: max(0, 1 - exponent - digits.count))
    let all = zeros + digits
    return sign + all.dropLast(-exponent) + "." + all.suffix(-exponent)
  }
}
