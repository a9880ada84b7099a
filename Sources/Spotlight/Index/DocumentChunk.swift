import CSpotlight

/// The token counts of a document and of its display name, as the file stores them.
struct DocumentLengths {
  let document: Int64
  /// The token count of the display name, at most 255.
  let title: Int64

  init(document: Int64, title: Int64) {
    self.document = document
    self.title = min(title, 255)
  }

  init(packed: Int64) {
    self.init(document: packed >> 8, title: packed & 255)
  }

  /// Both counts in one integer, which takes less space in the file.
  var packed: Int64 { document << 8 | title }
}

/// The data of documents with successive numbers, and the values that change their scores.
///
/// A writer copies a chunk that another owner shares, and changes only the copy.
@safe package final class DocumentChunk: @unchecked Sendable {
  /// The number of documents of a chunk.
  package static let size = 1 << Int(SPOTLIGHT_CHUNK_BITS)

  private let boostCount: Int
  /// The documents, in the order of their numbers.
  let documents: UnsafeMutablePointer<spotlight_document>
  /// `boostCount` values for each document; NaN stands for a missing value.
  let boosts: UnsafeMutablePointer<Double>

  init(boostCount: Int) {
    self.boostCount = boostCount
    unsafe documents = .allocate(capacity: Self.size)
    unsafe documents.initialize(repeating: spotlight_document(), count: Self.size)
    unsafe boosts = .allocate(capacity: max(boostCount * Self.size, 1))
    unsafe boosts.initialize(repeating: .nan, count: boostCount * Self.size)
  }

  /// Creates a copy of a chunk.
  init(_ other: DocumentChunk) {
    boostCount = other.boostCount
    unsafe documents = .allocate(capacity: Self.size)
    unsafe documents.initialize(from: other.documents, count: Self.size)
    unsafe boosts = .allocate(capacity: max(boostCount * Self.size, 1))
    unsafe boosts.initialize(from: other.boosts, count: boostCount * Self.size)
  }

  deinit {
    unsafe documents.deallocate()
    unsafe boosts.deallocate()
  }

  /// The size of a chunk in memory, in bytes.
  var bytes: Int {
    Self.size * (MemoryLayout<spotlight_document>.stride + boostCount * MemoryLayout<Double>.stride)
  }

  /// Returns the document at an index of the chunk, from 0 to `size - 1`.
  func document(_ place: Int) -> spotlight_document {
    precondition(place >= 0 && place < Self.size)
    return unsafe documents[place]
  }

  /// Returns the values that change the score of a document; nil stands for a missing value.
  func boostValues(at place: Int) -> [Double?] {
    precondition(place >= 0 && place < Self.size)
    return (0..<boostCount).map { index in
      let value = unsafe boosts[place * boostCount + index]
      return value.isNaN ? nil : value
    }
  }

  /// Sets the document at an index of the chunk, from 0 to `size - 1`.
  func set(_ document: spotlight_document, boosts values: [Double?], at place: Int) {
    precondition(place >= 0 && place < Self.size)
    unsafe documents[place] = document
    for index in 0..<boostCount {
      unsafe boosts[place * boostCount + index] =
        (index < values.count ? values[index] : nil) ?? .nan
    }
  }
}
