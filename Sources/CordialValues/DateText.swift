/// The conversion between RFC 3339 dates in UTC with milliseconds and milliseconds since 1970.
///
/// The conversion supports the years 0000 to 9999 of the proleptic Gregorian calendar, and rejects
/// leap seconds. The day arithmetic is "chrono-Compatible Low-Level Date Algorithms" by Howard
/// Hinnant.
package enum DateText {
  /// The first and last millisecond that has a text: 0000-01-01 to 9999-12-31.
  package static let range: ClosedRange<Int64> = -62_167_219_200_000...253_402_300_799_999

  /// Parses a date, converts its offset to UTC and drops digits beyond milliseconds.
  ///
  /// - Parameter text: For example `2026-11-21T08:30:00.000Z` or `2026-11-21T09:30:00+01:00`.
  /// - Returns: Milliseconds since 1970, or nil if the text is not a date or no such date exists.
  package static func milliseconds(_ text: String) -> Int64? {
    var reader = DigitReader(bytes: Array(text.utf8))
    guard let year = reader.number(4), reader.take("-"), let month = reader.number(2),
      reader.take("-"), let day = reader.number(2), reader.take("Tt "),
      let hour = reader.number(2), reader.take(":"), let minute = reader.number(2),
      reader.take(":"), let second = reader.number(2)
    else { return nil }
    guard (1...12).contains(month), (1...daysIn(month: month, year: year)).contains(day),
      hour < 24, minute < 60, second < 60,
      let fraction = reader.milliseconds(), let zone = reader.zoneMinutes(), reader.isAtEnd
    else { return nil }
    let days = daysSince1970(year: year, month: month, day: day)
    let seconds = ((days * 24 + hour) * 60 + minute - zone) * 60 + second
    let total = Int64(seconds) * 1000 + Int64(fraction)
    return range.contains(total) ? total : nil
  }

  /// Returns the 24-byte text of a time, or nil for a time outside `range`.
  package static func text(_ milliseconds: Int64) -> String? {
    guard range.contains(milliseconds) else { return nil }
    var bytes: [UInt8] = []
    append(milliseconds, to: &bytes)
    return String(decoding: bytes, as: UTF8.self)
  }

  /// Appends the text of a time within `range`.
  package static func append(_ milliseconds: Int64, to bytes: inout [UInt8]) {
    let day = milliseconds >= 0 ? milliseconds / 86_400_000 : (milliseconds + 1) / 86_400_000 - 1
    let rest = Int(milliseconds - day * 86_400_000)
    let (year, month, dayOfMonth) = civil(daysSince1970: Int(day))
    func digits(_ number: Int, _ count: Int, _ end: UInt8) {
      var divisor = count == 4 ? 1000 : count == 3 ? 100 : 10
      while divisor > 0 {
        bytes.append(UInt8(number / divisor % 10) + UInt8(ascii: "0"))
        divisor /= 10
      }
      bytes.append(end)
    }
    digits(year, 4, UInt8(ascii: "-"))
    digits(month, 2, UInt8(ascii: "-"))
    digits(dayOfMonth, 2, UInt8(ascii: "T"))
    digits(rest / 3_600_000, 2, UInt8(ascii: ":"))
    digits(rest / 60_000 % 60, 2, UInt8(ascii: ":"))
    digits(rest / 1000 % 60, 2, UInt8(ascii: "."))
    digits(rest % 1000, 3, UInt8(ascii: "Z"))
  }

  private static func daysIn(month: Int, year: Int) -> Int {
    switch month {
    case 4, 6, 9, 11: 30
    case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
    default: 31
    }
  }

  private static func daysSince1970(year: Int, month: Int, day: Int) -> Int {
    let shifted = month <= 2 ? year - 1 : year
    let era = (shifted >= 0 ? shifted : shifted - 399) / 400
    let yearOfEra = shifted - era * 400
    let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
    return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
  }

  private static func civil(daysSince1970 days: Int) -> (year: Int, month: Int, day: Int) {
    let shifted = days + 719_468
    let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
    let dayOfEra = shifted - era * 146_097
    let yearOfEra =
      (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let monthFromMarch = (5 * dayOfYear + 2) / 153
    let month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
    let year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
    return (year, month, dayOfYear - (153 * monthFromMarch + 2) / 5 + 1)
  }
}

/// A reader of fixed-width numbers and signs in a text.
private struct DigitReader {
  let bytes: [UInt8]
  var offset = 0

  init(bytes: [UInt8]) {
    self.bytes = bytes
  }

  var isAtEnd: Bool { offset == bytes.count }

  mutating func number(_ count: Int) -> Int? {
    guard offset + count <= bytes.count else { return nil }
    var total = 0
    for byte in bytes[offset..<offset + count] {
      guard byte &- 0x30 < 10 else { return nil }
      total = total * 10 + Int(byte - 0x30)
    }
    offset += count
    return total
  }

  mutating func take(_ choices: StaticString) -> Bool {
    guard offset < bytes.count, choices.description.utf8.contains(bytes[offset]) else {
      return false
    }
    offset += 1
    return true
  }

  mutating func milliseconds() -> Int? {
    guard take(".") else { return 0 }
    var total = 0
    var digits = 0
    while offset < bytes.count, bytes[offset] &- 0x30 < 10 {
      if digits < 3 { total = total * 10 + Int(bytes[offset] - 0x30) }
      digits += 1
      offset += 1
    }
    guard digits > 0 else { return nil }
    return digits == 1 ? total * 100 : digits == 2 ? total * 10 : total
  }

  mutating func zoneMinutes() -> Int? {
    if take("Zz") { return 0 }
    let sign = take("+") ? 1 : take("-") ? -1 : 0
    guard sign != 0, let hours = number(2), take(":"), let minutes = number(2),
      hours < 24, minutes < 60
    else { return nil }
    return sign * (hours * 60 + minutes)
  }
}
