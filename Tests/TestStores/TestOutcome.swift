import CordialService
package import CordialValues
package import JSON
package import ObjectModel
package import PersistentStore

/// The result of a save in its wire form.
package struct TestOutcome {
  package let token: StoreToken
  /// The members of the answer after its token.
  package let body: JSONValue
  /// The number of named or matched objects.
  package let count: Int
  /// The deleted or matched objects.
  package let ids: [String]
  package let dryRun: DryRunResult?

  /// The result of a dry run.
  package struct DryRunResult {
    package let error: StoreError?
    package let deletes: [String]
    package let updates: [String]
    package let changes: ChangeSet
  }

  /// Creates the outcome of a save in a store with that model.
  package init(_ outcome: SaveOutcome, _ model: Model) throws {
    let answer = SaveAnswer(model: model)
    token = outcome.token
    var writer = JSONWriter()
    writer.raw("{")
    if outcome.result.undone == nil {
      answer.writeSave(outcome.result, to: &writer)
    } else {
      answer.writeRevert(outcome.result, to: &writer)
    }
    writer.raw("}")
    body = try JSONParser.parse(writer.bytes.span)
    count = outcome.result.count
    ids = (outcome.result.matched ?? []).map(answer.text)
    dryRun = outcome.dryRun.map {
      DryRunResult(
        error: $0.error,
        deletes: $0.deletes.map(answer.text),
        updates: $0.updates.map(answer.text),
        changes: $0.changes
      )
    }
  }
}

extension JSONValue {
  /// The members of an error's data without its problems.
  package var withoutProblems: JSONValue {
    .object((members ?? []).filter { $0.name != "problems" })
  }
}
