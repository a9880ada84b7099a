import ArgumentParser
import CordialService
import JSON
import ModelTools
import ObjectModel
import PersistentStore
import XcodeModel

/// `cordial model`: commands for model files.
struct ModelCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "model",
    abstract: "Import, check, draw and compare models, write code for them, and migrate stores.",
    subcommands: [
      ImportModel.self, CheckModel.self, GraphModel.self, GenerateCode.self, DiffModel.self,
      MigrateStore.self,
    ]
  )
}

/// `cordial model import`: converts an Xcode model to a Cordial model.
struct ImportModel: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "import",
    abstract: "Print an Xcode model (.xcdatamodel, .xcdatamodeld) as a Cordial model file.",
    discussion: "Parts without an equivalent are noted on standard error."
  )

  @Argument(help: "The model.")
  var model: String

  func run() async throws {
    Terminal.line(try ModelFile.convert(model).prettyText)
  }
}

/// `cordial model check`: reports every error of a model at once.
struct CheckModel: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "check",
    abstract: "Report every error of a model, each with its path in the file."
  )

  @Argument(help: "The model's file, or an Xcode model.")
  var model: String

  func run() async throws {
    let found = try ModelFile.read(model)
    let problems = FetchExplainer.problems(of: found)
    guard problems.isEmpty else { throw StoreError(ModelError(problems: problems), in: model) }
    let attributes = found.entities.reduce(0) { $0 + $1.attributes.count }
    let relationships = found.entities.reduce(0) { $0 + $1.relationships.count }
    Terminal.line(
      "\(found.name) \(found.version): \(found.entities.count) entities, \(attributes) attributes, "
        + "\(relationships) relationships, hash \(found.hash)"
    )
  }
}

/// `cordial model graph`: prints the entities and relationships as a picture.
struct GraphModel: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "graph",
    abstract: "Print a model as a picture: cordial model graph Todo.json > Todo.svg"
  )

  /// The file format of the picture.
  enum Format: String, ExpressibleByArgument, CaseIterable {
    case svg, dot
  }

  @Argument(help: "The model's file, or an Xcode model.")
  var model: String

  @Option(help: "svg, which browsers show, or dot for Graphviz.")
  var format = Format.svg

  func run() async throws {
    let drawing = ModelDrawing(try ModelFile.read(model))
    switch format {
    case .svg: Terminal.line(drawing.svg)
    case .dot: Terminal.line(drawing.dot)
    }
  }
}

/// `cordial model generate`: prints Swift code for the entities of a model.
struct GenerateCode: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "generate",
    abstract: "Print Swift structs for a model: cordial model generate --swift Todo.json",
    discussion: """
      Commit the file that you write. The same model gives the same text, so that a difference \
      in it is a difference in the model.
      """
  )

  @Argument(help: "The model's file, or an Xcode model.")
  var model: String

  @Flag(help: "Write Swift for the library Cordial.")
  var swift = false

  @Option(help: "The beginning of each type's name, as Todo in TodoTask.")
  var prefix = ""

  func validate() throws {
    guard swift else { throw ValidationError("Name the language: --swift") }
    guard prefix.isEmpty || prefix.wholeMatch(of: /[A-Z][A-Za-z0-9]*/) != nil else {
      throw ValidationError("--prefix begins with a capital letter, as the name of a type does")
    }
  }

  func run() async throws {
    let source = SwiftSource(try ModelFile.read(model), prefix: prefix)
    for note in source.notes { Terminal.note("Note: \(note).\n") }
    Terminal.text(source.text)
  }
}
