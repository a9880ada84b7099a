/// The SQL of an expression whose failures matter, as in a migration: functions that its caller
/// adds to the connection note them.
enum StrictSQL {
  static let divisorFunction = "cordial_divisor"
  static let castFunction = "cordial_cast_result"

  /// Returns SQL for a divisor, which must not be zero.
  static func divisor(_ value: String) -> String { "\(divisorFunction)(\(value))" }

  /// Returns SQL for the result of `CAST`, which must not be null for a value.
  static func castResult(_ result: String, of value: String) -> String {
    "\(castFunction)(\(result), \(value))"
  }
}
