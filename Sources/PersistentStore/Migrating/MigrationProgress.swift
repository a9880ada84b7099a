/// The progress of a migration.
package struct MigrationProgress: Sendable {
  /// The version from which the current stage migrates.
  package let from: String
  /// The version to which the current stage migrates.
  package let to: String
  /// The title of the current step.
  package let title: String
  /// The number of completed steps.
  package let done: Int
  /// The number of all steps of all stages.
  package let count: Int

  package init(from: String, to: String, title: String, done: Int, count: Int) {
    self.from = from
    self.to = to
    self.title = title
    self.done = done
    self.count = count
  }

  /// The share of completed steps, in percent.
  package var percentage: Int { done * 100 / max(count, 1) }
}
