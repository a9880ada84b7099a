import CordialValues
import TestSeeds
import Testing

@Suite struct `Dates are RFC 3339 in UTC with milliseconds` {
  private func check(
    _ text: String,
    _ milliseconds: Int64?,
    sourceLocation: SourceLocation = #_sourceLocation
  ) {
    #expect(DateText.milliseconds(text) == milliseconds, "\(text)", sourceLocation: sourceLocation)
  }

  private func both(
    _ text: String,
    _ milliseconds: Int64,
    sourceLocation: SourceLocation = #_sourceLocation
  ) {
    check(text, milliseconds, sourceLocation: sourceLocation)
    #expect(DateText.text(milliseconds) == text, sourceLocation: sourceLocation)
  }

  @Test func `known moments have known numbers`() {
    both("1970-01-01T00:00:00.000Z", 0)
    both("1970-01-01T00:00:00.001Z", 1)
    both("2001-01-01T00:00:00.000Z", 978_307_200_000)
    both("2038-01-19T03:14:07.000Z", 2_147_483_647_000)
    both("2038-01-19T03:14:08.000Z", 2_147_483_648_000)
    both("1901-12-13T20:45:52.000Z", -2_147_483_648_000)
    both("2009-02-13T23:31:30.123Z", 1_234_567_890_123)
    both("1600-03-01T00:00:00.000Z", -11_670_912_000_000)
  }

  @Test func `moments before 1970 count down`() {
    both("1969-12-31T23:59:59.999Z", -1)
    both("1969-12-31T23:59:59.000Z", -1000)
    both("1969-12-31T23:59:58.999Z", -1001)
    both("1969-12-31T00:00:00.000Z", -86_400_000)
    both("1969-12-30T23:59:59.999Z", -86_400_001)
  }

  @Test func `the range is years 0000 to 9999`() {
    both("0000-01-01T00:00:00.000Z", -62_167_219_200_000)
    both("9999-12-31T23:59:59.999Z", 253_402_300_799_999)
    #expect(DateText.range == -62_167_219_200_000...253_402_300_799_999)
    for outside in [
      DateText.range.lowerBound - 1, DateText.range.upperBound + 1, Int64.min, .max, .min + 1,
      .max - 1,
    ] {
      #expect(DateText.text(outside) == nil)
    }
    // Offsets may carry a text over either edge.
    check("0000-01-01T00:00:00+00:01", nil)
    check("0000-01-01T00:01:00+00:01", -62_167_219_200_000)
    check("9999-12-31T23:59:59.999-00:01", nil)
    check("9999-12-31T23:58:59.999-00:01", 253_402_300_799_999)
  }

  @Test func `leap years are Gregorian in every century`() {
    for (year, isLeap) in [
      ("0000", true), ("0001", false), ("0004", true), ("0100", false), ("0400", true),
      ("1600", true),
      ("1700", false), ("1900", false), ("1970", false), ("1972", true), ("2000", true),
      ("2024", true),
      ("2026", false), ("2100", false), ("2400", true), ("9996", true), ("9999", false),
    ] {
      #expect((DateText.milliseconds("\(year)-02-29T00:00:00Z") != nil) == isLeap, "\(year)")
      check("\(year)-02-30T00:00:00Z", nil)
      #expect(DateText.milliseconds("\(year)-02-28T00:00:00Z") != nil)
      let march = DateText.milliseconds("\(year)-03-01T00:00:00Z") ?? 0
      let february = DateText.milliseconds("\(year)-02-28T00:00:00Z") ?? 0
      #expect(march - february == (isLeap ? 2 : 1) * 86_400_000, "\(year)")
    }
  }

  @Test func `a day that a month doesn't have is refused`() {
    let days = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
    for (index, count) in days.enumerated() {
      let month = index < 9 ? "0\(index + 1)" : "\(index + 1)"
      #expect(DateText.milliseconds("2026-\(month)-\(count)T00:00:00Z") != nil)
      check("2026-\(month)-\(count + 1)T00:00:00Z", nil)
      check("2026-\(month)-00T00:00:00Z", nil)
    }
    check("2026-00-10T00:00:00Z", nil)
    check("2026-13-10T00:00:00Z", nil)
  }

  @Test func `a time that a day doesn't have is refused`() {
    check("2026-11-21T23:59:59Z", 1_795_305_599_000)
    check("2026-11-21T24:00:00Z", nil)
    check("2026-11-21T23:60:00Z", nil)
    check("2026-11-21T23:59:60Z", nil)
    check("2016-12-31T23:59:60Z", nil)
    check("2026-11-21T99:00:00Z", nil)
  }

  @Test func `fractions have up to three digits that count`() {
    check("1970-01-01T00:00:00Z", 0)
    check("1970-01-01T00:00:00.1Z", 100)
    check("1970-01-01T00:00:00.12Z", 120)
    check("1970-01-01T00:00:00.012Z", 12)
    check("1970-01-01T00:00:00.999Z", 999)
    check("1970-01-01T00:00:00.Z", nil)
    check("1970-01-01T00:00:00,5Z", nil)
    check("1970-01-01T00:00:00.1239Z", 123)
    check("1970-01-01T00:00:00.000123456Z", 0)
    check("1970-01-01T00:00:00.1234xZ", nil)
    check("1970-01-01T00:00:00.-1Z", nil)
  }

  @Test func `offsets are converted to UTC`() {
    check("2026-11-21T08:30:00Z", 1_795_249_800_000)
    check("2026-11-21T09:30:00+01:00", 1_795_249_800_000)
    check("2026-11-21T03:00:00-05:30", 1_795_249_800_000)
    check("2026-11-21T08:30:00+00:00", 1_795_249_800_000)
    check("2026-11-21T08:30:00-00:00", 1_795_249_800_000)
    check("2026-11-22T08:29:00+23:59", 1_795_249_800_000)
    check("2026-11-20T08:31:00.000-23:59", 1_795_249_800_000)
    check("1970-01-01T00:00:00.001+00:01", -59_999)
    for zone in [
      "", "+1", "+01", "+0100", "+01:0", "+24:00", "+00:60", "01:00", "+01:00Z", "UTC", "ZZ",
      "+-1:00",
      " Z", "\u{2212}01:00", "+01:00:00",
    ] {
      check("2026-11-21T08:30:00\(zone)", nil)
    }
  }

  @Test func `the letters may be lower case`() {
    check("2026-11-21t08:30:00z", 1_795_249_800_000)
  }

  @Test func `any other text is not a date`() {
    for text in [
      "", "2026", "2026-11-21", "08:30:00Z", "20261121T083000Z", "2026-11-21T08:30Z",
      "2026-1-21T08:30:00Z",
      "2026-11-1T08:30:00Z", "26-11-21T08:30:00Z", "12026-11-21T08:30:00Z", "+2026-11-21T08:30:00Z",
      "-001-11-21T08:30:00Z", " 2026-11-21T08:30:00Z", "2026-11-21T08:30:00Z ",
      "2026-11-21T08:30:00Z\n",
      "2026/11/21T08:30:00Z", "2026-11-21X08:30:00Z", "2026-11-21T8:30:00Z", "2026-11-21T08.30.00Z",
      "2026-11-21T-8:30:00Z", "2026-11-21T+8:30:00Z", "2026-11-21T08:30: 0Z", "1795249800000",
      "now",
      "2026-W47-6T08:30:00Z", "2026-325T08:30:00Z", "２０２６-11-21T08:30:00Z",
      "2026-11-21T08:30:00Z\u{301}",
    ] {
      check(text, nil)
    }
  }

  /// Counted day by day, against the arithmetic of the module.
  @Test func `the first of each month in ten thousand years has the counted number of days`() {
    var day: Int64 = DateText.range.lowerBound / 86_400_000
    for year in 0...9999 {
      let isLeap = year.isMultiple(of: 4) && (!year.isMultiple(of: 100) || year.isMultiple(of: 400))
      let digits = String(repeating: "0", count: 4 - String(year).count) + String(year)
      for (index, length) in [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
        .enumerated()
      {
        // Each month of a few centuries, and January and March of the others.
        if (1500..<2500).contains(year) || index % 12 == 0 || index == 2 {
          let text = "\(digits)-\(index < 9 ? "0" : "")\(index + 1)-01T00:00:00.000Z"
          if DateText.text(day * 86_400_000) != text
            || DateText.milliseconds(text) != day * 86_400_000
          {
            Issue.record("\(text)")
          }
        }
        day += Int64(length)
      }
    }
    #expect(day * 86_400_000 == DateText.range.upperBound + 1)
  }

  @Test(arguments: Seeds.first(50))
  func `every moment in range reads back, and its order is that of its text`(seed: UInt64) {
    var random = SplitMix64(seed: seed)
    var previous: (number: Int64, text: String) = (0, "1970-01-01T00:00:00.000Z")
    for _ in 0..<100 {
      let span = UInt64(DateText.range.upperBound - DateText.range.lowerBound) + 1
      let number = DateText.range.lowerBound + Int64(random.next() % span)
      guard let text = DateText.text(number) else {
        Issue.record("\(number) has no text; \(Seeds.repeating(seed))")
        continue
      }
      #expect(text.utf8.count == 24, "\(Seeds.repeating(seed))")
      #expect(DateText.milliseconds(text) == number, "\(Seeds.repeating(seed))")
      #expect((text < previous.text) == (number < previous.number), "\(Seeds.repeating(seed))")
      previous = (number, text)
    }
  }
}
