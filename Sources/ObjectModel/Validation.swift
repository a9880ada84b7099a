package import CordialValues

extension AttributeDescription {
  /// The contradiction that excludes every value except null, or excludes the default; nil if there
  /// is none.
  var contradiction: String? {
    if let minimum, let maximum, Self.isLess(maximum, minimum) {
      return "The minimum is above the maximum: no value is allowed"
    }
    if let minimumLength, let maximumLength, minimumLength > maximumLength {
      return "The minimumLength is above the maximumLength: no value is allowed"
    }
    guard defaultValue != .null, derived == nil else { return nil }
    return violation(by: defaultValue).map { "The default is not allowed: \($0.message)" }
  }

  /// Checks a value of this attribute's type against the attribute's rules.
  ///
  /// - Parameter value: A value of this attribute's type, or null.
  /// - Returns: The violated rule and a sentence, or nil if the value is valid.
  package func violation(by value: AttributeValue) -> (rule: String, message: String)? {
    if value == .null {
      return optional ? nil : ("required", "\(name) must have a value")
    }
    if let minimum, Self.isLess(value, minimum) {
      return ("minimum", "\(name) is below its minimum")
    }
    if let maximum, Self.isLess(maximum, value) {
      return ("maximum", "\(name) is above its maximum")
    }
    if let allowed, !allowed.contains(value) {
      return ("enum", "\(name) is not one of the values that the model allows")
    }
    if let pattern, let message = Self.text(of: value).flatMap(pattern.objection) {
      return ("pattern", "\(name) \(message)")
    }
    guard minimumLength != nil || maximumLength != nil else { return nil }
    let length = Self.length(of: value)
    if let minimumLength, length < minimumLength {
      return ("minimumLength", "\(name) is shorter than \(minimumLength)")
    }
    if let maximumLength, length > maximumLength {
      return ("maximumLength", "\(name) is longer than \(maximumLength)")
    }
    return nil
  }

  private static func text(of value: AttributeValue) -> String? {
    switch value {
    case .string(let text), .uri(let text): text
    default: nil
    }
  }

  private static func length(of value: AttributeValue) -> Int {
    switch value {
    case .string(let text), .uri(let text), .json(let text): text.unicodeScalars.count
    case .binary(let bytes): bytes.count
    default: 0
    }
  }

  private static func isLess(_ first: AttributeValue, _ second: AttributeValue) -> Bool {
    switch (first, second) {
    case (.integer(let a), .integer(let b)), (.date(let a), .date(let b)): a < b
    case (.double(let a), .double(let b)): a < b
    case (.decimal(let a), .decimal(let b)): DecimalText.compare(a, b) < 0
    case (.string(let a), .string(let b)):
      a.unicodeScalars.lexicographicallyPrecedes(b.unicodeScalars)
    default: false
    }
  }
}
