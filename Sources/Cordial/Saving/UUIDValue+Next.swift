import CordialValues

extension UUIDValue {
  /// Returns a new random UUID from the system's generator.
  static func next() -> UUIDValue {
    var generator = SystemRandomNumberGenerator()
    return UUIDValue(using: &generator)
  }

  /// Creates a UUID of version 4.
  init(using generator: inout some RandomNumberGenerator) {
    let high: UInt64 = generator.next()
    let low: UInt64 = generator.next()
    self.init(high: high & ~0xF000 | 0x4000, low: low & ~(0b11 << 62) | 0b10 << 62)
  }
}
