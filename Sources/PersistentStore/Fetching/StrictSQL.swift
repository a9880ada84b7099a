/// The SQL of expressions whose failures must be noted, as in a migration.
///
/// The caller adds functions to the connection that note the failures.
enum StrictSQL {
  static let divisorFunction = "cordial_divisor"
  static let castFunction = "cordial_strict_cast"

  /// Returns SQL for a divisor, which must not be zero.
  static func divisor(_ value: String) -> String { "\(divisorFunction)(\(value))" }
}
