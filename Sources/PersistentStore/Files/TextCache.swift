/// A cache of values by text, for texts that depend on the requests of clients, such as SQL.
///
/// When a new value exceeds the maximum count or memory, the cache removes all values. Clients
/// repeat requests of the same form, so a better replacement policy gains little.
struct TextCache<Value> {
  private let countMax: Int
  private let bytesMax: Int
  private var values: [String: Value] = [:]
  /// The memory of the texts and values, in bytes.
  private(set) var bytes = 0

  /// Creates an empty cache.
  ///
  /// - Parameters:
  ///   - countMax: The maximum number of values.
  ///   - bytesMax: The maximum memory of the texts and values, in bytes.
  init(countMax: Int, bytesMax: Int) {
    self.countMax = countMax
    self.bytesMax = bytesMax
  }

  /// The number of values.
  var count: Int { values.count }

  /// Returns the value of a text; nil if the cache has no value for the text.
  subscript(text: String) -> Value? { values[text] }

  /// Adds the value of a text, unless this entry alone exceeds the memory of the cache.
  ///
  /// - Parameters:
  ///   - value: The value.
  ///   - text: A text without a value.
  ///   - valueBytes: The memory of the value, in bytes.
  mutating func insert(_ value: Value, for text: String, valueBytes: Int = 0) {
    let added = text.utf8.count + valueBytes
    guard added <= bytesMax else { return }
    if values.count >= countMax || bytes + added > bytesMax { removeAll() }
    values[text] = value
    bytes += added
  }

  /// Removes all values.
  mutating func removeAll() {
    values = [:]
    bytes = 0
  }
}
