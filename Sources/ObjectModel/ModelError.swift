/// One fault of a model file.
package struct ModelProblem: Sendable, Equatable {
  /// The path in the file, such as `entities[2].attributes[0].type`.
  package let path: String
  /// One sentence that states the fault and the expected content.
  package let message: String

  package init(path: String, message: String) {
    self.path = path
    self.message = message
  }
}

/// The error of an invalid model file, with every fault of the file.
package struct ModelError: Error, Sendable, Equatable {
  package let problems: [ModelProblem]

  package init(problems: [ModelProblem]) {
    self.problems = problems
  }

  /// All problems, one on each line.
  package var message: String {
    problems.map { $0.path.isEmpty ? $0.message : "\($0.path): \($0.message)" }
      .joined(separator: "\n")
  }
}
