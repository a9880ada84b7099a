package import JSON

/// The names of the members of requests, results, notifications and errors.
///
/// Inside the values of an object, members have the names of properties instead.
package enum MemberName: String, Sendable, CaseIterable {
  case activity, after, arguments, `as`, asOf, at, author, authors
  case base, before, behind, bound, bytes, cancellable, capabilities, change, changes, checked
  case `class`, client, clientInfo, coalesce, code, commits, conflicts, connection, connections
  case context, cordial, count, data, dead, decidedBy, `default`, delete, deleted, differences
  case disconnected, distinct, documents, done, dryRun, durability
  case entities, entity, error, examples, excluded, existing, expected, exact, expired, explain
  case explanation, facets, features, fetch, filter, fire, first, followers, foreign, forms
  case found, frequency, fresh, from, fuzzy, groupBy, hash, having, heldBy, highlight
  case highlights, hint, history, hits, holders, how, id, ids, include, included, index
  case initializationOptions, insert, instead, integers, `is`
  case keep, key, keys, kind, last, leftOut, limit, limits, lists, locale
  case match, matched, matching, max, merged, mergePolicy, message, microseconds
  case microsecondsMax, migrating, mismatch, missing, mistakes, mode, model, more, movedFrom
  case movedTo, name, nearest, next, notIndexed, object, objects, observing, offset, oldest
  case omit, others, partial, path, percentage, positionEncoding, postings, predicate, prefix
  case problem, problems, process, processId, processorMicroseconds, properties, property
  case protocolVersion, query, rank, read, readings, readOnly, reads, reason, relationship
  case remove, removed, request, reruns, result, returning, rootPath, rootUri, rows, rule
  case score, search, seconds, sectionBy, sections, seen, select, serverInfo, set, share, signal
  case since, skipped, slowSorts, snippet, sort, state, statements, store, storeToken
  case subentities, subscription, subscriptions, suggestions, synonyms, template, term, text, time
  case timeoutSeconds, title, to, token, tookMicroseconds, total, totalIsAtLeast, totals, trace
  case transaction, transactions, undone, unsealed, unusedIndexes, update, updates
  case value, values, version, wakes, was, what, why, word, workDoneToken, workspaceFolders
}

extension JSONValue {
  /// Returns the value of the last member that has this name; nil if there is none.
  package subscript(name: MemberName) -> JSONValue? { self[name.rawValue] }

  /// Creates an object with these members.
  package static func object(_ members: KeyValuePairs<MemberName, JSONValue>) -> JSONValue {
    .object(members.map { JSONMember($0.key, $0.value) })
  }
}

extension JSONMember {
  /// Creates a member with a name and a value.
  package init(_ name: MemberName, _ value: JSONValue) {
    self.init(name.rawValue, value)
  }

  /// Returns whether the member has one of these names.
  package func isOne(of names: MemberName...) -> Bool {
    names.contains { $0.rawValue == name }
  }
}

extension JSONWriter {
  /// Appends the name of a member and a colon.
  ///
  /// - Parameters:
  ///   - name: The name.
  ///   - prefix: The text before the name: a comma or a bracket.
  package mutating func key(_ name: MemberName, after prefix: StaticString = "") {
    plainName(name.rawValue, after: prefix)
  }
}
