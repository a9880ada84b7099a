/// SQL texts of which equal ones share their storage: fetches of the same form differ in values
/// alone.
final class SQLTexts {
  /// Texts that were forgotten and are in use stay as they are.
  private var known = TextCache<String>(countMax: 4096, bytesMax: 4 << 20)

  /// Returns a text that is equal to another one.
  func shared(_ text: String) -> String {
    if let known = known[text] { return known }
    known.insert(text, for: text)
    return text
  }
}
