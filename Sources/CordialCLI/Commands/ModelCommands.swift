import ArgumentParser
import CordialService
import JSON
import ObjectModel
import PersistentStore
import XcodeModel

/// `cordial model`: commands for model files.
struct ModelCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "model",
    abstract: "Import, check, draw and compare models, and migrate stores.",
    subcommands: [
      ImportModel.self, CheckModel.self, GraphModel.self, DiffModel.self, MigrateStore.self,
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

/// `cordial model graph`: prints the entities and relationships as a graph.
struct GraphModel: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "graph",
    abstract: "Print a model as a Graphviz graph: cordial model graph Todo.json | dot -Tsvg"
  )

  @Argument(help: "The model's file, or an Xcode model.")
  var model: String

  func run() async throws {
    let model = try ModelFile.read(model)
    Terminal.line("digraph \"\(model.name)\" {")
    Terminal.line("  rankdir=LR; node [shape=record, fontname=\"Helvetica\"];")
    for entity in model.entities {
      let inherited = Set((parent(of: entity, model)?.attributes ?? []).map(\.name))
      let attributes = entity.attributes.filter { !inherited.contains($0.name) }.map {
        "\($0.name): \($0.type.rawValue)\($0.optional ? "?" : "")\\l"
      }
      Terminal.line("  \(entity.name) [label=\"{\(entity.name)|\(attributes.joined())}\"];")
    }
    for entity in model.entities {
      if let parent = parent(of: entity, model) {
        Terminal.line("  \(entity.name) -> \(parent.name) [arrowhead=empty];")
      }
      for relationship in entity.relationships
      where relationship.owner == entity.number && isDrawn(relationship, of: entity, model) {
        let destination = model.entity(relationship.destination)
        let ends = relationship.inverse.map { ", taillabel=\"\($0)\"" } ?? ""
        let both = relationship.inverse == nil ? "" : ", dir=both"
        Terminal.line(
          "  \(entity.name) -> \(destination.name) [headlabel=\"\(relationship.name)"
            + "\(relationship.toMany ? "*" : "")\"\(ends)\(both)];"
        )
      }
    }
    Terminal.line("}")
  }

  private func parent(of entity: EntityDescription, _ model: Model) -> EntityDescription? {
    entity.familyPosition.ancestors.dropLast().last.map { model.entity($0) }
  }

  /// Returns whether a relationship is drawn from this end.
  ///
  /// Both ends of a relationship are one line, drawn from the end whose name comes first.
  private func isDrawn(
    _ relationship: RelationshipDescription,
    of entity: EntityDescription,
    _ model: Model
  ) -> Bool {
    guard let inverse = relationship.inverse else { return true }
    let destination = model.entity(relationship.destination)
    return (entity.name, relationship.name) <= (destination.name, inverse)
  }
}
