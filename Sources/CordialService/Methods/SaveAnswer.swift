import CordialProtocol
import CordialValues
package import JSON
package import ObjectModel
package import PersistentStore

/// The encoder of a transaction's result.
package struct SaveAnswer: Sendable {
  let model: Model

  /// Creates an encoder for the results of a store with a model.
  package init(model: Model) {
    self.model = model
  }

  /// Writes `"ids":{…},"objects":[…]`, and `"merged"` if the merge policy resolved conflicts.
  package func writeSave(_ result: SaveResult, to writer: inout JSONWriter) {
    writer.key(.ids)
    writer.raw("{")
    for (index, inserted) in result.ids.enumerated() {
      if index > 0 { writer.raw(",") }
      writer.string(inserted.sent)
      writer.raw(":")
      write(inserted.name, to: &writer)
    }
    writer.raw("},")
    writeObjects(result.objects, to: &writer)
    guard !result.merged.isEmpty else { return }
    writer.key(.merged, after: ",")
    writer.raw("[")
    for (index, merged) in result.merged.enumerated() {
      if index > 0 { writer.raw(",") }
      write(merged, to: &writer)
    }
    writer.raw("]")
  }

  /// Writes `"count":…`, and `"ids"` if the request wants the IDs.
  package func writeCount(_ result: SaveResult, to writer: inout JSONWriter) {
    writer.key(.count)
    writer.integer(Int64(result.count))
    guard let matched = result.matched else { return }
    writer.key(.ids, after: ",")
    writer.raw("[")
    for (index, name) in matched.enumerated() {
      if index > 0 { writer.raw(",") }
      write(name, to: &writer)
    }
    writer.raw("]")
  }

  /// Writes `"undone":…,"objects":[…]`.
  package func writeRevert(_ result: SaveResult, to writer: inout JSONWriter) {
    writer.key(.undone)
    writer.integer(Int64(result.undone ?? 0))
    writer.raw(",")
    writeObjects(result.objects, to: &writer)
  }

  private func writeObjects(_ objects: [SavedObject], to writer: inout JSONWriter) {
    writer.key(.objects)
    writer.raw("[")
    for (index, object) in objects.enumerated() {
      if index > 0 { writer.raw(",") }
      writer.key(.id, after: "{")
      write(object.id, to: &writer)
      guard let version = object.version else {
        writer.key(.deleted, after: ",")
        writer.raw("true}")
        continue
      }
      writer.key(.version, after: ",")
      writer.integer(version)
      write(object.values, to: &writer)
      writer.raw("}")
    }
    writer.raw("]")
  }

  private func write(_ values: [SavedProperty], to writer: inout JSONWriter) {
    guard !values.isEmpty else { return }
    writer.key(.values, after: ",")
    writer.raw("{")
    var names = NestedNames()
    for property in values {
      writer.raw(string: names.next(property.name))
      switch property.value {
      case .attribute(let value): writer.value(WireValue.json(value))
      case .reference(let name): write(name, to: &writer)
      case .references(let names):
        writer.raw("[")
        for (index, name) in names.enumerated() {
          if index > 0 { writer.raw(",") }
          write(name, to: &writer)
        }
        writer.raw("]")
      }
    }
    writer.raw(string: names.end)
    writer.raw("}")
  }

  private func write(_ merged: MergedObject, to writer: inout JSONWriter) {
    writer.key(.id, after: "{")
    write(merged.id, to: &writer)
    switch merged.outcome {
    case .delete(let outcome):
      writer.key(.delete, after: ",")
      writer.string(outcome.rawValue)
    case .properties(let properties):
      writer.key(.properties, after: ",")
      writer.raw("{")
      for (index, property) in properties.enumerated() {
        if index > 0 { writer.raw(",") }
        writer.name(property.name)
        writer.string(property.outcome.rawValue)
      }
      writer.raw("}")
    }
    writer.raw("}")
  }

  private func write(_ name: ObjectName?, to writer: inout JSONWriter) {
    switch name {
    case .object(let key):
      writer.raw(model.entity(key.entity).referencePrefix)
      writer.integer(key.object)
      writer.raw("\"")
    case .text(let text): writer.string(text)
    case nil: writer.null()
    }
  }

  /// Returns the wrapped ID of an object.
  package func text(_ name: ObjectName) -> String {
    switch name {
    case .object(let key): "\(model.entity(key.entity).name)/p\(key.object)"
    case .text(let text): text
    }
  }
}
