/// One fault of a model file.
package struct ModelProblem: Sendable, Equatable {
  /// Where in the file: `entities[2].attributes[0].type`.
  package let path: String
  /// One sentence: what is wrong and what would be right.
  package let message: String

  package init(path: String, message: String) {
    self.path = path
    self.message = message
  }
}

/// A model file that cannot be used, with every fault that was found.
package struct ModelError: Error, Sendable, Equatable {
  package let problems: [ModelProblem]

  package init(problems: [ModelProblem]) {
    self.problems = problems
  }

  /// All problems, a line each.
  package var message: String {
    problems.map { $0.path.isEmpty ? $0.message : "\($0.path): \($0.message)" }
      .joined(separator: "\n")
  }
}
