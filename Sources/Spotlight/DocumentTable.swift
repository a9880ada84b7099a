import CSpotlight
import CordialValues
import Synchronization

/// The documents of an index in memory, by number, as ranking reads them.
///
/// A commit and its becoming known here are one step for whoever begins to search: both happen
/// inside `paired`, as does the beginning of a search's read transaction.
final class DocumentTable: Sendable {
  /// A document that came.
  struct Arrival {
    let number: Int64
    let key: ObjectKey
    let length: Int64
  }

  /// What a search sees: the documents of one commit of the index.
  struct View: Sendable {
    /// The position of that commit; nil before the first.
    fileprivate(set) var position: IndexPosition?
    fileprivate(set) var documents: [spotlight_document] = []
    fileprivate(set) var aliveCount: Int64 = 0
    fileprivate(set) var aliveTokens: Int64 = 0
  }

  private let pairing = Mutex(())
  private let state = Mutex(View())

  /// Runs what belongs together.
  func paired<Result>(_ body: () throws -> sending Result) rethrows -> sending Result {
    try pairing.withLock { _ in try body() }
  }

  /// The documents now; an array that is shared, so that a batch that becomes known meanwhile makes
  /// a copy.
  var view: View { state.withLock { $0 } }

  /// Makes a batch known: what came and what went with it.
  func apply(_ position: IndexPosition, arrivals: [Arrival], departures: [Int64]) {
    state.withLock { view in
      view.position = position
      for number in departures {
        view.aliveCount -= 1
        view.aliveTokens -= Int64(view.documents[Int(number)].length)
        view.documents[Int(number)] = spotlight_document()
      }
      for arrival in arrivals { Self.add(arrival, to: &view) }
    }
  }

  /// Forgets everything else, for an index that was made anew.
  func replace(_ position: IndexPosition?, arrivals: [Arrival]) {
    let view = View(position, arrivals)
    state.withLock { $0 = view }
  }

  fileprivate static func add(_ arrival: Arrival, to view: inout View) {
    let number = Int(arrival.number)
    while view.documents.count <= number { view.documents.append(spotlight_document()) }
    view.documents[number] = spotlight_document(
      object: arrival.key.object,
      length: UInt32(clamping: arrival.length),
      entity: UInt16(clamping: arrival.key.entity)
    )
    view.aliveCount += 1
    view.aliveTokens += arrival.length
  }

  var aliveCount: Int64 { state.withLock { $0.aliveCount } }

  /// How many numbers belonged to documents that are gone.
  var deadCount: Int64 { state.withLock { Int64($0.documents.count) - $0.aliveCount } }
}

extension DocumentTable.View {
  /// The documents of one commit, all at once.
  init(_ position: IndexPosition?, _ arrivals: [DocumentTable.Arrival]) {
    self.init()
    self.position = position
    for arrival in arrivals { DocumentTable.add(arrival, to: &self) }
  }

  /// Lends the documents to a search.
  ///
  /// - Parameter body: Takes the table's part of a search; it fills in the rest and runs it.
  /// - Returns: What the body answered.
  func withSearch<Result>(_ body: (inout spotlight_search) throws -> Result) rethrows -> Result {
    try unsafe documents.withUnsafeBufferPointer { buffer in
      var search = unsafe spotlight_search()
      unsafe search.documents = buffer.baseAddress
      unsafe search.documentCount = Int64(documents.count)
      unsafe search.aliveCount = aliveCount
      unsafe search.aliveTokens = aliveTokens
      return try unsafe body(&search)
    }
  }

  /// The object of a document; nil for a number that is not in use.
  func key(_ number: Int64) -> ObjectKey? {
    guard documents.indices.contains(Int(number)), documents[Int(number)].entity != 0 else {
      return nil
    }
    let found = documents[Int(number)]
    return ObjectKey(entity: Int(found.entity), object: found.object)
  }
}
