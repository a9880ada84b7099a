package import JSON

/// The names of the members of requests, results, notifications and errors.
///
/// Inside the values of an object, members have the names of properties instead.
package enum MemberName: String, Sendable, CaseIterable {
  case activity, after, arguments, asOf, at, author, authors, base, before, behind, bound, bytes
  case cancellable, capabilities, change, changes, checked, client, clientInfo, coalesce, code
  case commits, conflicts, connection, connections, context, cordial, count, data, dead
  case decidedBy, `default`, delete, deleted, differences, disconnected, distinct, documents
  case done, dryRun, durability, entities, entity, error, examples, excluded, existing, expected
  case expired, explain, explanation, facets, features, fetch, filter, fire, first, followers
  case foreign, found, frequency, fresh, from, fuzzy, groupBy, hash, having, heldBy, highlight
  case highlights, hint, history, hits, holders, id, ids, include, included, index
  case initializationOptions, insert, instead, integers, `is`, keep, key, keys, kind, last
  case leftOut, limit, limits, locale, matching, max, merged, mergePolicy, message, microseconds
  case microsecondsMax, migrating, mismatch, missing, mode, model, more, movedFrom, movedTo
  case name, nearest, next, object, objects, observing, offset, oldest, omit, others, path
  case percentage, positionEncoding, postings, predicate, prefix, problems, process, processId
  case processorMicroseconds, properties, property, protocolVersion, query, rank, read, readings
  case readOnly, reads, reason, relationship, remove, removed, request, reruns, result
  case returning, rootPath, rootUri, rows, rule, score, search, seconds, sectionBy, sections
  case seen, select, serverInfo, set, share, signal, since, skipped, slowSorts, snippet, sort
  case state, statements, store, storeToken, subentities, subscription, subscriptions
  case suggestions, template, term, text, time, timeoutSeconds, title, to, token
  case tookMicroseconds, total, totalIsAtLeast, trace, transaction, transactions, undone
  case unsealed, unusedIndexes, update, updates, value, values, version, wakes, was, what, why
  case word, workDoneToken, workspaceFolders
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
