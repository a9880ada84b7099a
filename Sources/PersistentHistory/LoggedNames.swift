/// A reader of the property names in log rows, which avoids parsing the former values.
///
/// The log rows of one statement have the same names. For such rows, the reader returns the set of
/// the first row again.
package struct LoggedNames {
  /// The names of the row that was read last, in the order of the log.
  private var last: [String] = []
  private var set: Set<String> = []

  package init() {}

  /// Returns the names of the properties with former values in a row.
  package mutating func read(_ row: HistoryRow) -> Set<String> {
    guard let text = row.before else { return [] }
    if hasLastNames(text) { return set }
    last = row.values.map(\.property)
    set = Set(last)
    return set
  }

  /// Returns whether a row has the same names as the last row; false for a text in an unexpected
  /// form.
  private func hasLastNames(_ text: String) -> Bool {
    guard !last.isEmpty else { return false }
    let bytes = text.utf8.span
    var offset = 0
    for name in last {
      guard bytes.skip(",\"", &offset), bytes.skip(name, &offset), bytes.skip("\":", &offset),
        bytes.skipValue(&offset)
      else { return false }
    }
    return offset == bytes.count
  }
}

/// Functions that skip the members of a JSON object, from an offset on.
extension Span<UInt8> {
  fileprivate func skip(_ text: String, _ offset: inout Int) -> Bool {
    let wanted = text.utf8.span
    guard count - offset >= wanted.count else { return false }
    for index in wanted.indices where self[offset + index] != wanted[index] { return false }
    offset += wanted.count
    return true
  }

  /// Skips a value up to the comma after it, or the end.
  fileprivate func skipValue(_ offset: inout Int) -> Bool {
    let start = offset
    var depth = 0
    while offset < count {
      switch self[offset] {
      case UInt8(ascii: "\""):
        guard skipString(&offset) else { return false }
        continue
      case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
      case UInt8(ascii: "}"), UInt8(ascii: "]"): depth -= 1
      case UInt8(ascii: ",") where depth == 0: return offset > start
      default: break
      }
      offset += 1
    }
    return depth == 0 && offset > start
  }

  private func skipString(_ offset: inout Int) -> Bool {
    offset += 1
    while offset < count {
      switch self[offset] {
      case UInt8(ascii: "\\"): offset += 2
      case UInt8(ascii: "\""):
        offset += 1
        return true
      default: offset += 1
      }
    }
    return false
  }
}
