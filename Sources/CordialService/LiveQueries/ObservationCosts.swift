import CordialProtocol
import CordialValues
import JSON
import ObjectModel
import PersistentHistory
import PersistentStore

/// The costs of an observation since it began.
struct ObservationCosts: Sendable {
  /// The number of steps whose changes were compared with the request.
  var commits = 0
  /// The number of steps that may have altered the result.
  var wakes = 0
  var statements = 0
  /// The number of times that the whole request, its total or its sections were read again.
  var reruns = 0
  var microseconds = 0
  /// The last step that may have altered the result.
  var last: Wake?

  /// A step that may have altered the result.
  struct Wake: Sendable {
    /// The position after the step.
    let token: StoreToken
    /// One of the changes; nil if the verdict names no object.
    let change: ObjectChange?
    /// The explanation of the update; nil if the request wants none, or if nothing differs.
    let explanation: JSONValue?

    /// Returns the step in the form of `observe/list`.
    func json(in model: Model) -> JSONValue {
      var members = [JSONMember(.token, .string(token.description))]
      if let explanation {
        members.append(JSONMember(.explanation, explanation))
      } else if let change {
        let entity = model.entity(change.key.entity).name
        let id = ObjectID(entity: entity, key: .object(change.key.object)).description
        let path = change.kind == .update ? change.properties.min() : nil
        members.append(
          JSONMember(.explanation, [.object([.id: .string(id), .path: .string(path ?? "SELF")])])
        )
      }
      return .object(members)
    }
  }

  static func + (first: ObservationCosts, second: ObservationCosts) -> ObservationCosts {
    ObservationCosts(
      commits: first.commits + second.commits,
      wakes: first.wakes + second.wakes,
      statements: first.statements + second.statements,
      reruns: first.reruns + second.reruns,
      microseconds: first.microseconds + second.microseconds,
      last: second.last ?? first.last
    )
  }

  /// The sums in the form of `status` and `observe/list`.
  var sums: ObservationCost {
    ObservationCost(
      commits: Int64(commits),
      wakes: Int64(wakes),
      statements: Int64(statements),
      reruns: Int64(reruns),
      microseconds: Int64(microseconds)
    )
  }
}

/// The way in which changes are matched with an observed request.
package enum Matching: String {
  /// By object numbers.
  case id
  /// By a value that the condition requires.
  case equality
  /// By a range that the condition requires.
  case range
  /// By the condition, in memory.
  case predicate
  /// By SQL, for at least some changes.
  case sql

  /// Chooses how changes are matched with a condition.
  init(of condition: RowCondition) {
    if condition.selectors != nil {
      self = .equality
    } else if condition.ranges != nil {
      self = .range
    } else {
      self = condition.isDecidable ? .predicate : .sql
    }
  }
}

extension Observation {
  /// The approximate memory of the observation and its result, in bytes.
  var bytes: Int { Self.bytes(ofIdentity: request.identity) + result.bytes }

  /// Returns the approximate memory of an observation without its result, in bytes.
  ///
  /// A parsed request takes several times the memory of its text.
  static func bytes(ofIdentity identity: String) -> Int { 1024 + 8 * identity.utf8.count }
}
