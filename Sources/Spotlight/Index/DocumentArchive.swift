import CSpotlight
import CordialValues

/// The documents of a table as a few binary values, which a start reads many times faster than
/// rows.
///
/// A part has eight bytes of a hash, the count of its documents, and the documents in the order of
/// their numbers. A document has the difference to the previous number, the entity, the difference
/// to the previous object, the token counts of the document and of its display name, and the
/// boosts. A boost has a byte that says whether its value is present, and then eight bytes. Other
/// integers have seven bits in each byte, the lowest bits first.
package enum DocumentArchive {
  /// The maximum count of documents in a part.
  private static let partMax = 1 << 16

  /// A writer of parts, which receives documents one by one.
  package struct Writer {
    private let boostCount: Int
    private var part = Part()

    /// Creates a writer without documents.
    ///
    /// - Parameter boostCount: The count of boosts that each document has in a part; a missing
    ///   boost is stored as null.
    package init(boostCount: Int) {
      self.boostCount = boostCount
    }

    /// Adds a document.
    ///
    /// - Parameter document: The document, whose number is greater than all earlier numbers.
    /// - Returns: The part that this document completes; nil if the part is not full.
    package mutating func add(_ document: DocumentTable.AddedDocument) -> [UInt8]? {
      part.add(document, boostCount: boostCount)
      return part.count == partMax ? end() : nil
    }

    /// Returns a part of the documents since the last full part; nil if there are none.
    package mutating func end() -> [UInt8]? {
      guard part.count > 0 else { return nil }
      defer { part = Part() }
      return part.bytes
    }
  }

  /// Adds the documents of a part to a view, whose documents have lower numbers.
  ///
  /// - Parameters:
  ///   - bytes: The part.
  ///   - view: The view, with the documents of the earlier parts.
  ///   - numbersEnd: A number that is greater than the numbers of all documents.
  ///   - boostCount: The count of boosts of each document.
  ///   - indexed: Whether an entity may have documents, by entity number; nil for any entity.
  /// - Returns: Whether the part is whole; otherwise some of its documents may be missing.
  package static func add(
    _ bytes: Span<UInt8>,
    to view: inout DocumentTable.View,
    numbersEnd: Int64,
    boostCount: Int,
    indexed: [Bool]? = nil
  ) -> Bool {
    var at = 0
    guard let hash = word(bytes, &at), hash == Self.hash(bytes, from: 8),
      let count = number(bytes, &at), count <= UInt64(partMax)
    else { return false }
    let indexed = indexed ?? Array(repeating: true, count: 1 << 16)
    return unsafe bytes.withUnsafeBufferPointer { bytes in
      unsafe indexed.withUnsafeBufferPointer { indexed in
        var archive = unsafe spotlight_archive()
        unsafe archive.bytes = bytes.baseAddress
        unsafe (archive.size, archive.at) = (Int64(bytes.count), Int64(at))
        unsafe (archive.left, archive.numbersEnd) = (Int64(count), numbersEnd)
        unsafe (archive.indexed, archive.entityCount) = (
          indexed.baseAddress, Int64(indexed.count)
        )
        unsafe archive.boostCount = Int32(boostCount)
        return unsafe view.add(&archive) && archive.at == archive.size
      }
    }
  }

  // MARK: Reading; nil stands for the end of the bytes

  private static func number(_ bytes: Span<UInt8>, _ at: inout Int) -> UInt64? {
    var (result, shift) = (0 as UInt64, 0 as UInt64)
    while shift < 64, at < bytes.count {
      let next = bytes[at]
      at += 1
      result |= UInt64(next & 0x7F) << shift
      if next < 0x80 { return result }
      shift += 7
    }
    return nil
  }

  private static func word(_ bytes: Span<UInt8>, _ at: inout Int) -> UInt64? {
    guard bytes.count - at >= 8 else { return nil }
    defer { at += 8 }
    let word = unsafe bytes.bytes.unsafeLoadUnaligned(fromByteOffset: at, as: UInt64.self)
    return UInt64(littleEndian: word)
  }

  /// Returns a hash of the bytes from an offset to the end; a change of any byte changes the hash.
  private static func hash(_ bytes: Span<UInt8>, from start: Int) -> UInt64 {
    var hash: UInt64 = 0xCBF2_9CE4_8422_2325
    var at = start
    while let word = word(bytes, &at) { hash = mixed(hash, word) }
    while at < bytes.count {
      hash = mixed(hash, UInt64(bytes[at]))
      at += 1
    }
    return hash
  }

  private static func mixed(_ hash: UInt64, _ word: UInt64) -> UInt64 {
    let product = (hash ^ word) &* 0x9E37_79B9_7F4A_7C15
    return product ^ product >> 29
  }

  // MARK: Writing

  /// A part that is being written.
  private struct Part {
    private(set) var count = 0
    private var content: [UInt8] = []
    private var (number, object) = (0 as Int64, 0 as Int64)

    mutating func add(_ document: DocumentTable.AddedDocument, boostCount: Int) {
      count += 1
      append(UInt64(bitPattern: document.number &- number))
      append(UInt64(document.key.entity))
      let difference = document.key.object &- object
      append(UInt64(bitPattern: difference << 1 ^ difference >> 63))
      append(UInt64(document.length))
      append(UInt64(document.titleLength))
      for place in 0..<boostCount {
        let boost = place < document.boosts.count ? document.boosts[place] : nil
        content.append(boost == nil ? 0 : 1)
        if let boost { append(word: boost.bitPattern) }
      }
      (number, object) = (document.number, document.key.object)
    }

    /// The bytes of the part, with its hash and its count of documents.
    var bytes: [UInt8] {
      var head = Part()
      head.append(UInt64(count))
      let rest = head.content + content
      var whole = Part()
      whole.append(word: DocumentArchive.hash(rest.span, from: 0))
      return whole.content + rest
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
}
