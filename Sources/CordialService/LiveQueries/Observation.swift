package import CordialProtocol
import CordialValues
import JSON
import ObjectModel
import PersistentHistory
import PersistentStore

/// A function that makes queries of an additional kind, and returns nil for other requests.
package typealias AddedKind =
  @Sendable (ObservedRequest, ResultReader) throws -> (any LiveQuery)?

/// An observed request, and the form of its updates.
///
/// The request is a class because it has many properties, and each step copies observations.
package final class ObservedRequest: Sendable {
  package let target: ObserveCall.Target
  package let mode: ObserveCall.Mode
  package let includesBefore: Bool
  /// Whether updates say why they are sent.
  package let explains: Bool
  package let first: Int
  /// The function that may make the query in place of the built-in kinds; nil for none.
  let added: AddedKind?
  /// The text that identifies the request: requests with equal texts have equal results and
  /// updates.
  ///
  /// The text has the mode and the params. The text of a search also has the subscription, because
  /// the results of searches may be at different positions of the index.
  let identity: String
  /// The JSON text of the params that name the request.
  let text: String

  /// Creates the request of a call.
  ///
  /// - Parameters:
  ///   - call: The call.
  ///   - text: The text of the params that name the request.
  ///   - subscriber: The subscription that the call makes.
  ///   - added: The function that makes queries of an additional kind; nil for none.
  init(
    _ call: ObserveCall,
    _ text: String,
    _ subscriber: Subscriber,
    _ added: AddedKind?
  ) {
    target = call.target
    mode = call.mode
    includesBefore = call.includesBefore
    explains = call.explains
    first = call.first ?? 0
    self.added = added
    self.text = text
    let identity = Self.identity(call.mode, text)
    self.identity =
      call.isSearch ? "search \(subscriber.session) \(subscriber.number) \(identity)" : identity
  }

  /// Returns the text that requests with equal results and updates have in common.
  static func identity(_ mode: ObserveCall.Mode, _ text: String) -> String {
    mode.rawValue + text
  }

  /// Returns the text of the params of a call that name its request.
  static func text(of params: JSONValue) -> String {
    let names: [MemberName] = [
      .ids, .select, .include, .fetch, .history, .search, .before, .explain, .first,
    ]
    let members = names.compactMap { name in
      params[name].flatMap { $0.isNull ? nil : JSONMember(name, $0) }
    }
    return JSONValue.object(members).text
  }

  /// The fetch of the request; nil for history and for searches.
  package var fetch: FetchCall? {
    switch target {
    case .ids(_, let fetch), .fetch(let fetch): fetch
    case .history, .search: nil
    }
  }

  /// The paths of included relationships.
  package var include: [String] { fetch?.include ?? [] }
}

/// A subscription to an observation.
struct Subscriber: Sendable, Hashable, Comparable {
  let session: Int
  /// The number of the subscription within its session.
  let number: Int

  /// The name in the protocol.
  var name: String { "s\(number)" }

  static func < (first: Subscriber, second: Subscriber) -> Bool {
    (first.session, first.number) < (second.session, second.number)
  }
}

/// One observed request with its current result, which all its subscriptions share.
package struct Observation: Sendable {
  package let request: ObservedRequest
  /// The compiled query with its result.
  var result: any LiveResult
  /// The hash of the model of the query.
  let modelHash: String
  /// Whether the query was compiled for a store that may have dangling references.
  var mayDangle: Bool
  /// The relationships and entities that decide which objects are included.
  package var inclusion: Inclusion
  /// The position at which the result was last read or refreshed.
  ///
  /// The result may also be valid at later positions.
  var position: LogPosition

  /// The data on which the included objects of the result depend.
  package struct Inclusion: Sendable {
    /// The relationships of the result's objects.
    package var relationships: Set<String> = []
    /// The entities of the included objects.
    package var entities: Set<Int> = []

    /// Returns properties by entity number: the given properties that key paths read, and all
    /// properties of the included entities.
    func related(with read: [Int: Set<String>]) -> [Int: Set<String>] {
      entities.reduce(into: read) { $0[$1] = [ChangeSet.everyProperty] }
    }
  }

  var query: any LiveQuery { result.query }

  /// The data on which the result depends.
  var interest: Interest { result.interest(request, inclusion) }

  /// Returns the limits of a verdict, beyond which the whole request is read again.
  ///
  /// - Parameter isStopped: Returns whether the comparison must stop.
  /// - Returns: The limits.
  func verdictLimits(_ isStopped: @escaping @Sendable () -> Bool) -> VerdictLimits {
    var limits = verdictLimits
    limits.isStopped = isStopped
    return limits
  }

  /// The limits of a verdict, beyond which the whole request is read again.
  var verdictLimits: VerdictLimits { result.verdictLimits(request) }

  /// The number of objects that a verdict may always name, whatever the size of the result.
  package static let valuesMin = 4096
}
