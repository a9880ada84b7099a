package import CSpotlight
package import CordialValues
import SQLite
import Synchronization

/// The documents of an index in memory, by number, as ranking reads them.
///
/// A commit to the index file and its update of this table are one step for every search: both
/// happen inside `locked`, and a search begins its read transaction inside `locked` too.
///
/// In a process with few searches, the table only counts the documents, and each search reads them
/// from the file.
package final class DocumentTable: Sendable {
  /// A document that was added.
  package struct AddedDocument {
    package let number: Int64
    package let key: ObjectKey
    /// The token counts of the document and of its display name.
    package let length: Int64
    package let titleLength: Int64
    package let boosts: [Double?]

    package init(
      number: Int64,
      key: ObjectKey,
      length: Int64,
      titleLength: Int64,
      boosts: [Double?]
    ) {
      self.number = number
      self.key = key
      self.length = length
      self.titleLength = titleLength
      self.boosts = boosts
    }
  }

  /// The documents of one commit of the index, as a search sees them.
  ///
  /// A view copies a chunk that another view shares before it writes to the chunk: a batch of new
  /// documents copies at most the last chunk, and a removal copies none.
  package struct View: Sendable {
    /// The position of the commit; nil before the first build.
    var position: IndexPosition?
    /// The position up to which later commits index nothing; nil if no commits follow `position`.
    var followed: StoreToken?
    /// Whether the documents are kept in memory rather than only counted.
    let isKept: Bool
    private var chunks: [DocumentChunk] = []
    /// The empty chunk, which all ranges of numbers without a document share.
    private let empty: DocumentChunk
    /// One more than the greatest number of a document.
    private(set) var numbersEnd = 0
    /// A bit for each document number, which says whether the document is live.
    ///
    /// The data of a dead document remain. Counting reads a bit for each entry of the index, and
    /// the bits fit into the processor's caches.
    private var alive: [UInt64] = []
    /// The count of boosts of each document.
    package let boostCount: Int
    package private(set) var aliveCount: Int64 = 0
    /// The token count of the live documents; meaningless if documents are only counted.
    package private(set) var aliveTokens: Int64 = 0
  }

  private let commitLock = Mutex(())
  private let state: Mutex<View>

  /// Creates a table without documents.
  ///
  /// - Parameters:
  ///   - boostCount: The count of boosts of each document.
  ///   - isKept: Whether the documents are kept in memory rather than only counted.
  package init(boostCount: Int, isKept: Bool = true) {
    state = Mutex(View(boostCount: boostCount, isKept: isKept))
  }

  /// Runs a body while no other body of `locked` runs.
  func locked<Result>(_ body: () throws -> sending Result) rethrows -> sending Result {
    try commitLock.withLock { _ in try body() }
  }

  /// The current documents.
  package var view: View { state.withLock { $0 } }

  /// Whether the documents are kept in memory rather than only counted.
  var isKept: Bool { state.withLock { $0.isKept } }

  /// Applies a batch: the documents that it added and those that it removed.
  package func apply(_ position: IndexPosition, added: [AddedDocument], removed: [Int64]) {
    state.withLock { view in
      view.position = position
      view.followed = nil
      for number in removed { view.remove(number) }
      for document in added { view.add(document) }
    }
  }

  /// Records that the commits up to a position index nothing.
  func follow(_ token: StoreToken) {
    state.withLock { $0.followed = token }
  }

  /// Replaces all documents, after the index was opened, reloaded or rebuilt.
  func replace(_ view: View) {
    state.withLock { $0 = view }
  }

  var aliveCount: Int64 { state.withLock { $0.aliveCount } }

  /// The count of document numbers, from 1, without a live document.
  var deadCount: Int64 {
    state.withLock { view in Int64(max(view.numbersEnd - 1, 0)) - view.aliveCount }
  }
}

extension DocumentTable.View {
  /// Creates a view without documents.
  package init(boostCount: Int, isKept: Bool = true) {
    self.boostCount = boostCount
    self.isKept = isKept
    empty = DocumentChunk(boostCount: boostCount)
  }

  /// Adds a document that was read from the file.
  ///
  /// The method checks the number, because C code uses it as an index, and the memory of a table
  /// depends on the greatest number. Documents that are only counted must come in the order of
  /// their numbers.
  ///
  /// - Parameters:
  ///   - document: The document; `IndexLayout.key` has checked its object.
  ///   - numbersEnd: A number that is greater than the numbers of all documents.
  /// - Throws: `SQLiteError` with the code `corrupt` for a document that no writer has written.
  mutating func add(_ document: DocumentTable.AddedDocument, below numbersEnd: Int64) throws {
    guard document.number > 0, document.number < numbersEnd, !mayHave(document.number),
      (0...Int64(UInt32.max)).contains(document.length)
    else {
      throw SQLiteError(.corrupt, "The index has an invalid document \(document.number)")
    }
    add(document)
  }

  /// Returns whether a document may already have the number.
  private func mayHave(_ number: Int64) -> Bool {
    isKept ? key(number) != nil : number < numbersEnd
  }

  /// Ensures that a chunk exists and that no other view shares it.
  private mutating func prepareChunk(_ index: Int) {
    let missing = index + 1 - chunks.count
    if missing > 0 { chunks.append(contentsOf: repeatElement(empty, count: missing)) }
    if !isKnownUniquelyReferenced(&chunks[index]) { chunks[index] = DocumentChunk(chunks[index]) }
  }

  package mutating func add(_ document: DocumentTable.AddedDocument) {
    let number = Int(document.number)
    numbersEnd = max(numbersEnd, number + 1)
    aliveCount += 1
    aliveTokens += document.length
    guard isKept else { return }
    let (index, place) = (number / DocumentChunk.size, number % DocumentChunk.size)
    prepareChunk(index)
    let data = spotlight_document(
      object: document.key.object,
      length: UInt32(clamping: document.length),
      entity: UInt16(clamping: document.key.entity),
      titleLength: UInt16(clamping: document.titleLength)
    )
    chunks[index].set(data, boosts: document.boosts, at: place)
    let missing = number / 64 + 1 - alive.count
    if missing > 0 { alive.append(contentsOf: repeatElement(0, count: missing)) }
    alive[number / 64] |= 1 << UInt64(number % 64)
  }

  /// Sets the count of documents of a view that only counts them.
  ///
  /// - Parameters:
  ///   - count: The number of documents of the file.
  ///   - end: One more than the greatest number of a document.
  mutating func count(_ count: Int64, below end: Int64) {
    (aliveCount, numbersEnd) = (count, Int(end))
  }

  /// Adds the documents of an archive, whose numbers are greater than all numbers of the view.
  ///
  /// - Parameter archive: The archive, positioned at its first document.
  /// - Returns: Whether all documents were read; otherwise some may be missing.
  mutating func add(_ archive: inout spotlight_archive) -> Bool {
    let (count, tokens) = unsafe (archive.left, archive.tokens)
    guard unsafe count > 0 && spotlight_archive_next(&archive) else { return count == 0 }
    var isWhole = true
    while isWhole, unsafe archive.left > 0 {
      let index = unsafe Int(archive.number) / DocumentChunk.size
      prepareChunk(index)
      let words = DocumentChunk.size / 64
      let missing = (index + 1) * words - alive.count
      if missing > 0 { alive.append(contentsOf: repeatElement(0, count: missing)) }
      let chunk = chunks[index]
      isWhole = unsafe alive.withUnsafeMutableBufferPointer { alive in
        guard let bits = alive.baseAddress else { return false }
        return unsafe spotlight_archive_read(
          &archive,
          chunk.documents,
          chunk.boosts,
          bits + index * words
        )
      }
    }
    numbersEnd = unsafe max(numbersEnd, Int(archive.number) + 1)
    aliveCount += unsafe count - archive.left
    aliveTokens += unsafe archive.tokens - tokens
    return isWhole
  }

  /// The size of the documents in memory, in bytes.
  var bytes: Int { chunks.count * empty.bytes + alive.count * MemoryLayout<UInt64>.size }

  /// Calls a body with each live document, in the order of document numbers.
  package func eachDocument(_ body: (DocumentTable.AddedDocument) throws -> Void) rethrows {
    for number in 0..<Int64(numbersEnd) {
      guard let document = document(number) else { continue }
      let (chunk, place) = (Int(number) / DocumentChunk.size, Int(number) % DocumentChunk.size)
      try body(
        DocumentTable.AddedDocument(
          number: number,
          key: ObjectKey(entity: Int(document.entity), object: document.object),
          length: Int64(document.length),
          titleLength: Int64(document.titleLength),
          boosts: chunks[chunk].boostValues(at: place)
        )
      )
    }
  }

  mutating func remove(_ number: Int64) {
    guard isKept else {
      aliveCount -= 1
      return
    }
    guard let document = document(number) else { return }
    aliveCount -= 1
    aliveTokens -= Int64(document.length)
    alive[Int(number) / 64] &= ~(1 << UInt64(number % 64))
  }

  /// Removes all documents of some entities.
  mutating func remove(entities: Set<Int>) {
    for number in 0..<Int64(numbersEnd) {
      if let key = key(number), entities.contains(key.entity) { remove(number) }
    }
  }

  /// Returns the data of a live document, or nil if no live document has the number.
  private func document(_ number: Int64) -> spotlight_document? {
    guard isKept, number >= 0, number < numbersEnd,
      alive[Int(number) / 64] >> UInt64(number % 64) & 1 == 1
    else { return nil }
    return chunks[Int(number) / DocumentChunk.size].document(Int(number) % DocumentChunk.size)
  }

  /// Returns the object of a live document, or nil if no live document has the number.
  package func key(_ number: Int64) -> ObjectKey? {
    document(number).map { ObjectKey(entity: Int($0.entity), object: $0.object) }
  }

  /// Returns whether a document number belongs to a live document with this object and these
  /// lengths.
  func has(_ number: Int64, _ key: ObjectKey, _ lengths: DocumentLengths) -> Bool {
    guard let document = document(number) else { return false }
    return ObjectKey(entity: Int(document.entity), object: document.object) == key
      && Int64(document.length) == lengths.document && Int64(document.titleLength) == lengths.title
  }

  /// Returns the number of an object's document, or nil for an object without one.
  ///
  /// - Complexity: Linear in the documents.
  func number(of key: ObjectKey) -> Int64? {
    (0..<Int64(numbersEnd)).first { self.key($0) == key }
  }

  /// Runs a body with a search that borrows the documents.
  ///
  /// - Parameter body: Receives a search with the table's fields, sets the other fields, and runs
  ///   the search.
  /// - Returns: The result of the body.
  package func withSearch<Result>(
    _ body: (inout spotlight_search) throws -> Result
  ) rethrows -> Result {
    let documents = unsafe chunks.map { unsafe UnsafePointer($0.documents) as Optional }
    let boosts = unsafe chunks.map { unsafe UnsafePointer($0.boosts) as Optional }
    return try unsafe documents.withUnsafeBufferPointer { documents in
      var search = unsafe spotlight_search()
      unsafe search.documents = documents.baseAddress
      unsafe search.documentCount = Int64(numbersEnd)
      unsafe search.aliveCount = aliveCount
      unsafe search.aliveTokens = aliveTokens
      return try unsafe alive.withUnsafeBufferPointer { alive in
        unsafe search.alive = alive.baseAddress
        return try unsafe boosts.withUnsafeBufferPointer { boosts in
          unsafe search.boostValues = boosts.baseAddress
          unsafe search.boostCount = Int32(boostCount)
          // The lists hold addresses in the chunks, so the chunks must outlive the body.
          return try withExtendedLifetime(chunks) { try unsafe body(&search) }
        }
      }
    }
  }
}
