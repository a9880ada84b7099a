import CSpotlight
import CordialValues
import Synchronization

/// The documents of an index in memory, by number, as ranking reads them.
///
/// A commit to the index file and its update of this table are one step for every search: both
/// happen inside `locked`, and a search begins its read transaction inside `locked` too.
final class DocumentTable: Sendable {
  /// A document that was added.
  struct AddedDocument {
    let number: Int64
    let key: ObjectKey
    let length: Int64
    let boosts: [Double?]
  }

  /// The documents of one commit of the index, as a search sees them.
  struct View: Sendable {
    /// The position of that commit; nil before the first.
    fileprivate(set) var position: IndexPosition?
    /// The position up to which later commits index nothing; nil where it is that of `position`.
    fileprivate(set) var followed: StoreToken?
    private(set) var documents: [spotlight_document] = []
    /// A bit for each document number: whether the document is live.
    ///
    /// Counting reads a bit for each entry of the index, and the caches have room for these.
    private var alive: [UInt64] = []
    /// The values that change scores, `boostCount` for each document; NaN for missing ones.
    private(set) var boosts: [Double] = []
    fileprivate(set) var boostCount = 0
    private(set) var aliveCount: Int64 = 0
    private(set) var aliveTokens: Int64 = 0
  }

  private let commitLock = Mutex(())
  private let state: Mutex<View>
  /// The number of values of each document that change scores.
  let boostCount: Int

  init(boostCount: Int) {
    self.boostCount = boostCount
    var view = View()
    view.boostCount = boostCount
    state = Mutex(view)
  }

  /// Runs a body while no other body of `locked` runs.
  func locked<Result>(_ body: () throws -> sending Result) rethrows -> sending Result {
    try commitLock.withLock { _ in try body() }
  }

  /// The current documents; the array is shared, so that a batch applied during a search copies it.
  var view: View { state.withLock { $0 } }

  /// Applies a batch: the documents that it added and those that it removed.
  func apply(_ position: IndexPosition, added: [AddedDocument], removed: [Int64]) {
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
  func replace(_ position: IndexPosition?, added: [AddedDocument]) {
    let view = View(position, added, boostCount: boostCount)
    state.withLock { $0 = view }
  }

  var aliveCount: Int64 { state.withLock { $0.aliveCount } }

  /// The number of document numbers without a live document; numbers begin with 1.
  var deadCount: Int64 {
    state.withLock { view in Int64(max(view.documents.count - 1, 0)) - view.aliveCount }
  }
}

extension DocumentTable.View {
  /// Creates a view of the documents of one commit.
  init(_ position: IndexPosition?, _ added: [DocumentTable.AddedDocument], boostCount: Int) {
    self.init()
    self.boostCount = boostCount
    self.position = position
    for document in added { add(document) }
  }

  mutating func add(_ document: DocumentTable.AddedDocument) {
    let number = Int(document.number)
    while documents.count <= number { documents.append(spotlight_document()) }
    documents[number] = spotlight_document(
      object: document.key.object,
      length: UInt32(clamping: document.length),
      entity: UInt16(clamping: document.key.entity)
    )
    while alive.count <= number / 64 { alive.append(0) }
    alive[number / 64] |= 1 << UInt64(number % 64)
    aliveCount += 1
    aliveTokens += document.length
    guard boostCount > 0 else { return }
    let missing = documents.count * boostCount - boosts.count
    if missing > 0 { boosts.append(contentsOf: repeatElement(.nan, count: missing)) }
    for (index, value) in document.boosts.prefix(boostCount).enumerated() {
      boosts[number * boostCount + index] = value ?? .nan
    }
  }

  mutating func remove(_ number: Int64) {
    aliveCount -= 1
    aliveTokens -= Int64(documents[Int(number)].length)
    documents[Int(number)] = spotlight_document()
    alive[Int(number) / 64] &= ~(1 << UInt64(number % 64))
  }

  /// Removes all documents of entities.
  mutating func remove(entities: Set<Int>) {
    for number in documents.indices where entities.contains(Int(documents[number].entity)) {
      remove(Int64(number))
    }
  }

  /// Returns the number of an object's document, or nil for an object without one.
  ///
  /// - Complexity: Linear in the documents.
  func number(of key: ObjectKey) -> Int64? {
    documents.firstIndex { Int($0.entity) == key.entity && $0.object == key.object }.map(Int64.init)
  }

  /// Runs a body with a search that borrows the documents.
  ///
  /// - Parameter body: Receives a search with the table's part; it fills in the rest and runs it.
  /// - Returns: The result of the body.
  func withSearch<Result>(_ body: (inout spotlight_search) throws -> Result) rethrows -> Result {
    try unsafe documents.withUnsafeBufferPointer { buffer in
      var search = unsafe spotlight_search()
      unsafe search.documents = buffer.baseAddress
      unsafe search.documentCount = Int64(documents.count)
      unsafe search.aliveCount = aliveCount
      unsafe search.aliveTokens = aliveTokens
      return try unsafe alive.withUnsafeBufferPointer { alive in
        unsafe search.alive = alive.baseAddress
        return try unsafe boosts.withUnsafeBufferPointer { boosts in
          unsafe search.boostValues = boosts.baseAddress
          unsafe search.boostCount = Int32(boostCount)
          return try unsafe body(&search)
        }
      }
    }
  }

  /// Returns the object of a document, or nil for an unused number.
  func key(_ number: Int64) -> ObjectKey? {
    guard documents.indices.contains(Int(number)), documents[Int(number)].entity != 0 else {
      return nil
    }
    let found = documents[Int(number)]
    return ObjectKey(entity: Int(found.entity), object: found.object)
  }
}
