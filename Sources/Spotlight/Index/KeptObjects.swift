import CSpotlight

/// The objects to which a predicate limits a search, in the form of `spotlight_search`.
@safe final class KeptObjects {
  private let entityCount: Int
  private let lists: UnsafeMutablePointer<UnsafePointer<Int64>?>
  private let counts: UnsafeMutablePointer<Int64>
  private let bits: UnsafeMutablePointer<UnsafePointer<UInt64>?>

  /// Copies lists of objects.
  ///
  /// - Parameters:
  ///   - objects: The object numbers in ascending order, by entity number.
  ///   - entityCount: The number of entities.
  init(_ objects: [Int: [Int64]], entityCount: Int) {
    self.entityCount = entityCount
    unsafe lists = .allocate(capacity: entityCount)
    unsafe counts = .allocate(capacity: entityCount)
    unsafe bits = .allocate(capacity: entityCount)
    for entity in 0..<entityCount {
      let numbers = objects[entity] ?? []
      unsafe lists.advanced(by: entity).initialize(to: Self.copy(numbers))
      unsafe counts.advanced(by: entity).initialize(to: Int64(numbers.count))
      unsafe bits.advanced(by: entity).initialize(to: Self.bits(numbers))
    }
  }

  deinit {
    for entity in 0..<entityCount {
      unsafe lists[entity]?.deallocate()
      unsafe bits[entity]?.deallocate()
    }
    unsafe lists.deallocate()
    unsafe counts.deallocate()
    unsafe bits.deallocate()
  }

  /// Makes a search use the lists, which are freed with this instance.
  func lend(to search: inout spotlight_search) {
    unsafe search.kept = UnsafePointer(lists)
    unsafe search.keptCounts = UnsafePointer(counts)
    unsafe search.keptBits = UnsafePointer(bits)
  }

  private static func copy(_ numbers: [Int64]) -> UnsafePointer<Int64> {
    let copy = UnsafeMutablePointer<Int64>.allocate(capacity: max(numbers.count, 1))
    for (index, number) in numbers.enumerated() { unsafe copy[index] = number }
    return unsafe UnsafePointer(copy)
  }

  /// The maximum count of bits for each object, so that the bits take no more memory than the list.
  private static let bitsMax: Int64 = 64

  /// Returns a bitmap of the numbers; nil if the numbers are too far apart.
  private static func bits(_ numbers: [Int64]) -> UnsafePointer<UInt64>? {
    guard let first = numbers.first, let last = numbers.last, first >= 0,
      last / bitsMax < Int64(numbers.count)
    else { return nil }
    let words = Int(last / 64) + 1
    let bits = UnsafeMutablePointer<UInt64>.allocate(capacity: words)
    unsafe bits.initialize(repeating: 0, count: words)
    for number in numbers { unsafe bits[Int(number / 64)] |= 1 << UInt64(number % 64) }
    return unsafe UnsafePointer(bits)
  }
}
