import ArgumentParser
import Engine
import JSON
import ObjectModel
import PersistentStore
import Porting

/// `cordial model diff`: prints the differences between two versions of a model.
struct DiffModel: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "diff",
    abstract: "Print the differences between two versions of a model.",
    discussion: """
      Each line is a difference: + added, - removed, ~ changed. A line with ! is a difference that \
      cannot be migrated automatically; it makes the exit code 1.
      """
  )

  @Argument(help: "The earlier version: a model's file, an Xcode model, or a store's model.json.")
  var from: String

  @Argument(help: "The later version.")
  var to: String

  func run() async throws {
    let stages = try Migrator.stages(of: try ModelFile.read(from), over: [try ModelFile.read(to)])
    var isPossible = true
    for plan in stages.map(\.plan) {
      for line in plan.mapping.differences { Terminal.line(line) }
      for problem in plan.problems {
        Terminal.line("! \(problem.path): \(problem.message)")
        isPossible = false
      }
      for check in plan.checks {
        Terminal.line("? \(check.path): not possible with data: \(check.message)")
      }
    }
    if !isPossible { throw ExitCode(1) }
  }
}

/// `cordial model migrate`: migrates a store to another version of its model.
struct MigrateStore: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "migrate",
    abstract: "Migrate a store to another version of its model.",
    discussion: """
      Serving a store with a later version of its model does the same. A folder of versions, or an \
      .xcdatamodeld, is migrated version by version. All of it is one transaction: an interrupted \
      migration leaves the store unchanged.

      A program can make the new objects, where the model cannot say how. It reads all objects on \
      standard input as export prints them, and prints those of the new model as import reads \
      them. An object keeps its ID where its id and its entity stay; what the program does not \
      print is removed:

        cordial model migrate Todo.cordial --model Todo2.json --with ./convert.py
      """
  )

  @Argument(help: "The store's folder.")
  var store: String

  @Option(help: "The model's file, a folder of its versions, or an Xcode model.")
  var model: String

  @Option(name: .customLong("with"), help: "A program that makes the new objects of the old ones.")
  var program: String?

  @Flag(help: "Print the plan with its SQL, perform it, roll it back, and exit with 1 if it fails.")
  var dryRun = false

  func run() async throws {
    let container = StoreContainer(path: Paths.absolute(store))
    guard container.hasStore else { throw InputError(message: "\(store) is not a store") }
    let current = try ModelFile.read(model)
    // Checks the model before a program makes objects for it.
    try StoreExtensions.standard.check(current)
    if let program { return try await migrate(container, to: current, with: program) }
    if dryRun { return try printPlan(container, try ModelFile.earlier(model) + [current]) }
    let opened = try PersistentStore(
      container: container,
      model: current,
      earlier: { try ModelFile.earlier(model) },
      mode: .readWrite,
      environment: .system,
      extensions: .standard
    ) { Self.report($0) }
    opened.close()
    Terminal.note("\(store) has model \(current.name) \(current.version)\n")
  }

  private static func report(_ progress: MigrationProgress) {
    Terminal.note("[\(progress.done + 1)/\(progress.count)] \(progress.title)\n")
  }

  /// Migrates a store with the new objects that a program makes from the old objects.
  private func migrate(
    _ container: StoreContainer,
    to model: Model,
    with program: String
  ) async throws {
    guard try !Migrator.hasModel(container, model) else {
      return Terminal.note("\(store) already has this model\n")
    }
    let files = try TemporaryFolder()
    defer { files.remove() }
    let (input, output) = (files.path("old.jsonl"), files.path("new.jsonl"))
    let token = try await StoreArgument(container).with { client in
      let file = try LineFile(input)
      let token = try await Exporter.run([], from: client, ofOneCommit: true) {
        file.write($0.text)
      }
      try file.close()
      return token
    }
    try ChildProgram(program).run(input: input, output: output)
    let objects = try ProgramObjects(try Input.read(output), at: token ?? "")
    try Migrator.migrate(
      container,
      to: model,
      with: objects,
      commits: !dryRun,
      environment: .system
    ) { Self.report($0) }
    guard !dryRun else {
      return Terminal.note("The migration would succeed; nothing was changed\n")
    }
    // Opening the store writes a copy of the new model beside the store.
    try PersistentStore(
      container: container,
      model: model,
      mode: .readWrite,
      environment: .system,
      extensions: .standard
    ).close()
    Terminal.note("\(store) has model \(model.name) \(model.version)\n")
  }

  /// Prints the plan, and performs the migration in a transaction that is rolled back.
  private func printPlan(_ container: StoreContainer, _ chain: [Model]) throws {
    try Migrator.dryRun(container, over: chain, environment: .system) { stages in
      for stage in stages {
        Terminal.line("-- \(stage.plan.mapping.from.version) to \(stage.target.version)")
        for line in stage.plan.mapping.differences { Terminal.line("-- \(line)") }
        for group in stage.plan.preparation {
          Terminal.line("\n-- \(group.title)")
          for statement in group.sql { Terminal.line(statement + ";") }
        }
        for step in stage.plan.steps {
          Terminal.line("\n-- \(step.title)")
          for statement in step.statements { Terminal.line(statement + ";") }
        }
      }
      if stages.isEmpty { Terminal.note("\(store) already has this model\n") }
    }
    Terminal.note("The migration would succeed; nothing was changed\n")
  }
}
