/// SQL texts of which equal ones share their storage: fetches of the same form differ in values
/// alone.
final class SQLTexts {
  /// The maximum number of texts; all are forgotten beyond it, and those in use stay as they are.
  private static let countMax = 4096

  private var known: Set<String> = []

  /// Returns a text that is equal to another one.
  func shared(_ text: String) -> String {
    if known.count >= Self.countMax { known.removeAll() }
    return known.insert(text).memberAfterInsert
  }
}
