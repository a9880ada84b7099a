/// The names of the properties of which rows of the log have former values, read without parsing
/// the values.
///
/// Rows of one statement have the same names, which share one set.
package struct LoggedNames {
  /// The names of the row that was read last, in the order of the log.
  private var last: [String] = []
  private var set: Set<String> = []

  package init() {}

  /// Returns the names of a row's values.
  package mutating func read(_ row: HistoryRow) -> Set<String> {
    guard let text = row.before else { return [] }
    if hasLastNames(text) { return set }
    last = row.values.map(\.property)
    set = Set(last)
    return set
  }

  /// Returns whether a row has the names of the last one; false for a text in an unexpected form.
  private func hasLastNames(_ text: String) -> Bool {
    guard !last.isEmpty else { return false }
    let bytes = text.utf8.span
    var place = 0
    for name in last {
      guard bytes.skip(",\"", &place), bytes.skip(name, &place), bytes.skip("\":", &place),
        bytes.skipValue(&place)
      else { return false }
    }
    return place == bytes.count
  }
}

/// Reading the members of a JSON object, from a place on.
extension Span<UInt8> {
  fileprivate func skip(_ text: String, _ place: inout Int) -> Bool {
    let wanted = text.utf8.span
    guard count - place >= wanted.count else { return false }
    for offset in wanted.indices where self[place + offset] != wanted[offset] { return false }
    place += wanted.count
    return true
  }

  /// Skips a value up to the comma after it, or the end.
  fileprivate func skipValue(_ place: inout Int) -> Bool {
    let start = place
    var depth = 0
    while place < count {
      switch self[place] {
      case UInt8(ascii: "\""):
        guard skipString(&place) else { return false }
        continue
      case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
      case UInt8(ascii: "}"), UInt8(ascii: "]"): depth -= 1
      case UInt8(ascii: ",") where depth == 0: return place > start
      default: break
      }
      place += 1
    }
    return depth == 0 && place > start
  }

  private func skipString(_ place: inout Int) -> Bool {
    place += 1
    while place < count {
      switch self[place] {
      case UInt8(ascii: "\\"): place += 2
      case UInt8(ascii: "\""):
        place += 1
        return true
      default: place += 1
      }
    }
    return false
  }
}
