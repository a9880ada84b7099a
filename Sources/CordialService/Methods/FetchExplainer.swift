package import CordialProtocol
import Indexing
import JSON
import JSONRPC
package import ObjectModel
package import PersistentStore
import ProtocolSchemas

/// Explanations and checks of fetches without a service.
package enum FetchExplainer {
  /// Returns the faults of a model's stored requests, selections, exclusions and configurations.
  ///
  /// Stored requests and selections are checked as fetches, and configurations as models. The
  /// values of arguments are unknown here, so a predicate is valid if any arguments make it valid.
  ///
  /// - Parameter model: A model without other faults.
  /// - Returns: The faults, each with its path in the file.
  package static func problems(of model: Model) -> [ModelProblem] {
    var problems: [ModelProblem] = []
    for (index, template) in model.templates.enumerated() {
      let candidates = arguments(of: template).map { arguments in
        template.params.filter { !$0.isOne(of: .arguments) } + arguments
      }
      problems += faults(of: candidates, at: "templates[\(index)]", model)
    }
    for (index, values) in model.values.enumerated() {
      let params = [
        JSONMember(.entity, .string(values.entity)), JSONMember(.select, values.select),
      ]
      problems += faults(of: [params], at: "values[\(index)]", model)
    }
    problems += IndexRules.problems(of: model)
    for name in model.document["configurations"]?.members?.map(\.name) ?? [] {
      do {
        _ = try ModelDocument.document(model.document, ofConfiguration: name)
      } catch {
        problems += error.problems
      }
    }
    return problems
  }

  /// Returns the faults of the candidate with the fewest faults; empty if a candidate is valid.
  ///
  /// - Parameters:
  ///   - candidates: The params of the fetches.
  ///   - path: The path of the request in the model's file.
  ///   - model: The model.
  /// - Returns: The faults, each with its path in the file.
  private static func faults(
    of candidates: [[JSONMember]],
    at path: String,
    _ model: Model
  ) -> [ModelProblem] {
    let found = candidates.map { params -> [ModelProblem] in
      do {
        let call = try FetchCall.read(.object(withStoredNames(params, model)))
        return call.storeRequest.faults(in: model, isValues: call.form == .values).map { fault in
          ModelProblem(
            path: fault.part.isEmpty ? path : "\(path).\(fault.part)",
            message: fault.error.message
          )
        }
      } catch {
        return [ModelProblem(path: path, message: RPCError(any: error).message)]
      }
    }
    return found.min { $0.count < $1.count } ?? []
  }

  /// Returns params in which the contents of a stored selection replace its name.
  private static func withStoredNames(_ params: [JSONMember], _ model: Model) -> [JSONMember] {
    let entity = params.first { $0.isOne(of: .entity) }?.value.string
    return params.map { member in
      guard member.isOne(of: .value),
        let found = model.values.first(where: {
          $0.name == member.value.string && $0.entity == entity
        })
      else { return member }
      return JSONMember(.select, found.select)
    }
  }

  /// Returns candidate arguments: the template's own arguments, and generated arguments with null
  /// or a list for each variable.
  private static func arguments(of template: ModelTemplate) -> [[JSONMember]] {
    let own = template.params.filter { $0.isOne(of: .arguments) }
    let conditions: [MemberName] = [.predicate, .having]
    let words = conditions.compactMap { name in
      template.params.first { $0.isOne(of: name) }?.value.string
    }.flatMap { $0.split { " ()".contains($0) } }
    var values: [String: JSONValue] = [:]
    for (index, word) in words.enumerated() where word.hasPrefix("$") {
      let name = String(word.dropFirst().prefix { $0.isLetter || $0.isNumber || $0 == "_" })
      switch index == 0 ? "" : words[index - 1].uppercased() {
      case "IN": values[name] = .array([])
      case "BETWEEN": values[name] = .array([.null, .null])
      default: values[name] = values[name] ?? .null
      }
    }
    guard !values.isEmpty else { return [own] }
    let made = values.sorted { $0.key < $1.key }.map { JSONMember($0.key, $0.value) }
    return [own, [JSONMember(.arguments, .object(made))]]
  }

  /// Explains the SQL statement of a fetch.
  ///
  /// - Parameters:
  ///   - call: The fetch of an entity.
  ///   - store: The store.
  /// - Returns: The statement with its plan.
  /// - Throws: `StoreError`, `SQLiteError`.
  package static func explain(
    _ call: FetchCall,
    in store: PersistentStore
  ) throws -> FetchExplanation {
    try store.makeReader().snapshot { snapshot in
      try snapshot.explain(
        call.storeRequest,
        isCount: call.form == .count,
        isValues: call.form == .values
      )
    }
  }
}
