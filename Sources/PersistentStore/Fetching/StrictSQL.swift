/// The SQL of expressions whose failures must be recorded, as in a migration.
///
/// The SQL calls functions that record the failures. The caller adds these functions to the
/// connection.
enum StrictSQL {
  static let divisorFunction = "cordial_divisor"
  static let castFunction = "cordial_strict_cast"

  /// Returns SQL for a divisor, which must not be zero.
  static func divisor(_ value: String) -> String { "\(divisorFunction)(\(value))" }
}
