import CSpotlight
import CordialValues

/// The documents of a table in a few values, which a start reads many times faster than their rows.
///
/// A part has eight bytes of a hash, the number of its documents, and of each document, by number:
/// the difference to the number before, the entity, the difference to the object before, the
/// lengths of the document and of its display name, and each boost, as a byte that tells whether it
/// is there and eight bytes. Other numbers have seven bits in each byte, the lowest ones first.
package enum DocumentArchive {
  /// The number of documents of a part.
  private static let partMax = 1 << 16

  /// Passes the parts of some documents to a body.
  ///
  /// - Parameters:
  ///   - view: The documents.
  ///   - body: Called for each part, in their order.
  /// - Throws: The errors of the body.
  package static func eachPart(
    of view: DocumentTable.View,
    _ body: ([UInt8]) throws -> Void
  ) rethrows {
    var part = Part()
    try view.eachDocument { document in
      part.add(document)
      guard part.count == partMax else { return }
      try body(part.bytes)
      part = Part()
    }
    if part.count > 0 { try body(part.bytes) }
  }

  /// Adds the documents of a part to others, which have lower numbers.
  ///
  /// - Parameters:
  ///   - bytes: The part.
  ///   - view: The documents before.
  ///   - numbersEnd: The number that is greater than that of every document.
  ///   - boostCount: The number of values of each document that change scores.
  /// - Returns: Whether the part is whole; otherwise some of its documents may be missing.
  package static func add(
    _ bytes: [UInt8],
    to view: inout DocumentTable.View,
    numbersEnd: Int64,
    boostCount: Int
  ) -> Bool {
    var reader = Reader(bytes: bytes)
    guard let hash = reader.word(), hash == Part.hash(bytes[8...]),
      let count = reader.number(), count <= UInt64(partMax)
    else { return false }
    var (number, object) = (0 as Int64, 0 as Int64)
    for _ in 0..<count {
      guard let document = reader.document(after: &number, &object, boostCount: boostCount),
        document.number > 0, document.number < numbersEnd
      else { return false }
      view.add(document)
    }
    return reader.isAtEnd
  }

  /// A part that is written.
  private struct Part {
    private(set) var count = 0
    private var content: [UInt8] = []
    private var (number, object) = (0 as Int64, 0 as Int64)

    mutating func add(_ document: DocumentTable.AddedDocument) {
      count += 1
      append(UInt64(bitPattern: document.number &- number))
      append(UInt64(document.key.entity))
      let difference = document.key.object &- object
      append(UInt64(bitPattern: difference << 1 ^ difference >> 63))
      append(UInt64(document.length))
      append(UInt64(document.titleLength))
      for boost in document.boosts {
        content.append(boost == nil ? 0 : 1)
        if let boost { append(word: boost.bitPattern) }
      }
      (number, object) = (document.number, document.key.object)
    }

    /// The whole part.
    var bytes: [UInt8] {
      var head = Part()
      head.append(UInt64(count))
      let rest = head.content + content
      var whole = Part()
      whole.append(word: Self.hash(rest[...]))
      return whole.content + rest
    }

    static func hash(_ bytes: ArraySlice<UInt8>) -> UInt64 {
      bytes.reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
    }

    private mutating func append(_ number: UInt64) {
      var rest = number
      while rest >= 0x80 {
        content.append(UInt8(truncatingIfNeeded: rest) | 0x80)
        rest >>= 7
      }
      content.append(UInt8(rest))
    }

    private mutating func append(word: UInt64) {
      for shift in 0..<8 { content.append(UInt8(truncatingIfNeeded: word >> UInt64(8 * shift))) }
    }
  }

  /// A reader of a part; nil stands for the end of the bytes.
  private struct Reader {
    let bytes: [UInt8]
    private var at = 0

    init(bytes: [UInt8]) { self.bytes = bytes }

    var isAtEnd: Bool { at == bytes.count }

    mutating func document(
      after number: inout Int64,
      _ object: inout Int64,
      boostCount: Int
    ) -> DocumentTable.AddedDocument? {
      guard let step = self.number(), let entity = self.number(), let difference = self.number(),
        let length = self.number(), let titleLength = self.number()
      else { return nil }
      number &+= Int64(bitPattern: step)
      object &+= Int64(bitPattern: difference >> 1) ^ -Int64(bitPattern: difference & 1)
      var boosts: [Double?] = []
      for _ in 0..<boostCount {
        guard let isThere = byte() else { return nil }
        boosts.append(isThere == 1 ? word().map { Double(bitPattern: $0) } : nil)
      }
      return DocumentTable.AddedDocument(
        number: number,
        key: ObjectKey(entity: Int(truncatingIfNeeded: entity), object: object),
        length: Int64(bitPattern: length),
        titleLength: Int64(bitPattern: titleLength),
        boosts: boosts
      )
    }

    mutating func number() -> UInt64? {
      var (result, shift) = (0 as UInt64, 0 as UInt64)
      while shift < 64, let next = byte() {
        result |= UInt64(next & 0x7F) << shift
        if next < 0x80 { return result }
        shift += 7
      }
      return nil
    }

    mutating func word() -> UInt64? {
      guard bytes.count - at >= 8 else { return nil }
      defer { at += 8 }
      return (0..<8).reduce(0) { $0 | UInt64(bytes[at + $1]) << UInt64(8 * $1) }
    }

    private mutating func byte() -> UInt8? {
      guard at < bytes.count else { return nil }
      defer { at += 1 }
      return bytes[at]
    }
  }
}
