import CordialProtocol
import JSON
import ProtocolSchemas
import Testing

/// The members of the schemas that some message has.
private struct Coverage {
  /// Each member of the schemas, as `fetch.limit`, `fetch -> total` or `Section.name`.
  private(set) var members: Set<String> = []
  private(set) var seen: Set<String> = []
  private var collected: Set<String> = []

  init() {
    for method in MethodTable.all {
      collect(method.params, method.name)
      if let result = method.result { collect(result, "\(method.name) ->") }
    }
    for name in ErrorName.allCases { collect(name.data, name.rawValue) }
  }

  private mutating func collect(_ fields: [Field], _ path: String) {
    for field in fields {
      members.insert("\(path).\(field.name)")
      collect(field.schema, "\(path).\(field.name)")
    }
  }

  private mutating func collect(_ schema: Schema, _ path: String) {
    switch schema {
    case .named(let name, let inner):
      if collected.insert(name).inserted { collect(inner, name) }
    case .object(let fields): collect(fields, path)
    case .array(let inner), .map(let inner), .nullable(let inner): collect(inner, path)
    case .either(let choices): for choice in choices { collect(choice, path) }
    case .any, .string, .boolean, .number, .integer, .choice: break
    }
  }

  mutating func see(_ value: JSONValue, _ fields: [Field], _ path: String) {
    for member in value.members ?? [] {
      guard let field = fields.first(where: { $0.name == member.name }) else { continue }
      seen.insert("\(path).\(field.name)")
      see(member.value, field.schema, "\(path).\(field.name)")
    }
  }

  mutating func see(_ value: JSONValue, _ schema: Schema, _ path: String) {
    switch schema {
    case .named(let name, let inner): see(value, inner, name)
    case .object(let fields): see(value, fields, path)
    case .array(let inner): for element in value.array ?? [] { see(element, inner, path) }
    case .map(let inner): for member in value.members ?? [] { see(member.value, inner, path) }
    case .nullable(let inner): see(value, inner, path)
    case .either(let choices):
      for choice in choices where choice.mismatch(value) == nil { see(value, choice, path) }
    case .any, .string, .boolean, .number, .integer, .choice: break
    }
  }
}

/// Every member of every schema is in a transcript, in an example, or in the list of others.
@Suite struct `Coverage of the schemas` {
  /// Members that neither a transcript nor an example has, by the reason.
  private static let reasons: [String: [String]] = [
    "A search of a transcript has few hits": [
      "Difference.totalIsAtLeast", "ObservedResult.totalIsAtLeast",
      "SubscriptionUpdate.totalIsAtLeast",
    ],
    "The command line has the error, because no service is there yet": [
      "ModelInvalidData.code", "ModelInvalidData.hint", "ModelInvalidData.problems",
      "ModelProblem.count", "ModelProblem.examples", "ModelProblem.examples.id",
      "ModelProblem.examples.value",
    ],
    "No service is there during a migration": [
      "StoreBusyData.migrating", "status ->.migrating", "status ->.migrating.count",
      "status ->.migrating.done", "status ->.migrating.from", "status ->.migrating.title",
      "status ->.migrating.to",
    ],
    "Errors that have no hint today": [
      "PredicateInvalidData.hint", "UnknownSubscriptionData.hint",
    ],
    "A request with another error beside the conflict": ["SaveConflictData.problems"],
    "A redo that fails alone": ["redo ->.dryRun.error"],
    "A damaged index, or one that is being built": [
      "index/status ->.activity", "index/verify ->.differences.id",
      "index/verify ->.differences.what",
    ],
    "A model that excludes objects": ["search/explain ->.rule"],
    "Peers that do not read for a minute": [
      "status ->.disconnected.bytes", "status ->.disconnected.connection",
      "status ->.disconnected.reason", "status ->.disconnected.since",
    ],
    "A sort that takes long": [
      "status ->.slowSorts.count", "status ->.slowSorts.entity",
      "status ->.slowSorts.microsecondsMax", "status ->.slowSorts.sort",
    ],
  ]
  private static let others = Set(reasons.values.joined())

  @Test func `each member is in a message of a transcript, or says why not`() throws {
    var coverage = Coverage()
    for method in MethodTable.all {
      coverage.see(method.example, method.params, method.name)
      if let result = method.exampleResult, let schema = method.result {
        coverage.see(result, schema, "\(method.name) ->")
      }
    }
    for name in Transcript.names { try see(try Transcript(named: name), &coverage) }
    let missing = coverage.members.subtracting(coverage.seen)
    #expect(coverage.members.count > 500)
    for name in missing.subtracting(Self.others).sorted() {
      Issue.record("No transcript has \(name)")
    }
    for name in Self.others.subtracting(missing).sorted() {
      Issue.record("\(name) is no member, or a transcript has it: unlist it")
    }
  }

  private func see(_ transcript: Transcript, _ coverage: inout Coverage) throws {
    for message in transcript.messages {
      switch message {
      case .params(let params, let method): coverage.see(params, method.params, method.name)
      case .result(let result, let method):
        if let schema = method.result { coverage.see(result, schema, "\(method.name) ->") }
      case .error(let error):
        if let name = ErrorName.allCases.first(where: { Int64($0.code) == error["code"]?.integer })
        {
          coverage.see(error["data"] ?? [:], name.data, name.rawValue)
        }
      }
    }
  }
}
