package import CordialProtocol
import CordialValues
import JSON
import ObjectModel
import PersistentHistory
import PersistentStore

/// Makes queries of a kind that this module does not have; nil for a request of another kind.
package typealias AddedKind =
  @Sendable (ObservedRequest, ResultReader) throws -> (any LiveQuery)?

/// An observed request, and the form of its updates.
///
/// It is a class because it has many parts, and each step copies observations.
package final class ObservedRequest: Sendable {
  package let target: ObserveCall.Target
  package let mode: ObserveCall.Mode
  package let includesBefore: Bool
  /// Whether updates say why they are sent.
  package let explains: Bool
  package let first: Int
  /// Makes the query of the request, before the kinds of this module are tried; nil for none.
  let added: AddedKind?
  /// The text that names the request: equal texts have equal results and updates.
  ///
  /// It has the mode and the params. That of a search has the subscription too, because its results
  /// are of different positions of the index.
  let identity: String
  /// The JSON text of the params that name the request.
  let text: String

  /// Creates the request of a call.
  ///
  /// - Parameters:
  ///   - call: The call.
  ///   - text: The text of the params that name the request.
  ///   - subscriber: The subscription that the call makes.
  ///   - added: A kind of query beside those of this module; nil for none.
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

  /// Returns the text by which equal requests have equal results and updates.
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

  /// The fetch of the request; nil for history.
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

  /// The name on the wire.
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
  /// The properties that decide which objects are included: of the objects of the result, and of
  /// other objects by entity number.
  package var inclusion: Inclusion
  /// The position of the result.
  var position: LogPosition

  /// The data on which `included` depends.
  package struct Inclusion: Sendable {
    /// The relationships of the result's objects.
    package var relationships: Set<String> = []
    /// The entities of the included objects.
    package var entities: Set<Int> = []

    /// Returns the properties that key paths read, by entity, with all of included objects.
    func related(with read: [Int: Set<String>]) -> [Int: Set<String>] {
      entities.reduce(into: read) { $0[$1] = [ChangeSet.everyProperty] }
    }
  }

  var query: any LiveQuery { result.query }

  /// The data on which the result depends.
  var interest: Interest { result.interest(request, inclusion) }

  /// Returns how many objects a verdict names, before the whole request is read again.
  ///
  /// - Parameter isStopped: Whether the comparison has to end.
  /// - Returns: The limits.
  func verdictLimits(_ isStopped: @escaping @Sendable () -> Bool) -> VerdictLimits {
    var limits = verdictLimits
    limits.isStopped = isStopped
    return limits
  }

  /// How many objects a verdict names, before the whole request is read again.
  var verdictLimits: VerdictLimits { result.verdictLimits(request) }

  /// The number of objects that a verdict may name for a result of any size.
  package static let valuesMin = 4096
}
