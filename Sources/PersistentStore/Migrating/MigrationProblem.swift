import JSON
import ObjectModel

/// A reason why a store cannot be migrated.
struct MigrationProblem: Sendable {
  /// The part of the old or the new model, as `Task.title`; empty for the whole model.
  let path: String
  /// The text of the problem, without the count of cases.
  let message: String
  /// The count of objects, values or links with the problem; nil for a problem that does not depend
  /// on data.
  let count: Int64?
  /// Some of the objects, each with its value; nil if values do not matter.
  let examples: [(id: String, value: JSONValue)]?

  init(
    path: String,
    message: String,
    count: Int64? = nil,
    examples: [(id: String, value: JSONValue)]? = nil
  ) {
    self.path = path
    self.message = message
    self.count = count
    self.examples = examples
  }

  init(_ problem: ModelProblem) {
    self.init(path: problem.path, message: problem.message)
  }

  private var sentence: String { count.map { "\(message) (\($0) of them)" } ?? message }

  /// The problem as a part of a sentence.
  var text: String { path.isEmpty ? sentence : "\(path): \(sentence)" }

  var json: JSONValue {
    var members = [JSONMember("path", .string(path)), JSONMember("message", .string(sentence))]
    if let examples {
      let list = examples.map {
        JSONValue.object([JSONMember("id", .string($0.id)), JSONMember("value", $0.value)])
      }
      members.append(JSONMember("examples", .array(list)))
    }
    return .object(members + (count.map { [JSONMember("count", .integer($0))] } ?? []))
  }
}

/// A version of a chain that is similar to a store's model, when the chain lacks that model.
struct NearestVersion: Sendable {
  let version: String
  /// The differences from the store's model, as `cordial model diff` prints them.
  let differences: [String]

  /// The maximum count of versions, and of differences for each version.
  private static let countMax = 3
  private static let differencesMax = 20

  /// Returns the versions of a chain with the fewest differences from a model.
  static func versions(to model: Model, in chain: [Model]) -> [NearestVersion] {
    let all = chain.map { version in
      NearestVersion(
        version: version.version,
        differences: ModelMapping(from: model, to: version).differences
      )
    }
    // Of two equally similar versions, the later version comes first.
    let sorted = all.reversed().enumerated().sorted {
      ($0.element.differences.count, $0.offset) < ($1.element.differences.count, $1.offset)
    }
    return sorted.prefix(countMax).map(\.element)
  }

  var json: JSONValue {
    let shown = differences.prefix(Self.differencesMax).map { JSONValue.string($0) }
    let rest = differences.count - shown.count
    return [
      "version": .string(version),
      "differences": .array(shown + (rest > 0 ? [.string("and \(rest) more")] : [])),
    ]
  }
}
