package import CordialValues
package import Interruptions

extension AttributeDescription {
  /// The contradiction in the rules that makes every value except null invalid, or that makes the
  /// default invalid; nil if there is none.
  var contradiction: String? {
    if let minimum, let maximum, Self.isLess(maximum, minimum) {
      return "The minimum is above the maximum: no value is allowed"
    }
    if let minimumLength, let maximumLength, minimumLength > maximumLength {
      return "The minimumLength is above the maximumLength: no value is allowed"
    }
    guard defaultValue != .null, derived == nil else { return nil }
    return timedViolation(by: defaultValue).map { "The default is not allowed: \($0.message)" }
  }

  /// Checks a value of this attribute's type against the attribute's rules.
  ///
  /// - Parameters:
  ///   - value: A value of this attribute's type, or null.
  ///   - interruption: The flag that ends a slow match with the pattern.
  /// - Returns: The violated rule and a sentence, or nil if the value is valid.
  /// - Throws: `Interrupted`.
  package func violation(
    by value: AttributeValue,
    _ interruption: Interruption
  ) throws -> (rule: String, message: String)? {
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
    if let pattern, let text = Self.text(of: value),
      let message = try pattern.objection(to: text, interruption)
    {
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

  /// The maximum time of a match with a pattern outside of requests, in seconds.
  private static let matchSecondsMax = 1.0

  /// Checks a value like `violation(by:_:)`, and treats a slow match as a violation of the pattern.
  package func timedViolation(by value: AttributeValue) -> (rule: String, message: String)? {
    let interruption = Interruption(secondsMax: Self.matchSecondsMax)
    interruption.begin()
    do {
      return try violation(by: value, interruption)
    } catch {
      return ("pattern", "\(name) takes too long to match with its pattern")
    }
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
