import CordialProtocol
import CordialValues
import JSON
import JSONRPC
import ObjectModel
import PersistentStore
import Spotlight

/// The result of an observed search at one position of the index.
final class ObservedSearch: Sendable {
  struct Hit: Sendable {
    let key: ObjectKey
    /// The ID of the object.
    let id: String
    /// The hit in the form that `search` returns.
    let bytes: [UInt8]
  }

  /// The position of the search index at which the hits were found.
  let token: StoreToken
  /// The position of the store at which titles and objects were read.
  let storeToken: StoreToken
  let total: Int64
  /// Whether there may be more hits than `total`.
  let isAtLeast: Bool
  /// The response members that say how many objects of each class and which entities were searched.
  let classes: [(name: MemberName, value: JSONValue)]
  let hits: [Hit]
  /// The response members that explain why words of the query find nothing.
  let reasons: [(name: MemberName, value: JSONValue)]
  /// The synonyms of a forgiving search.
  let synonyms: UsedSynonyms

  init(
    token: StoreToken,
    storeToken: StoreToken,
    total: Int64,
    isAtLeast: Bool,
    classes: [(name: MemberName, value: JSONValue)],
    hits: [Hit],
    reasons: [(name: MemberName, value: JSONValue)],
    synonyms: UsedSynonyms
  ) {
    self.token = token
    self.storeToken = storeToken
    self.total = total
    self.isAtLeast = isAtLeast
    self.classes = classes
    self.hits = hits
    self.reasons = reasons
    self.synonyms = synonyms
  }

  /// Writes the members of the whole result.
  ///
  /// - Throws: `limitExceeded` when the writer's limit is exceeded.
  func write(_ mode: ObserveCall.Mode, to out: inout UpdateWriter) throws {
    try out.member(.token) { $0.string(token.description) }
    try out.member(.storeToken) { $0.string(storeToken.description) }
    try out.member(.total) { $0.integer(total) }
    if isAtLeast { try out.member(.totalIsAtLeast) { $0.bool(true) } }
    for (name, value) in classes { try out.member(name) { $0.value(value) } }
    out.beginList(mode == .ids ? .ids : .hits)
    for hit in hits {
      try out.element { writer in
        if mode == .ids { writer.string(hit.id) } else { writer.raw(hit.bytes) }
      }
    }
    out.endList()
    try out.member(.count) { $0.integer(Int64(hits.count)) }
    for (name, reason) in reasons {
      try out.member(name) { $0.value(reason) }
    }
  }

  /// Returns the result as of a search with other synonyms, after which a client starts over.
  func withOtherSynonyms() -> ObservedSearch {
    ObservedSearch(
      token: token,
      storeToken: storeToken,
      total: total,
      isAtLeast: isAtLeast,
      classes: classes,
      hits: hits,
      reasons: reasons,
      synonyms: UsedSynonyms(digest: "other", after: 0)
    )
  }

  /// Returns whether this result differs for the client from an earlier result.
  func differs(from other: ObservedSearch, _ mode: ObserveCall.Mode) throws -> Bool {
    try synonyms.digest != other.synonyms.digest
      || total != other.total || isAtLeast != other.isAtLeast
      || !classes.elementsEqual(other.classes, by: { $0 == $1 })
      || !hits.map(\.key).elementsEqual(other.hits.map(\.key))
      || mode != .ids
        && zip(hits, other.hits).contains { try !$0.difference(from: $1).isEmpty }
  }
}

extension ObservedSearch.Hit {
  /// Returns the names of the members that differ, in their order; scores are ignored.
  ///
  /// - Parameter other: An earlier hit of the same object.
  /// - Returns: The names; empty for hits that are equal for a client.
  /// - Throws: `JSONError`.
  func difference(from other: ObservedSearch.Hit) throws -> [String] {
    guard bytes != other.bytes else { return [] }
    let new = try JSONParser.parse(bytes.span).members ?? []
    let old = try JSONParser.parse(other.bytes.span).members ?? []
    var names = new.filter { member in
      !member.isOne(of: .score) && old.first { $0.name == member.name }?.value != member.value
    }.map(\.name)
    names += old.map(\.name).filter { name in !new.contains { $0.name == name } }
    return names
  }
}

/// The updates of observed searches.
extension UpdateBuilder {
  /// Returns the update from one result of a search to another.
  func search(
    from old: ObservedSearch,
    to new: ObservedSearch,
    isLimited: Bool
  ) throws -> ResultUpdate {
    let mode = observation.request.mode
    guard try new.differs(from: old, mode) else { return .same }
    guard mode != .signal else { return .difference(.signal) }
    guard new.synonyms.digest == old.synonyms.digest else { return .startsOver(.synonyms) }
    let sequence = try Self.sequence(old, new)
    let updates = mode == .values ? try Self.updates(sequence, from: old, to: new) : []
    let elementCount = sequence.removals.count + sequence.insertions.count + updates.count
    if isLimited, elementCount > new.hits.count { return .startsOver(.larger) }
    let body = try body { out in
      try write(sequence, old, new, &out)
      if mode == .values { try write(updates, &out) }
      try out.member(.count) { $0.integer(Int64(new.hits.count)) }
      if new.total != old.total { try out.member(.total) { $0.integer(new.total) } }
      if new.isAtLeast != old.isAtLeast {
        try out.member(.totalIsAtLeast) { $0.bool(new.isAtLeast) }
      }
      for (name, value) in new.classes
      where !old.classes.contains(where: { $0 == (name, value) }) {
        try out.member(name) { $0.value(value) }
      }
      try out.member(.index) { $0.string(new.token.description) }
    }
    return .difference(body)
  }

  private func write(_ updates: [HitUpdate], _ out: inout UpdateWriter) throws {
    out.beginList(.update)
    for update in updates {
      try out.element { writer in
        Self.begin(update.offset, update.hit, &writer)
        writer.key(.properties, after: ",")
        writer.value(.array(update.properties.map { .string($0) }))
        writer.key(.object, after: ",")
        writer.raw(update.hit.bytes)
        writer.raw("}")
      }
    }
    out.endList()
  }

  /// A hit that is in both results, with the names of its members that differ.
  private typealias HitUpdate = (offset: Int, hit: ObservedSearch.Hit, properties: [String])

  /// Returns the hits that are in both results and differ, with the names of the differing members.
  private static func updates(
    _ sequence: SequenceDifference,
    from old: ObservedSearch,
    to new: ObservedSearch
  ) throws -> [HitUpdate] {
    let former = Dictionary(old.hits.map { ($0.key, $0) }, uniquingKeysWith: { first, _ in first })
    let inserted = Set(sequence.insertions.map(\.offset))
    var updates: [HitUpdate] = []
    for (offset, hit) in new.hits.enumerated() where !inserted.contains(offset) {
      guard let properties = try former[hit.key].map({ try hit.difference(from: $0) }),
        !properties.isEmpty
      else { continue }
      updates.append((offset, hit, properties))
    }
    return updates
  }

  private func write(
    _ sequence: SequenceDifference,
    _ old: ObservedSearch,
    _ new: ObservedSearch,
    _ out: inout UpdateWriter
  ) throws {
    out.beginList(.remove)
    for removal in sequence.removals {
      let hit = old.hits[removal.offset]
      try out.element { writer in
        Self.begin(removal.offset, hit, &writer)
        if let offset = removal.movedTo {
          writer.key(.movedTo, after: ",")
          writer.integer(Int64(offset))
        } else if try !snapshot.exists(hit.key) {
          writer.key(.deleted, after: ",")
          writer.raw("true")
        }
        writer.raw("}")
      }
    }
    out.endList()
    out.beginList(.insert)
    for insertion in sequence.insertions {
      let hit = new.hits[insertion.offset]
      try out.element { writer in
        Self.begin(insertion.offset, hit, &writer)
        if let offset = insertion.movedFrom {
          writer.key(.movedFrom, after: ",")
          writer.integer(Int64(offset))
        }
        if observation.request.mode == .values {
          writer.key(.object, after: ",")
          writer.raw(hit.bytes)
        }
        writer.raw("}")
      }
    }
    out.endList()
  }

  private static func begin(_ offset: Int, _ hit: ObservedSearch.Hit, _ writer: inout JSONWriter) {
    writer.key(.offset, after: "{")
    writer.integer(Int64(offset))
    writer.key(.id, after: ",")
    writer.string(hit.id)
  }

  /// Returns the difference of two lists of hits.
  ///
  /// The method assigns a number to each object.
  ///
  /// The hits may have several entities, so that the store's object numbers do not identify the
  /// objects.
  private static func sequence(
    _ old: ObservedSearch,
    _ new: ObservedSearch
  ) throws -> SequenceDifference {
    var numbers: [ObjectKey: Int64] = [:]
    func sequence(_ search: ObservedSearch) -> ObjectSequence {
      var found: Set<ObjectKey> = []
      return ObjectSequence(
        search.hits.enumerated().map { offset, hit in
          let number = numbers[hit.key] ?? Int64(numbers.count)
          numbers[hit.key] = number
          // A damaged index may return an object twice, until the index is rebuilt. The repeated
          // hit receives a negative number that no other hit has.
          return found.insert(hit.key).inserted ? number : -1 - Int64(offset)
        }
      )
    }
    return try SequenceDifference(from: sequence(old), to: sequence(new))
  }
}
