import CordialValues
package import Interruptions
import JSON
import ObjectModel

/// The fourth stage of a save: checks the objects in the state after the whole save.
package struct SaveValidator {
  let layout: SaveLayout
  private var graph: PlannedGraph
  private let touched: [PlannedList: RelationshipLayout]
  /// The names of the objects in the request.
  private let labels: SaveLabels
  /// The parts of the request that the save skips, which may explain missing values.
  private let skippedParts: SkippedParts
  /// Whether values that were invalid before the save are problems too.
  private let checksAll: Bool
  /// The interruption of matches with patterns, which may take long.
  private let interruption: Interruption
  /// The problems of the earlier stages, and the problems that validation finds.
  package private(set) var problems: ProblemList

  /// Prepares the validation of a plan.
  package init(
    _ plan: SavePlan,
    _ layout: SaveLayout,
    labels: SaveLabels,
    problems: ProblemList,
    skippedParts: SkippedParts,
    interruption: Interruption,
    checksAll: Bool = false
  ) {
    self.interruption = interruption
    self.layout = layout
    graph = plan.graph
    touched = plan.touched
    self.labels = labels
    self.problems = problems
    self.skippedParts = skippedParts
    self.checksAll = checksAll
  }

  /// Checks all objects that the save changes.
  ///
  /// - Parameter withUnique: Whether to always check the unique values that a database index
  ///   covers. Otherwise they are checked only if the save has another problem, because SQLite
  ///   refuses duplicates when rows are written.
  /// - Throws: `Interrupted`; `SQLiteError`.
  package mutating func validate(withUnique: Bool = false) throws {
    for insert in graph.inserts where !graph.deletes.contains(insert.key) {
      try validate(insert)
    }
    for update in graph.updates
    where try !graph.deletes.contains(update.key) && graph.exists(update.key) {
      try validate(update)
    }
    try validateCounts()
    if !withUnique, problems.isEmpty, try violations(includesIndexed: false).isEmpty { return }
    // The resolver has already reported inserts that match several objects.
    let known = problems.problems.filter { $0.code == .uniquenessViolation }
    for problem in try violations(includesIndexed: true)
    where !known.contains(where: problem.isSameViolation) { problems.add(problem) }
  }

  private func violations(includesIndexed: Bool) throws -> [SaveProblem] {
    var check = UniquenessCheck(layout, graph, labels)
    return try check.violations(includesIndexed: includesIndexed)
  }

  private mutating func validate(_ insert: PlannedInsert) throws {
    let entity = layout.entity(insert.key)
    for (column, attribute) in entity.checked where insert.row[column] != .refused {
      if let violation = try attribute.violation(by: insert.row[column], interruption) {
        problems.add(
          .invalid(insert.label, attribute.name, violation.rule, violation.message)
        )
      }
    }
    for (column, name) in entity.required
    where insert.row[column] == .null && !mayHaveSet(column, entity) {
      problems.add(.invalid(insert.label, name, "required", "\(name) must have a value"))
    }
  }

  private mutating func validate(_ update: PlannedUpdate) throws {
    let entity = layout.entity(update.key)
    let attributes = entity.entity.attributes
    for change in update.columns where change.value != .refused {
      if change.column < attributes.count {
        let attribute = attributes[change.column]
        guard attribute.derived == nil,
          let violation = try attribute.violation(by: change.value, interruption)
        else { continue }
        problems.add(
          .invalid(
            try label(of: update.key),
            attribute.name,
            violation.rule,
            violation.message
          )
        )
      } else if change.value == .null, !mayHaveSet(change.column, entity),
        let required = entity.required.first(where: { $0.column == change.column }),
        try checksAll || labels[update.key] != nil
          || graph.stored.value(change.column, of: update.key) != .null
      {
        problems.add(
          .invalid(
            try label(of: update.key),
            required.name,
            "required",
            "\(required.name) must have a value"
          )
        )
      }
    }
  }

  /// Returns whether a skipped part of the request may have set the to-one of a column.
  private func mayHaveSet(_ column: Int, _ entity: EntityLayout) -> Bool {
    guard !skippedParts.isEmpty else { return false }
    return entity.toOnes.contains {
      $0.column == column && skippedParts.mayHaveSet($0.relationship)
    }
  }

  private mutating func validateCounts() throws {
    guard !touched.isEmpty else { return }
    for (list, toMany) in touched.sorted(by: { $0.key < $1.key })
    where try graph.exists(list.owner) {
      let (minimum, maximum) = (toMany.description.minimumCount, toMany.description.maximumCount)
      // Members are counted only up to the model's limit, unless a message needs the exact count.
      var count = try graph.memberCount(
        of: toMany,
        list.owner,
        upTo: maximum.map { max(minimum, $0 + 1) } ?? minimum
      )
      if let maximum, count > maximum {
        count = try graph.memberCount(of: toMany, list.owner)
      }
      if count < minimum {
        guard !skippedParts.mayHaveSet(toMany) else { continue }
        problems.add(
          .invalid(
            try label(of: list.owner),
            toMany.name,
            "minimumCount",
            "\(toMany.name) has \(count), fewer than \(minimum)"
          )
        )
      } else if let maximum, count > maximum, !skippedParts.mayHaveSet(toMany) {
        problems.add(
          .invalid(
            try label(of: list.owner),
            toMany.name,
            "maximumCount",
            "\(toMany.name) has \(count), more than \(maximum)"
          )
        )
      }
    }
  }

  private func label(of key: ObjectKey) throws -> String {
    if let index = graph.insertIndex(of: key) { return graph.inserts[index].label }
    return try labels[key] ?? graph.stored.name(of: key)
  }
}
