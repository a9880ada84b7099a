package import JSON
package import JSONRPC

/// The whole result of an observed request.
///
/// Each kind of request has some of the members; the others are nil.
package struct ObservedResult: WireObject {
  /// The objects, null for an ID without an object.
  package let objects: [JSONValue]?
  package let ids: [String]?
  /// Why objects are null, by ID; of a search, the words that are in no document.
  package let missing: JSONValue?
  /// The number of objects, rows or hits.
  package let count: Int64?
  /// The rows of values.
  package let rows: [JSONValue]?
  package let sections: [FetchCall.Section]?
  /// The included objects, by ID.
  package let included: [JSONMember]?
  /// The number without limit and offset; of a search, of all matches.
  package let total: Int64?
  package let transactions: [HistoryCall.Transaction]?
  /// Of a search: the position of the index.
  package let token: String?
  /// Of a search: the position of titles and objects.
  package let storeToken: String?
  /// Of a search: whether there may be more than `total`.
  package let totalIsAtLeast: Bool
  package let hits: [SearchCall.Hit]?
  /// Of a search without hits: how many there are without a word.
  package let omit: [JSONMember]?
  /// Of a search without hits: the nearest words of the index, by missing word.
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
    hits = try json.optionalList(.hits)
    omit = json.members(.omit)
    instead = json.members(.instead)
  }

  package var json: JSONValue {
    .present([
      .objects: objects, .ids: ids, .missing: missing, .count: count, .rows: rows,
      .sections: sections, .included: MemberList(included), .total: total,
      .transactions: transactions, .token: token, .storeToken: storeToken,
      .totalIsAtLeast: totalIsAtLeast.ifTrue, .hits: hits, .omit: MemberList(omit),
      .instead: MemberList(instead),
    ])
  }
}

/// The difference between two results of an observed request.
///
/// Each kind of request has some of the members; the others are empty or nil.
package struct ObservedDifference: WireObject {
  /// Of IDs: the objects that differ.
  package let objects: [ObjectChange]?
  /// Of a fetch or a search: the removed rows, by descending offset.
  package let removed: [Removal]?
  /// Of a fetch or a search: the new rows, by ascending offset.
  package let inserted: [Insertion]?
  /// Of a fetch or a search: the rows that differ.
  package let updated: [Replacement]?
  /// Of a fetch or a search: the new number of rows.
  package let count: Int64?
  /// With result `values`: all rows.
  package let rows: [JSONValue]?
  /// The new number without limit and offset.
  package let total: Int64?
  /// Of a search: whether there may be more than `total`; nil where that is the same.
  package let totalIsAtLeast: Bool?
  /// The new sections; nil where they are the same.
  package let sections: [FetchCall.Section]?
  /// The included objects that differ, by ID.
  package let included: [JSONMember]?
  /// The objects that are no longer included.
  package let excluded: [String]?
  /// Of history: the commits.
  package let transactions: [HistoryCall.Transaction]?
  /// Of a search: the position of the index.
  package let index: String?
  /// With mode `signal`: true.
  package let isSignal: Bool
  /// Why the update is sent; nil where that was not requested.
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
      .rows: rows, .total: total, .totalIsAtLeast: totalIsAtLeast, .sections: sections,
      .included: MemberList(included), .excluded: excluded, .transactions: transactions,
      .index: index, .signal: isSignal.ifTrue, .explanation: explanation,
    ])
  }

  /// The change of an object of a list of IDs.
  package struct ObjectChange: WireObject {
    /// The ID that the request names.
    package let id: String
    /// `insert`, `update` or `delete`.
    package let kind: String
    /// The returned values that may differ; nil for inserts and deletes.
    package let properties: [String]?
    /// Their values before the change; nil where they were not requested.
    package let before: [JSONMember]?
    /// The object, null for a deleted one; nil with mode `ids`.
    package let object: JSONValue?
    /// The values that a deletion keeps; nil for none.
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
    /// The position in the former rows, without the removed rows before this one in the list.
    package let offset: Int64
    package let id: String
    /// The new position of a moved object; nil for an object that left the result.
    package let movedTo: Int64?
    /// Whether the object does not exist any more.
    package let isDeleted: Bool
    /// The values that a deletion keeps; nil for none.
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
    /// The position in the new rows.
    package let offset: Int64
    package let id: String
    /// The former position of a moved object; nil for an object that entered the result.
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
    /// The position in the new rows.
    package let offset: Int64
    package let id: String
    /// The returned values that may differ.
    package let properties: [String]
    /// Their values before the change; nil where they were not requested.
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

  /// A change behind an update, and what it altered.
  package struct Explanation: WireObject {
    /// The object that changed.
    package let id: String
    /// Its property, or the key path that ends with it.
    package let path: String
    /// The term of the predicate that has another value; nil for none.
    package let term: String?
    /// The former value of the term; nil where it is not known.
    package let was: Bool?
    /// The value of the term; nil where it is not known.
    package let isNow: Bool?
    /// What has evaluated the term, `memory` or `sql`; nil without one.
    package let decidedBy: String?
    /// The part of the fetch that reads the property, where no term has another value.
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

  /// The position before the changes; nil if the script of a mock leaves it out.
  package let from: String?
  /// The position after the changes; nil where more follows.
  package let token: String?
  /// The authors of the commits in between, nil for a commit without one; nil where more follows.
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
    /// The update with all its members, which `ObservedDifference` reads too.
    package private(set) var json: JSONValue

    package init(_ json: JSONValue) throws(RPCError) {
      subscription = try json.text(.subscription)
      self.json = json
    }

    /// Whether the client starts over from `result`.
    package var isFresh: Bool { json.bool(.fresh) }

    /// The whole result, as `ObservedResult` reads it; nil for a difference.
    package var result: JSONValue? { json[.result] }

    /// The error that ended the subscription; nil for one that goes on.
    package var error: JSONValue? { json[.error] }

    /// Appends another part of the same update: lists are appended, and objects are united.
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
