package import JSON
package import JSONRPC

/// The params of `store/backup`: copies the store while clients use it.
package struct BackupCall: Call {
  package static let name = MethodName.backupStore

  /// The absolute path of a folder that does not exist.
  package let path: String

  /// Creates a request.
  package init(path: String) { self.path = path }

  package init(_ json: JSONValue) throws(RPCError) {
    var path = try json.text(.path)
    while path.utf8.count > 1, path.utf8.last == UInt8(ascii: "/") { path.removeLast() }
    self.path = path
    guard path.hasPrefix("/"), !path.utf8.contains(0) else {
      throw RPCError(.invalidParams, "store/backup: path is not an absolute path")
    }
  }

  package var json: JSONValue { .present([.path: path]) }

  /// The copy.
  package struct Result: WireObject {
    /// The path of the copy, which is a complete store.
    package let path: String
    /// The position of the copy in this store's history.
    package let token: String
    /// The size of the copy, in bytes.
    package let bytes: Int64

    /// Creates a result.
    package init(path: String, token: String, bytes: Int64) {
      self.path = path
      self.token = token
      self.bytes = bytes
    }

    package init(_ json: JSONValue) throws(RPCError) {
      path = try json.text(.path)
      token = try json.text(.token)
      bytes = try json.count(.bytes)
    }

    package var json: JSONValue { .present([.path: path, .token: token, .bytes: bytes]) }
  }
}

/// The params of `store/verify`: checks that the store is consistent.
package struct VerifyCall: CallWithoutParams {
  package static let name = MethodName.verifyStore

  /// Creates a request.
  package init() {}

  /// The result of the check.
  package struct Result: WireObject {
    /// The history position at which the service checked the store.
    package let token: String
    /// The number of checked objects.
    package let checked: Int64
    /// The problems, at most 1000.
    package let problems: [Problem]
    /// The tables, indexes, triggers and views that other programs added; nil for none.
    package let foreign: [ForeignPart]?

    package init(_ json: JSONValue) throws(RPCError) {
      token = try json.text(.token)
      checked = try json.count(.checked)
      problems = try json.list(.problems)
      foreign = try json.optionalList(.foreign)
    }

    package var json: JSONValue {
      .present([.token: token, .checked: checked, .problems: problems, .foreign: foreign])
    }
  }

  /// A problem of the store.
  package struct Problem: WireObject {
    /// `file`, `schema`, `dangling`, `count`, `version` or another kind.
    package let kind: String
    /// The problem, in one sentence.
    package let message: String
    /// The ID of the object with the problem; nil for a problem of the store.
    package let id: String?
    /// The property with the problem; nil for a problem of the object or the store.
    package let property: String?

    package init(_ json: JSONValue) throws(RPCError) {
      kind = try json.text(.what)
      message = try json.text(.message)
      id = json.string(.id)
      property = json.string(.property)
    }

    package var json: JSONValue {
      .present([.what: kind, .message: message, .id: id, .property: property])
    }
  }

  /// A part that another program added to the store's file.
  package struct ForeignPart: WireObject {
    /// `table`, `index`, `trigger` or `view`.
    package let kind: String
    package let name: String

    package init(_ json: JSONValue) throws(RPCError) {
      kind = try json.text(.what)
      name = try json.text(.name)
    }

    package var json: JSONValue { .present([.what: kind, .name: name]) }
  }
}

/// The params of `store/compact`: reclaims unused disk space.
package struct CompactCall: CallWithoutParams {
  package static let name = MethodName.compactStore

  /// Creates a request.
  package init() {}

  /// The sizes of the store, in bytes.
  package struct Result: WireObject {
    package let before: Int64
    package let after: Int64

    /// Creates a result.
    package init(before: Int64, after: Int64) {
      self.before = before
      self.after = after
    }

    package init(_ json: JSONValue) throws(RPCError) {
      before = try json.count(.before)
      after = try json.count(.after)
    }

    package var json: JSONValue { .present([.before: before, .after: after]) }
  }
}
