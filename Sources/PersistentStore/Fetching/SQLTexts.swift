/// A pool in which equal SQL texts share their storage.
///
/// Fetches of the same form have the same SQL, and differ only in their values.
final class SQLTexts {
  /// The shared texts; a text that the cache drops stays valid while a plan uses it.
  private var known = TextCache<String>(countMax: 4096, bytesMax: 4 << 20)

  /// Returns the shared copy of a text.
  func shared(_ text: String) -> String {
    if let known = known[text] { return known }
    known.insert(text, for: text)
    return text
  }
}
