import CUnicode
import GRDB
import Glibc
import ObjectModel

/// The functions that our connections add to SQLite's; no table, index or trigger uses them.
enum TextFunctions {
  static func add(to db: Database) {
    db.add(function: fold)
    db.add(function: lower)
    db.add(function: upper)
    db.add(function: power)
    db.add(function: abs)
    db.add(function: matches())
  }

  private static let fold = DatabaseFunction("cordial_fold", argumentCount: 2, pure: true) {
    values in
    guard let text = String.fromDatabaseValue(values[0]),
      let flags = Int.fromDatabaseValue(values[1])
    else { return nil }
    return Folding.fold(text, flags: Int32(flags))
  }

  private static let lower = DatabaseFunction("cordial_lower", argumentCount: 1, pure: true) {
    String.fromDatabaseValue($0[0])?.lowercased()
  }

  private static let upper = DatabaseFunction("cordial_upper", argumentCount: 1, pure: true) {
    String.fromDatabaseValue($0[0])?.uppercased()
  }

  /// SQLite's own fails for the smallest integer.
  private static let abs = DatabaseFunction("cordial_abs", argumentCount: 1, pure: true) { values in
    switch values[0].storage {
    case .int64(.min): return -Double(Int64.min)
    case .int64(let number): return number.magnitude <= Int64.max ? Swift.abs(number) : nil
    case .double(let number): return Swift.abs(number)
    default: return nil
    }
  }

  private static let power = DatabaseFunction("cordial_power", argumentCount: 2, pure: true) {
    values in
    guard let base = Double.fromDatabaseValue(values[0]),
      let exponent = Double.fromDatabaseValue(values[1])
    else { return nil }
    let result = pow(base, exponent)
    return result.isFinite ? result : nil
  }

  /// `cordial_matches(text, pattern, flags)`, of one connection: it keeps the pattern that it was
  /// asked for last.
  private static func matches() -> DatabaseFunction {
    let last = LastPattern()
    return DatabaseFunction("cordial_matches", argumentCount: 3, pure: true) { values in
      guard let text = String.fromDatabaseValue(values[0]),
        let pattern = String.fromDatabaseValue(values[1]),
        let flags = Int.fromDatabaseValue(values[2])
      else { return nil }
      let folds = flags & Int(UNICODE_FOLD_DIACRITICS)
      let subject = folds == 0 ? text : Folding.fold(text, flags: Int32(folds))
      return try last.matches(subject, pattern, ignoresCase: flags & 1 != 0)
    }
  }
}

/// The pattern of the statement that runs, compiled; used on its connection's thread only.
private final class LastPattern: @unchecked Sendable {
  // GRDB wants functions Sendable, and calls those of a connection on that connection's thread.
  private var pattern = ""
  private var ignoresCase = false
  private var expression: RegularExpression?

  func matches(_ text: String, _ pattern: String, ignoresCase: Bool) throws -> Bool? {
    if expression == nil || pattern != self.pattern || ignoresCase != self.ignoresCase {
      do {
        expression = try RegularExpression(pattern, ignoresCase: ignoresCase)
      } catch {
        // A pattern that a column holds may be none; it matches nothing.
        expression = nil
        return nil
      }
      self.pattern = pattern
      self.ignoresCase = ignoresCase
    }
    guard let found = expression?.matches(text) else {
      throw DatabaseError(
        resultCode: .SQLITE_INTERRUPT,
        message: "a regular expression took too long: repetitions inside repetitions never end"
      )
    }
    return found
  }
}
