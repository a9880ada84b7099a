package import JSON
package import JSONRPC

/// The whole result of an observed request.
///
/// Each kind of request uses some of the members; all other members are nil.
package struct ObservedResult: WireObject {
  /// The objects, null for an ID without an object.
  package let objects: [JSONValue]?
  package let ids: [String]?
  /// The reasons why objects are null, by ID; for a search, the words that are in no document.
  package let missing: JSONValue?
  /// The number of objects, rows or hits.
  package let count: Int64?
  /// The rows of values.
  package let rows: [JSONValue]?
  package let sections: [FetchCall.Section]?
  /// The included objects, by ID.
  package let included: [JSONMember]?
  /// The number of objects regardless of limit and offset; for a search, the number of all matches.
  package let total: Int64?
  package let transactions: [HistoryCall.Transaction]?
  /// For a search, the history position that the index had reached.
  package let token: String?
  /// For a search, the history position of the titles and objects.
  package let storeToken: String?
  /// Whether there may be more matches of a search than `total`.
  package let totalIsAtLeast: Bool
  /// For a forgiving search, the numbers of matches by class; nil for other requests.
  package let totals: SearchCall.Totals?
  /// For a search, the entities whose objects the index does not have; nil for none.
  package let notIndexed: [String]?
  package let hits: [SearchCall.Hit]?
  /// For a search without hits, the number of hits without each word of the query; nil for none.
  package let omit: [JSONMember]?
  /// For a search without hits, the nearest words of the index for each missing word; nil for none.
  package let instead: [JSONMember]?

  package init(_ json: JSONValue) throws(RPCError) {
    objects = json[.objects]?.array
    ids = try json.optionalTexts(.ids)
    missing = json[.missing]
    count = json.integer(.count)
    rows = json[.rows]?.array
    sections = try json.optionalList(.sections)
    included = json.members(.included)
    total = json.integer(.total)
    transactions = try json.optionalList(.transactions)
    token = json.string(.token)
    storeToken = json.string(.storeToken)
    totalIsAtLeast = json.bool(.totalIsAtLeast)
    totals = try json.optional(.totals)
    notIndexed = try json.optionalTexts(.notIndexed)
    hits = try json.optionalList(.hits)
    omit = json.members(.omit)
    instead = json.members(.instead)
  }

  package var json: JSONValue {
    .present([
      .objects: objects, .ids: ids, .missing: missing, .count: count, .rows: rows,
      .sections: sections, .included: MemberList(included), .total: total,
      .transactions: transactions, .token: token, .storeToken: storeToken,
      .totalIsAtLeast: totalIsAtLeast.ifTrue, .totals: totals,
      .notIndexed: notIndexed, .hits: hits, .omit: MemberList(omit),
      .instead: MemberList(instead),
    ])
  }
}

/// The difference between two results of an observed request.
///
/// Each kind of request uses some of the members; all other members are empty or nil.
package struct ObservedDifference: WireObject {
  /// The objects that differ, for a request by IDs.
  package let objects: [ObjectChange]?
  /// The removed rows by descending offset, for a fetch or a search.
  package let removed: [Removal]?
  /// The new rows by ascending offset, for a fetch or a search.
  package let inserted: [Insertion]?
  /// The rows that differ, for a fetch or a search.
  package let updated: [Replacement]?
  /// The new number of rows, for a fetch or a search.
  package let count: Int64?
  /// All rows, for result `values`.
  package let rows: [JSONValue]?
  /// The new number of objects, regardless of limit and offset.
  package let total: Int64?
  /// Whether there may be more matches of a search than `total`; nil if this is unchanged.
  package let totalIsAtLeast: Bool?
  /// For a forgiving search, the numbers of matches by class; nil if they are the same.
  package let totals: SearchCall.Totals?
  /// The new sections; nil if they are unchanged.
  package let sections: [FetchCall.Section]?
  /// The included objects that differ, by ID.
  package let included: [JSONMember]?
  /// The IDs of the objects that are no longer included.
  package let excluded: [String]?
  /// The new commits, for a history.
  package let transactions: [HistoryCall.Transaction]?
  /// For a search, the history position that the index had reached.
  package let index: String?
  /// Whether the update only signals a change, as in mode `signal`.
  package let isSignal: Bool
  /// The reasons for which the update is sent; nil if not requested.
  package let explanation: [Explanation]?

  package init(_ json: JSONValue) throws(RPCError) {
    objects = try json.optionalList(.objects)
    removed = try json.optionalList(.remove)
    inserted = try json.optionalList(.insert)
    updated = try json.optionalList(.update)
    count = json.integer(.count)
    rows = json[.rows]?.array
    total = json.integer(.total)
    totalIsAtLeast = json[.totalIsAtLeast]?.bool
    totals = try json.optional(.totals)
    sections = try json.optionalList(.sections)
    included = json.members(.included)
    excluded = try json.optionalTexts(.excluded)
    transactions = try json.optionalList(.transactions)
    index = json.string(.index)
    isSignal = json.bool(.signal)
    explanation = try json.optionalList(.explanation)
  }

  package var json: JSONValue {
    .present([
      .objects: objects, .remove: removed, .insert: inserted, .update: updated, .count: count,
      .rows: rows, .total: total, .totalIsAtLeast: totalIsAtLeast, .totals: totals,
      .sections: sections,
      .included: MemberList(included), .excluded: excluded, .transactions: transactions,
      .index: index, .signal: isSignal.ifTrue, .explanation: explanation,
    ])
  }

  /// The change of an object that the request names by its ID.
  package struct ObjectChange: WireObject {
    /// The ID that the request names.
    package let id: String
    /// `insert`, `update` or `delete`.
    package let kind: String
    /// The names of the returned values that may differ; nil for inserts and deletes.
    package let properties: [String]?
    /// The values of `properties` before the change; nil if not requested.
    package let before: [JSONMember]?
    /// The object, null for a deleted object; nil with mode `ids`.
    package let object: JSONValue?
    /// The values of a deleted object that the history retains; nil for none.
    package let last: [JSONMember]?

    package init(_ json: JSONValue) throws(RPCError) {
      id = try json.text(.id)
      kind = try json.text(.change)
      properties = try json.optionalTexts(.properties)
      before = json.members(.before)
      object = json[.object]
      last = json.members(.last)
    }

    package var json: JSONValue {
      .present([
        .id: id, .change: kind, .properties: properties, .before: MemberList(before),
        .object: object, .last: MemberList(last),
      ])
    }
  }

  /// A removed row.
  package struct Removal: WireObject {
    /// The offset in the former rows, after the removals that precede this removal in the list.
    package let offset: Int64
    package let id: String
    /// The new offset of a moved object; nil for an object that left the result.
    package let movedTo: Int64?
    /// Whether the object no longer exists.
    package let isDeleted: Bool
    /// The values of a deleted object that the history retains; nil for none.
    package let last: [JSONMember]?

    package init(_ json: JSONValue) throws(RPCError) {
      offset = try json.count(.offset)
      id = try json.text(.id)
      movedTo = json.integer(.movedTo)
      isDeleted = json.bool(.deleted)
      last = json.members(.last)
    }

    package var json: JSONValue {
      .present([
        .offset: offset, .id: id, .movedTo: movedTo, .deleted: isDeleted.ifTrue,
        .last: MemberList(last),
      ])
    }
  }

  /// A new row.
  package struct Insertion: WireObject {
    /// The offset in the new rows.
    package let offset: Int64
    package let id: String
    /// The former offset of a moved object; nil for an object that entered the result.
    package let movedFrom: Int64?
    /// The object, or the hit of a search; nil with mode `ids`.
    package let object: JSONValue?

    package init(_ json: JSONValue) throws(RPCError) {
      offset = try json.count(.offset)
      id = try json.text(.id)
      movedFrom = json.integer(.movedFrom)
      object = json[.object]
    }

    package var json: JSONValue {
      .present([.offset: offset, .id: id, .movedFrom: movedFrom, .object: object])
    }
  }

  /// A row that differs.
  package struct Replacement: WireObject {
    /// The offset in the new rows.
    package let offset: Int64
    package let id: String
    /// The names of the returned values that may differ.
    package let properties: [String]
    /// The values of `properties` before the change; nil if not requested.
    package let before: [JSONMember]?
    /// The object, or the hit of a search.
    package let object: JSONValue

    package init(_ json: JSONValue) throws(RPCError) {
      offset = try json.count(.offset)
      id = try json.text(.id)
      properties = try json.texts(.properties)
      before = json.members(.before)
      object = json[.object] ?? .null
    }

    package var json: JSONValue {
      .present([
        .offset: offset, .id: id, .properties: properties, .before: MemberList(before),
        .object: object,
      ])
    }
  }

  /// A change that caused an update, and the effect of the change.
  package struct Explanation: WireObject {
    /// The object that changed.
    package let id: String
    /// The changed property, or a key path that ends with this property.
    package let path: String
    /// The term of the predicate whose value the change altered; nil for none.
    package let term: String?
    /// The former value of the term; nil if it is unknown.
    package let was: Bool?
    /// The new value of the term; nil if it is unknown.
    package let isNow: Bool?
    /// The evaluator of the term, `memory` or `sql`; nil without a term.
    package let decidedBy: String?
    /// The part of the fetch that reads the property, if the change altered no term.
    package let reads: String?

    package init(_ json: JSONValue) throws(RPCError) {
      id = try json.text(.id)
      path = try json.text(.path)
      term = json.string(.term)
      was = json[.was]?.bool
      isNow = json[.is]?.bool
      decidedBy = json.string(.decidedBy)
      reads = json.string(.reads)
    }

    package var json: JSONValue {
      .present([
        .id: id, .path: path, .term: term, .was: was, .is: isNow, .decidedBy: decidedBy,
        .reads: reads,
      ])
    }
  }
}

/// `changes`: the updates of all subscriptions of a connection, in one message or in parts.
package struct ChangesNotification: WireObject {
  package static let name = MethodName.changes

  /// The history position before the changes; nil if a mock's script omits it.
  package let from: String?
  /// The history position after the changes; nil if another part follows.
  package let token: String?
  /// The authors of the commits between `from` and `token`, nil for a commit without an author; the
  /// list is nil if another part follows.
  package let authors: [String?]?
  /// Whether another part of the same changes follows.
  package let hasMore: Bool
  /// The updates, ordered by subscription.
  package let updates: [Update]

  package init(_ json: JSONValue) throws(RPCError) {
    from = json.string(.from)
    token = json.string(.token)
    authors = json[.authors]?.array?.map(\.string)
    hasMore = json.bool(.more)
    updates = try json.list(.updates)
  }

  package var json: JSONValue {
    .present([
      .from: from, .token: token, .authors: authors?.map { Nullable($0).json },
      .more: hasMore.ifTrue, .updates: updates,
    ])
  }

  /// The update of a subscription.
  package struct Update: WireObject {
    /// The name of the subscription.
    package let subscription: String
    /// The update with all its members; `ObservedDifference` reads the same members.
    package private(set) var json: JSONValue

    package init(_ json: JSONValue) throws(RPCError) {
      subscription = try json.text(.subscription)
      self.json = json
    }

    /// Whether the client must replace its whole result with `result`.
    package var isFresh: Bool { json.bool(.fresh) }

    /// The whole result, in the form of `ObservedResult`; nil for a difference.
    package var result: JSONValue? { json[.result] }

    /// The error that ended the subscription; nil for a subscription that continues.
    package var error: JSONValue? { json[.error] }

    /// Appends the next part of the same update: joins lists, and merges the members of objects.
    package mutating func append(_ part: Update) { json = Self.joined(json, part.json) }

    private static func joined(_ whole: JSONValue, _ part: JSONValue) -> JSONValue {
      switch (whole, part) {
      case (.array(let first), .array(let second)): return .array(first + second)
      case (.object(var members), .object(let others)):
        for other in others {
          if let index = members.firstIndex(where: { $0.name == other.name }) {
            members[index].value = joined(members[index].value, other.value)
          } else {
            members.append(other)
          }
        }
        return .object(members)
      default: return part
      }
    }
  }
}
