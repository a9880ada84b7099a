import CordialProtocol
import JSON
import ObjectModel
import PersistentStore
import Spotlight

/// The members of a response that say what a search forgave, and why it found nothing.
extension SearchAnswer {
  /// Returns the members of a response that tell which classes and entities were searched.
  func classes(_ result: SearchResult) -> [(name: MemberName, value: JSONValue)] {
    var members: [(name: MemberName, value: JSONValue)] = []
    if !result.totals.isEmpty {
      let totals = Dictionary(uniqueKeysWithValues: result.totals.map { ($0.hitClass, $0.total) })
      let counts = SearchCall.Totals(
        exact: totals[.exact],
        forms: totals[.forms],
        mistakes: totals[.mistakes],
        partial: totals[.partial]
      )
      members.append((.totals, counts.json))
    }
    let unindexed = (call.entities ?? []).filter { name in
      snapshot.model.entities.contains { $0.name == name && $0.spotlight == nil }
    }
    if !unindexed.isEmpty {
      members.append((.notIndexed, .array(unindexed.map { .string($0) })))
    }
    return members
  }

  /// Returns the members of a hit that tell which words it has in another form or lacks.
  func forgiven(
    _ hit: SearchResult.Hit,
    _ texts: [(property: String, text: String)],
    _ highlighter: Highlighter
  ) -> [(name: MemberName, value: JSONValue)] {
    guard hit.hitClass != .exact else { return [] }
    var members: [(name: MemberName, value: JSONValue)] = [
      (.class, .integer(Int64(hit.hitClass.rawValue)))
    ]
    let (matched, missing) = highlighter.forgiven(hit, in: texts)
    if !matched.isEmpty { members.append((.matched, Self.wire(matched).json)) }
    if !missing.isEmpty { members.append((.missing, .array(missing.map { .string($0) }))) }
    return members
  }

  static func wire(_ matched: [Highlighter.MatchedWord]) -> [SearchCall.MatchedWord] {
    matched.map { .init(word: $0.word, form: $0.form, kind: $0.kindName) }
  }

  /// Returns the members of a response that explain why some words have no hits.
  static func reasons(_ result: SearchResult) -> [(name: MemberName, value: JSONValue)] {
    var reasons: [(name: MemberName, value: JSONValue)] = []
    if !result.omit.isEmpty {
      let totals = result.omit.map { JSONMember($0.word, .integer($0.total)) }
      reasons.append((.omit, .object(totals)))
    }
    if !result.missing.isEmpty {
      reasons.append((.missing, .array(result.missing.map { .string($0) })))
    }
    if !result.instead.isEmpty {
      let nearest = result.instead.map { word, nearest in
        JSONMember(word, .array(nearest.map { .string($0) }))
      }
      reasons.append((.instead, .object(nearest)))
    }
    return reasons
  }
}
