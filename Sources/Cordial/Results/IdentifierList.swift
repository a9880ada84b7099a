import CordialValues

/// The IDs of a result, in their order.
///
/// If the store assigned all IDs and they are of one entity, each ID takes eight bytes.
struct IdentifierList: Sendable, Equatable {
  private enum Storage: Sendable, Equatable {
    case numbers(entity: String, [Int64])
    case identifiers([ObjectID])
  }

  private var storage = Storage.identifiers([])

  init() {}

  /// Reads the IDs of a result.
  ///
  /// - Throws: `ClientError` for a text that is not an ID.
  init(_ texts: [String]) throws(ClientError) {
    guard let text = texts.first else { return }
    let first = try Self.identifier(text)
    guard case .object = first.key else {
      storage = .identifiers(try Self.identifiers(texts))
      return
    }
    var numbers: [Int64] = []
    numbers.reserveCapacity(texts.count)
    for text in texts {
      guard let number = Self.number(text, of: first.entity) else {
        storage = .identifiers(try Self.identifiers(texts))
        return
      }
      numbers.append(number)
    }
    storage = .numbers(entity: first.entity, numbers)
  }

  var count: Int {
    switch storage {
    case .numbers(_, let numbers): numbers.count
    case .identifiers(let identifiers): identifiers.count
    }
  }

  subscript(index: Int) -> ObjectID {
    switch storage {
    case .numbers(let entity, let numbers): ObjectID(entity: entity, key: .object(numbers[index]))
    case .identifiers(let identifiers): identifiers[index]
    }
  }

  /// Applies the difference between two results.
  ///
  /// - Parameters:
  ///   - removed: The offsets of the removed IDs in this list.
  ///   - inserted: The inserted IDs with their offsets in the new list.
  /// - Throws: `ClientError` for offsets outside of the lists.
  /// - Complexity: Linear in the list.
  mutating func apply(
    removed: [Int],
    inserted: [(offset: Int, id: ObjectID)]
  ) throws(ClientError) {
    let countAfter = count - removed.count + inserted.count
    let isValid =
      Set(removed).count == removed.count && removed.allSatisfy { (0..<count).contains($0) }
      && Set(inserted.map(\.offset)).count == inserted.count
      && inserted.allSatisfy { (0..<countAfter).contains($0.offset) }
    guard isValid else {
      throw ClientError(code: .internalError, message: "A difference does not fit its result")
    }
    switch storage {
    case .numbers(let entity, var numbers) where inserted.allSatisfy({ $0.id.has(entity) }):
      storage = .identifiers([])
      Self.apply(removed, inserted.map { ($0.offset, $0.id.number) }, to: &numbers)
      storage = .numbers(entity: entity, numbers)
    default:
      var identifiers = (0..<count).map { self[$0] }
      storage = .identifiers([])
      Self.apply(removed, inserted.map { ($0.offset, $0.id) }, to: &identifiers)
      storage = .identifiers(identifiers)
    }
  }

  /// The maximum number of removals and insertions that are applied one at a time.
  private static let singlyMax = 16

  private static func apply<Element>(
    _ removed: [Int],
    _ inserted: [(offset: Int, element: Element)],
    to elements: inout [Element]
  ) {
    let inserted = inserted.sorted { $0.offset < $1.offset }
    guard removed.count + inserted.count > singlyMax else {
      for offset in removed.sorted(by: >) { elements.remove(at: offset) }
      for (offset, element) in inserted { elements.insert(element, at: offset) }
      return
    }
    let gone = Set(removed)
    var kept = elements.indices.lazy.filter { !gone.contains($0) }.makeIterator()
    var result: [Element] = []
    result.reserveCapacity(elements.count - removed.count + inserted.count)
    for (offset, element) in inserted {
      while result.count < offset, let index = kept.next() { result.append(elements[index]) }
      result.append(element)
    }
    while let index = kept.next() { result.append(elements[index]) }
    elements = result
  }

  private static func identifiers(_ texts: [String]) throws(ClientError) -> [ObjectID] {
    try texts.map { text throws(ClientError) in try identifier(text) }
  }

  private static func identifier(_ text: String) throws(ClientError) -> ObjectID {
    guard let id = ObjectID(text) else {
      throw ClientError(
        code: .internalError,
        message: "The service sent \"\(text.excerpt)\" as the ID of an object"
      )
    }
    return id
  }

  /// Returns the number in an ID that the store assigned to an object of the entity.
  ///
  /// The number has at most 18 digits. The function returns nil for any other text.
  private static func number(_ text: String, of entity: String) -> Int64? {
    let bytes = text.utf8Span.span
    let name = entity.utf8Span.span
    let start = name.count + 2
    guard bytes.count > start, bytes.count <= start + 18, bytes[name.count] == UInt8(ascii: "/"),
      bytes[name.count + 1] == UInt8(ascii: "p"), bytes[start] != UInt8(ascii: "0")
    else { return nil }
    for index in name.indices where bytes[index] != name[index] { return nil }
    var number: Int64 = 0
    for index in start..<bytes.count {
      guard case let digit = bytes[index] &- 0x30, digit < 10 else { return nil }
      number = number * 10 + Int64(digit)
    }
    return number
  }
}

extension ObjectID {
  fileprivate func has(_ entity: String) -> Bool {
    if case .object = key { self.entity == entity } else { false }
  }

  fileprivate var number: Int64 {
    if case .object(let number) = key { number } else { 0 }
  }
}
