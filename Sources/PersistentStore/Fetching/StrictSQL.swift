/// The SQL of an expression whose failures matter, as in a migration: functions that its caller
/// adds to the connection note them.
enum StrictSQL {
  static let divisorFunction = "cordial_divisor"
  static let castFunction = "cordial_strict_cast"

  /// Returns SQL for a divisor, which must not be zero.
  static func divisor(_ value: String) -> String { "\(divisorFunction)(\(value))" }
}
