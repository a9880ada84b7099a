package import JSON
package import JSONRPC

/// The rules for the names of followers.
private enum FollowerName {
  /// Reads the name of a follower.
  static func read(_ json: JSONValue) throws(RPCError) -> String {
    let name = try json.text(.name)
    guard (1...200).contains(name.utf8.count), !name.utf8.contains(0) else {
      throw RPCError(.invalidParams, "A follower's name has 1 to 200 bytes, none of them 0")
    }
    guard name != "spotlight" else {
      throw RPCError(
        .invalidParams,
        "The name spotlight belongs to the search index: choose another"
      )
    }
    return name
  }
}

/// The params of `follower/register`: retains the history for a follower.
package struct RegisterFollowerCall: Call {
  package typealias Result = PositionResult

  package static let name = MethodName.registerFollower

  /// The follower's name.
  package let follower: String
  /// The start position of a new or expired follower; nil for the newest commit.
  package let since: String?

  /// Creates a request.
  package init(follower: String, since: String? = nil) {
    self.follower = follower
    self.since = since
  }

  package init(_ json: JSONValue) throws(RPCError) {
    follower = try FollowerName.read(json)
    since = json.string(.since)
  }

  package var json: JSONValue { .present([.name: follower, .since: since]) }
}

/// The params of `follower/acknowledge`: records the position up to which a follower has read.
package struct AcknowledgeCall: Call {
  package typealias Result = PositionResult

  package static let name = MethodName.acknowledge

  /// The follower's name.
  package let follower: String
  /// The position up to which the follower has read.
  package let token: String

  /// Creates a request.
  package init(follower: String, token: String) {
    self.follower = follower
    self.token = token
  }

  package init(_ json: JSONValue) throws(RPCError) {
    follower = try FollowerName.read(json)
    token = try json.text(.token)
  }

  package var json: JSONValue { .present([.name: follower, .token: token]) }
}

/// The params of `follower/list`: lists the followers of the history.
package struct ListFollowersCall: CallWithoutParams {
  package static let name = MethodName.listFollowers

  /// Creates a request.
  package init() {}

  /// The named followers.
  package struct Result: WireObject {
    /// The followers, ordered by name.
    package let followers: [Follower]

    /// Creates a result.
    package init(followers: [Follower]) { self.followers = followers }

    package init(_ json: JSONValue) throws(RPCError) { followers = try json.list(.followers) }

    package var json: JSONValue { .present([.followers: followers]) }
  }

  /// A named follower of the history.
  package struct Follower: WireObject {
    package let name: String
    /// The follower's position; nil if the history no longer contains this position.
    package let token: String?
    /// The number of commits that the follower has not acknowledged.
    package let behind: Int64
    /// The time of the follower's last request, RFC 3339; nil for an internal follower of the
    /// service.
    package let seen: String?
    /// Whether the service retains no history for the follower after its long silence; nil for an
    /// internal follower of the service.
    package let isExpired: Bool?

    /// Creates a follower.
    package init(
      name: String,
      token: String?,
      behind: Int64,
      seen: String? = nil,
      isExpired: Bool? = nil
    ) {
      self.name = name
      self.token = token
      self.behind = behind
      self.seen = seen
      self.isExpired = isExpired
    }

    package init(_ json: JSONValue) throws(RPCError) {
      name = try json.text(.name)
      token = json.string(.token)
      behind = try json.count(.behind)
      seen = json.string(.seen)
      isExpired = json[.expired]?.bool
    }

    package var json: JSONValue {
      .present([
        .name: name, .token: Nullable(token), .behind: behind, .seen: seen, .expired: isExpired,
      ])
    }
  }
}

/// The params of `follower/remove`: removes a follower.
package struct RemoveFollowerCall: Call {
  package static let name = MethodName.removeFollower

  /// The follower's name.
  package let follower: String

  /// Creates a request.
  package init(follower: String) { self.follower = follower }

  package init(_ json: JSONValue) throws(RPCError) { follower = try FollowerName.read(json) }

  package var json: JSONValue { .present([.name: follower]) }

  /// The result of a removal: whether the follower existed.
  package struct Result: WireObject {
    package let isRemoved: Bool

    /// Creates a result.
    package init(isRemoved: Bool) { self.isRemoved = isRemoved }

    package init(_ json: JSONValue) throws(RPCError) { isRemoved = try json.flag(.removed) }

    package var json: JSONValue { .present([.removed: isRemoved]) }
  }
}
