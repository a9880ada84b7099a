import CordialValues
package import JSON
import ObjectModel
import PersistentHistory
package import PersistentStore

extension SaveRequest {
  /// Creates a save from the params of `save` and a few members for tests.
  ///
  /// - `deleteMatching`: a fetch.
  /// - `updateMatching`: a fetch, with the member `set`.
  /// - `undo`, `redo`: the number of groups; `only` is their context.
  package init(_ json: JSONValue) {
    func list(_ name: String) -> [JSONValue] { json[name]?.array ?? [] }
    self.init(
      inserts: list("insert").map {
        Insert(
          id: $0["id"]?.string,
          entity: $0["entity"]?.string,
          values: $0["values"]?.members ?? []
        )
      },
      updates: list("update").map {
        Update(
          id: $0["id"]?.string ?? "",
          version: $0["version"]?.integer,
          asOf: $0["asOf"]?.string,
          values: $0["values"]?.members ?? []
        )
      },
      deletes: list("delete").map {
        Delete(id: $0.string ?? $0["id"]?.string ?? "", version: $0["version"]?.integer)
      },
      author: json["author"]?.string,
      context: json["context"]?.string,
      durability: json["durability"]?.string == "normal" ? .normal : .full,
      mergePolicy: json["mergePolicy"]?.string.map { MergePolicy($0) } ?? .error,
      transaction: json["transaction"]?.string
    )
    if let name = json["method"]?.string, let method = Method(rawValue: name) {
      self.method = method
    }
    deleteMatching = json["deleteMatching"].map { FetchRequest($0) }
    updateMatching = json["updateMatching"].map {
      UpdateMatching(fetch: FetchRequest($0), values: $0["set"]?.members ?? [])
    }
    wantsIDs = true
    for (name, direction) in [("undo", RevertDirection.undo), ("redo", .redo)] {
      guard let count = json[name]?.integer else { continue }
      revert = Revert(direction: direction, count: Int(count), context: json["only"]?.string)
    }
    isDryRun = json["dryRun"]?.bool ?? false
  }
}

extension FetchRequest {
  /// Creates a fetch from the params of `fetch`.
  package init(_ json: JSONValue) {
    var arguments = PredicateArguments.none
    if let members = json["arguments"]?.members { arguments = .named(members) }
    if let values = json["arguments"]?.array { arguments = .positional(values) }
    let select =
      json["select"]?.array?.compactMap(\.string).map { Selection(name: $0, path: $0) }
      ?? json["select"]?.members?.map {
        Selection(
          name: $0.name,
          path: $0.value.string ?? $0.value["path"]?.string ?? "",
          fallback: $0.value["default"]
        )
      }
    self.init(
      entity: json["entity"]?.string ?? "",
      predicate: json["predicate"]?.string,
      arguments: arguments,
      sort: json["sort"]?.array?.compactMap(\.string) ?? [],
      limit: json["limit"]?.integer.map { Int($0) },
      offset: Int(json["offset"]?.integer ?? 0),
      select: select,
      subentities: json["subentities"]?.bool ?? true
    )
  }
}
