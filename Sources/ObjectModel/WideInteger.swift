import CGMP

/// A signed integer of any size.
///
/// GMP ends the process if memory is short, so callers must limit the digits of their numbers.
@safe struct WideInteger: Comparable, Sendable {
  /// The owner of a GMP number.
  ///
  /// Only `init` writes the number, so several threads may read it.
  @safe private final class Storage: @unchecked Sendable {
    let number: UnsafeMutablePointer<__mpz_struct>

    init(_ write: (UnsafeMutablePointer<__mpz_struct>) -> Void) {
      unsafe number = .allocate(capacity: 1)
      unsafe __gmpz_init(number)
      unsafe write(number)
    }

    deinit {
      unsafe __gmpz_clear(number)
      unsafe number.deallocate()
    }
  }

  private let storage: Storage
  private var number: UnsafeMutablePointer<__mpz_struct> { unsafe storage.number }

  private init(_ write: (UnsafeMutablePointer<__mpz_struct>) -> Void) {
    storage = unsafe Storage(write)
  }

  init(_ number: Int64) {
    unsafe self.init { unsafe __gmpz_set_si($0, Int(number)) }
  }

  /// Reads decimal digits, which a sign may precede; nil for any other text.
  init?(_ text: String) {
    let digits = text.hasPrefix("-") || text.hasPrefix("+") ? text.dropFirst() : text[...]
    // GMP accepts spaces between digits.
    let all = UInt8(ascii: "0")...UInt8(ascii: "9")
    guard !digits.isEmpty, digits.utf8.allSatisfy({ all.contains($0) }) else { return nil }
    unsafe self.init { number in
      unsafe __gmpz_set_str(number, String(digits), 10)
      if text.hasPrefix("-") { unsafe __gmpz_neg(number, number) }
    }
  }

  static func powerOfTen(_ exponent: Int) -> WideInteger {
    unsafe WideInteger { unsafe __gmpz_ui_pow_ui($0, 10, UInt(exponent)) }
  }

  /// The decimal digits, without a sign.
  var digits: String {
    // The buffer must also hold the sign and the NUL.
    let capacity = unsafe __gmpz_sizeinbase(number, 10) + 2
    let text = unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: capacity) { buffer in
      unsafe __gmpz_get_str(buffer.baseAddress, 10, number)
      return unsafe buffer.baseAddress.map { unsafe String(cString: $0) } ?? ""
    }
    return isNegative ? String(text.dropFirst()) : text
  }

  var isNegative: Bool { unsafe number.pointee._mp_size < 0 }
  var isZero: Bool { unsafe number.pointee._mp_size == 0 }
  var magnitude: WideInteger { isNegative ? WideInteger(0) - self : self }

  // MARK: Operations

  static func == (first: WideInteger, second: WideInteger) -> Bool {
    unsafe __gmpz_cmp(first.number, second.number) == 0
  }

  static func < (first: WideInteger, second: WideInteger) -> Bool {
    unsafe __gmpz_cmp(first.number, second.number) < 0
  }

  static func + (first: WideInteger, second: WideInteger) -> WideInteger {
    unsafe WideInteger { unsafe __gmpz_add($0, first.number, second.number) }
  }

  static func - (first: WideInteger, second: WideInteger) -> WideInteger {
    unsafe WideInteger { unsafe __gmpz_sub($0, first.number, second.number) }
  }

  static func * (first: WideInteger, second: WideInteger) -> WideInteger {
    unsafe WideInteger { unsafe __gmpz_mul($0, first.number, second.number) }
  }

  /// The direction in which a quotient becomes an integer.
  enum Rounding { case down, up, towardZero }

  /// Returns the quotient, rounded to an integer.
  ///
  /// - Precondition: The divisor is not zero.
  func divided(by divisor: WideInteger, _ rounding: Rounding = .towardZero) -> WideInteger {
    unsafe WideInteger { quotient in
      switch rounding {
      case .down: unsafe __gmpz_fdiv_q(quotient, number, divisor.number)
      case .up: unsafe __gmpz_cdiv_q(quotient, number, divisor.number)
      case .towardZero: unsafe __gmpz_tdiv_q(quotient, number, divisor.number)
      }
    }
  }

  /// Returns the remainder of a division; the remainder has the sign of the dividend.
  ///
  /// - Precondition: The divisor is not zero.
  func remainder(by divisor: WideInteger) -> WideInteger {
    unsafe WideInteger { unsafe __gmpz_tdiv_r($0, number, divisor.number) }
  }
}
