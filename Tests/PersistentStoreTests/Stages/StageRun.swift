import CordialValues
import Interruptions
import JSON
import ObjectModel
import PersistentHistory
import PersistentStore
import StoreLayout
import TestStores

/// The stages of a save over objects and a log in memory.
struct StageRun {
  let layout: SaveLayout
  let objects: PlainObjects
  var history = PlainHistory()

  /// Creates the stages over stored objects, which `PlainObjects` reads.
  init(_ stored: String = "{}") throws {
    layout = try StagesModel.layout()
    objects = PlainObjects(layout, try JSONParser.parse(stored))
  }

  func resolve(_ request: SaveRequest) throws -> Resolver {
    var resolver = Resolver(request, layout, objects)
    try resolver.resolve()
    return resolver
  }

  func resolve(_ request: String) throws -> Resolver {
    try resolve(SaveRequest(try JSONParser.parse(request)))
  }

  func merge(
    _ request: String,
    decisions: [String: MergeDecision] = [:]
  ) throws -> SaveMerger {
    let request = SaveRequest(try JSONParser.parse(request))
    var merger = SaveMerger(
      try resolve(request).resolved,
      request,
      layout,
      objects,
      history,
      decisions: decisions
    )
    try merger.merge()
    return merger
  }

  /// Plans without merging.
  func plan(_ resolver: Resolver) throws -> SavePlanner {
    var planner = SavePlanner(layout, objects, labels: SaveLabels { resolver.labels })
    try planner.plan(resolver.resolved)
    return planner
  }

  func plan(_ request: String) throws -> SavePlanner { try plan(try resolve(request)) }

  /// Resolves, plans and validates.
  func validate(_ request: String) throws -> ProblemList {
    let resolver = try resolve(request)
    let planner = try plan(resolver)
    var problems = resolver.problems
    for problem in planner.problems.problems { problems.add(problem) }
    var validator = SaveValidator(
      planner.plan,
      layout,
      labels: SaveLabels { resolver.labels },
      problems: problems,
      skippedParts: resolver.skippedParts,
      interruption: Interruption()
    )
    try validator.validate()
    return validator.problems
  }

  /// A row of the log about an object.
  ///
  /// - Parameters:
  ///   - number: The number of the change, which is its token too.
  ///   - id: The object, with its number in its ID.
  ///   - kind: What happened to it.
  ///   - before: The values before as the members of a JSON object; of a link row its relationship.
  ///   - other: Of a link row the other object.
  ///   - version: The version that the object reached.
  /// - Returns: The row.
  func row(
    _ number: Int64,
    _ id: String,
    _ kind: ChangeKind,
    _ before: String = "",
    other: Int64 = 0,
    version: Int64? = nil
  ) -> HistoryRow {
    let isLink = kind == .link || kind == .unlink
    return HistoryRow(
      number: number,
      key: objects.key(id),
      kind: kind,
      before: isLink ? before : before.isEmpty ? nil : "," + before,
      other: other,
      version: version
    )
  }
}

/// Problems as lines: the rule, the object and the property.
func lines(_ problems: ProblemList) -> [String] {
  problems.problems.map { "\($0.rule) \($0.id)" + ($0.property.map { ".\($0)" } ?? "") }
}
