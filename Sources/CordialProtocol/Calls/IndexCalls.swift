package import JSON
package import JSONRPC

/// The params of `index/status`: reports the position and the state of the search index.
package struct IndexStatusCall: CallWithoutParams {
  package static let name = MethodName.indexStatus

  /// Creates a request.
  package init() {}

  /// The position and the state of the search index.
  package struct Result: WireObject {
    /// The history position that the index has reached.
    package let token: String
    /// The number of commits after that position.
    package let behind: Int64
    /// The number of indexed objects.
    package let documents: Int64
    /// The share of obsolete documents in all documents of the index, from 0 to 1.
    package let dead: Double
    /// The size of the index on disk, in bytes.
    package let bytes: Int64
    /// `ready`, `catchingUp`, `rebuilding`, `paused` or `failed`.
    package let state: String
    /// The oldest commit whose state can be searched.
    package let oldest: String
    /// The processor time that the index has used.
    package let processorMicroseconds: Int64
    /// The reason for a pause: `requested` or `diskFull`; nil for an index that is not paused.
    package var reason: String?
    /// The current activity of the index; nil for an idle index.
    package var activity: String?
    /// The file of synonyms; nil for a store without one.
    package var synonyms: SynonymFile?

    /// Creates a result.
    package init(
      token: String,
      behind: Int64,
      documents: Int64,
      dead: Double,
      bytes: Int64,
      state: String,
      oldest: String,
      processorMicroseconds: Int64
    ) {
      self.token = token
      self.behind = behind
      self.documents = documents
      self.dead = dead
      self.bytes = bytes
      self.state = state
      self.oldest = oldest
      self.processorMicroseconds = processorMicroseconds
    }

    package init(_ json: JSONValue) throws(RPCError) {
      token = try json.text(.token)
      behind = try json.count(.behind)
      documents = try json.count(.documents)
      dead = try json.double(.dead)
      bytes = try json.count(.bytes)
      state = try json.text(.state)
      oldest = try json.text(.oldest)
      processorMicroseconds = try json.count(.processorMicroseconds)
      reason = json.string(.reason)
      activity = json.string(.activity)
      synonyms = try json.optional(.synonyms)
    }

    package var json: JSONValue {
      .present([
        .token: token, .behind: behind, .documents: documents, .dead: dead, .bytes: bytes,
        .state: state, .oldest: oldest, .processorMicroseconds: processorMicroseconds,
        .reason: reason, .activity: activity, .synonyms: synonyms?.json,
      ])
    }
  }

  /// The file `synonyms.txt` in the folder of a store.
  package struct SynonymFile: WireObject {
    /// The count of lists of the file that searches use.
    package let lists: Int64
    /// The time at which the service read the file, RFC 3339.
    package let read: String
    /// Why no list of the file is used; nil for a file without faults.
    package let problem: String?

    /// Creates a description.
    package init(lists: Int64, read: String, problem: String?) {
      self.lists = lists
      self.read = read
      self.problem = problem
    }

    package init(_ json: JSONValue) throws(RPCError) {
      lists = try json.count(.lists)
      read = try json.text(.read)
      problem = json.string(.problem)
    }

    package var json: JSONValue {
      .present([.lists: lists, .read: read, .problem: problem])
    }
  }
}

/// The params of `index/verify`: compares the index with the store.
package struct IndexVerifyCall: CallWithoutParams {
  package static let name = MethodName.verifyIndex

  /// Creates a request.
  package init() {}

  /// The differences between the index and the store.
  package struct Result: WireObject {
    /// The history position at which the service compared the index with the store.
    package let token: String
    /// The number of compared objects.
    package let checked: Int64
    /// The differences, at most 100.
    package let differences: [Difference]

    /// Creates a result.
    package init(token: String, checked: Int64, differences: [Difference]) {
      self.token = token
      self.checked = checked
      self.differences = differences
    }

    package init(_ json: JSONValue) throws(RPCError) {
      token = try json.text(.token)
      checked = try json.count(.checked)
      differences = try json.list(.differences)
    }

    package var json: JSONValue {
      .present([.token: token, .checked: checked, .differences: differences])
    }
  }

  /// An object that differs between the index and the store.
  package struct Difference: WireObject {
    package let id: String
    /// `missing`, `leftover` or `different`.
    package let kind: String

    /// Creates a difference.
    package init(id: String, kind: String) {
      self.id = id
      self.kind = kind
    }

    package init(_ json: JSONValue) throws(RPCError) {
      id = try json.text(.id)
      kind = try json.text(.what)
    }

    package var json: JSONValue { .present([.id: id, .what: kind]) }
  }
}

/// The params of `index/rebuild`: builds a new index next to the old index.
package struct IndexRebuildCall: CallWithoutParams {
  package static let name = MethodName.rebuildIndex

  /// Creates a request.
  package init() {}

  /// The new index.
  package struct Result: WireObject {
    /// The history position that the new index has reached.
    package let token: String
    /// The number of indexed objects.
    package let documents: Int64
    /// The size of the new index on disk, in bytes.
    package let bytes: Int64

    /// Creates a result.
    package init(token: String, documents: Int64, bytes: Int64) {
      self.token = token
      self.documents = documents
      self.bytes = bytes
    }

    package init(_ json: JSONValue) throws(RPCError) {
      token = try json.text(.token)
      documents = try json.count(.documents)
      bytes = try json.count(.bytes)
    }

    package var json: JSONValue {
      .present([.token: token, .documents: documents, .bytes: bytes])
    }
  }
}

/// The result of `index/pause` and `index/resume`.
package struct IndexStateResult: WireObject {
  /// The history position that the index has reached.
  package let token: String
  /// The state of the index after the request.
  package let state: String

  /// Creates a result.
  package init(token: String, state: String) {
    self.token = token
    self.state = state
  }

  package init(_ json: JSONValue) throws(RPCError) {
    token = try json.text(.token)
    state = try json.text(.state)
  }

  package var json: JSONValue { .present([.token: token, .state: state]) }
}

/// The params of `index/pause`: stops the index at its position.
package struct IndexPauseCall: CallWithoutParams {
  package typealias Result = IndexStateResult

  package static let name = MethodName.pauseIndex

  /// Creates a request.
  package init() {}
}

/// The params of `index/resume`: lets a paused index follow the history again.
package struct IndexResumeCall: CallWithoutParams {
  package typealias Result = IndexStateResult

  package static let name = MethodName.resumeIndex

  /// Creates a request.
  package init() {}
}
