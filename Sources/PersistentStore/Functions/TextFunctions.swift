import CUnicode
import Glibc
import Interruptions
import ObjectModel
import SQLite

/// The SQL functions that each Cordial connection registers in addition to SQLite's own functions.
///
/// No table, index or trigger uses these functions.
enum TextFunctions {
  static func add(to db: SQLiteConnection) throws {
    let progress = db.progress
    let stop = { @Sendable in try progress.stopStatement() }
    try SQLFunction.add("cordial_fold", argumentCount: 2, to: db) { call in
      let flags = Int32(truncatingIfNeeded: call.integer(1) ?? 0)
      call.answer(try call.text(0).map { try Folding.fold($0, flags: flags, stop) })
    }
    try SQLFunction.add("cordial_lower", argumentCount: 1, to: db) { call in
      call.answer(call.text(0).map(Folding.lower))
    }
    try SQLFunction.add("cordial_upper", argumentCount: 1, to: db) { call in
      call.answer(call.text(0)?.uppercased())
    }
    var key = [UInt8](repeating: 0, count: 256)
    try SQLFunction.add("cordial_sort_key", argumentCount: 1, to: db) { call in
      guard !call.isNull(0) else { return call.answer(nil as Bool?) }
      guard let length = call.withText(0, { Folding.sortKey($0, into: &key) }) ?? nil else {
        throw SQLiteError(.noMemory, "ICU computes no sort key")
      }
      call.answer(key[..<length])
    }
    try SQLFunction.add("cordial_length", argumentCount: 1, to: db) { call in
      let length = call.withText(0) { bytes in
        // Counts every byte except the continuation bytes of characters.
        bytes.indices.reduce(into: Int64(0)) { $0 += bytes[$1] & 0xC0 == 0x80 ? 0 : 1 }
      }
      if let length { call.answer(length) } else { call.answer(nil as Bool?) }
    }
    // SQLite's own functions read a text only up to its first NUL.
    try addComparison("cordial_like", to: db) { try WildcardPattern.matches($0, $1, stop) }
    try addComparison("cordial_contains", to: db) { try TextSearch.contains($0, $1, stop) }
    try addComparison("cordial_begins", to: db) { text, prefix in
      guard !prefix.isEmpty, text.count >= prefix.count else { return false }
      return areEqual(text.extracting(first: prefix.count), prefix)
    }
    try addComparison("cordial_ends", to: db) { text, suffix in
      guard !suffix.isEmpty, text.count >= suffix.count else { return false }
      return areEqual(text.extracting(last: suffix.count), suffix)
    }
    try SQLFunction.add("cordial_power", argumentCount: 2, to: db) { call in
      guard let base = call.double(0), let exponent = call.double(1) else {
        return call.answer(nil as Double?)
      }
      let result = pow(base, exponent)
      call.answer(result.isFinite ? result : nil)
    }
    try SQLFunction.add("cordial_abs", argumentCount: 1, to: db) { call in
      // SQLite's own function fails for the smallest integer.
      if let number = call.integer(0), number != .min { return call.answer(Swift.abs(number)) }
      call.answer(call.double(0).map(Swift.abs))
    }
    try addMatches(to: db)
  }

  /// Adds an SQL function of two texts; the function returns null if either text is null.
  private static func addComparison(
    _ name: String,
    to db: SQLiteConnection,
    _ holds: @escaping (Span<UInt8>, Span<UInt8>) throws -> Bool
  ) throws {
    try SQLFunction.add(name, argumentCount: 2, to: db) { call in
      let answer = try call.withText(0) { first in
        try call.withText(1) { try holds(first, $0) }
      }
      call.answer(answer ?? nil)
    }
  }

  private static func areEqual(_ first: Span<UInt8>, _ second: Span<UInt8>) -> Bool {
    first.indices.allSatisfy { first[$0] == second[$0] }
  }

  /// The maximum time for matching one text outside of requests, in seconds.
  private static let matchSecondsMax = 1.0

  /// Adds `cordial_matches(text, pattern, flags)`, which keeps the last pattern compiled.
  private static func addMatches(to db: SQLiteConnection) throws {
    let last = LastPattern()
    let progress = db.progress
    try SQLFunction.add("cordial_matches", argumentCount: 3, to: db) { call in
      guard let text = call.text(0), let pattern = call.text(1), let flags = call.integer(2) else {
        return call.answer(nil as Bool?)
      }
      let folds = Int32(flags & Int64(UNICODE_FOLD_DIACRITICS))
      let subject =
        flags == 0 ? text : try Folding.fold(text, flags: folds) { try progress.stopStatement() }
      // No time limit applies to a statement that runs outside of requests, so this match gets a
      // limit.
      let ofOneMatch = Interruption(secondsMax: matchSecondsMax)
      ofOneMatch.begin()
      call.answer(
        try last.matches(
          subject,
          pattern,
          ignoresCase: flags & 1 != 0,
          progress.interruption ?? ofOneMatch
        )
      )
    }
  }
}

/// The pattern that a connection compiled last; only the connection's thread uses the pattern.
private final class LastPattern {
  private var pattern = ""
  private var ignoresCase = false
  private var expression: RegularExpression?

  func matches(
    _ text: String,
    _ pattern: String,
    ignoresCase: Bool,
    _ interruption: Interruption
  ) throws -> Bool? {
    if expression == nil || pattern != self.pattern || ignoresCase != self.ignoresCase {
      do {
        expression = try RegularExpression(pattern, ignoresCase: ignoresCase)
      } catch {
        // A pattern from a column may be invalid; such a pattern matches nothing.
        expression = nil
        return nil
      }
      self.pattern = pattern
      self.ignoresCase = ignoresCase
    }
    do {
      return try expression?.matches(text, interruption)
    } catch is Interrupted {
      throw SQLiteError(.interrupted)
    } catch is PatternTooDemanding {
      throw SQLiteError(
        .tooBig,
        "a regular expression needs too much memory: avoid repetitions inside repetitions"
      )
    }
  }
}
