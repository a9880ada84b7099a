// Porting: the objects of a store as lines of JSON, read and written through a client.
//
// Must not know: arguments, terminals, how the client is connected.
//
// What always holds:
// 1. What export writes, import reads: the objects, their values and their references.
// 2. An error names the line and the number of objects that are imported.

package import Cordial
import JSON
import ObjectModel

/// Why objects cannot be imported or exported, as one sentence.
package struct PortingError: Error, Sendable {
  package let message: String

  init(_ message: String) { self.message = message }
}

/// The relationships of a model, by entity and property.
private struct References {
  /// The kind of a relationship.
  enum Kind {
    case toOne, toMany, ordered
  }

  /// The kinds by entity, then by property.
  private let kinds: [String: [String: Kind]]

  init(_ model: Model) {
    var kinds: [String: [String: Kind]] = [:]
    for entity in model.entities {
      kinds[entity.name] = Dictionary(
        uniqueKeysWithValues: entity.relationships.map { relationship in
          (
            relationship.name,
            !relationship.toMany ? .toOne : relationship.ordered ? .ordered : .toMany
          )
        }
      )
    }
    self.kinds = kinds
  }

  /// Returns the kind of a relationship; nil for an attribute.
  func kind(_ entity: String, _ property: String) -> Kind? { kinds[entity]?[property] }
}

/// The objects of a file, one on each line.
private struct ObjectLines {
  typealias Object = (line: Int, object: JSONValue)

  private let bytes: [UInt8]
  private var start = 0
  private var line = 0

  init(_ bytes: [UInt8]) { self.bytes = bytes }

  /// Returns the next objects, at most `count`; none at the end.
  ///
  /// - Throws: `PortingError` for a line that is not JSON.
  mutating func next(_ count: Int) throws -> [Object] {
    var objects: [Object] = []
    while start < bytes.count, objects.count < count {
      let end = JSONBytes.firstIndex(of: 0x0A, in: bytes.span, from: start)
      defer { start = end + 1 }
      line += 1
      guard end > start else { continue }
      do {
        objects.append((line, try JSONParser.parse(bytes.span.extracting(start..<end))))
      } catch {
        throw PortingError("Line \(line): \(error.message)")
      }
    }
    return objects
  }
}

/// The result of an import.
package struct ImportSummary: Sendable {
  /// The number of objects that were saved.
  package let imported: Int
  /// The referenced IDs that are not in the file; the references to them were left out.
  package let unknown: Set<String>
}

/// An import of objects: it turns lines into saves, and maps the IDs of the file to stored IDs.
package struct Importer {
  private typealias Kind = References.Kind

  private let client: ClientConnection
  /// The only entity of the file, nil if the file may have objects of all.
  private let entity: String?
  private let references: References
  private var required: RequiredReferences
  private let batch: Int
  private let progress: @Sendable (Int) -> Void
  /// The stored ID of each imported object, by its ID in the file.
  private var known: [String: String] = [:]
  private var inserts: [JSONValue] = []
  /// The temporary ID of each pending insert, by its ID in the file.
  private var pending: [String: String] = [:]
  /// The references to objects that were not read yet: object, property, target IDs in the file.
  private var deferred: [(object: String, property: String, kind: Kind, targets: [String])] = []
  /// The number of deferred references whose object is saved and has its permanent ID.
  private var settledCount = 0
  /// The referenced IDs that are not in the file.
  private var unknown: Set<String> = []
  private var imported = 0

  /// Imports objects into the store of a service.
  ///
  /// - Parameters:
  ///   - bytes: Lines of JSON, one object `{"id", "values"}` on each. The objects reference one
  ///     another by the IDs of the file, in any order.
  ///   - client: A client of the service.
  ///   - entity: The only entity of the file, nil if the file may have objects of all. If it is
  ///     given, references to objects of other entities name objects of the store.
  ///   - batch: The number of objects in one save.
  ///   - progress: Called after each save with the number of objects that were saved.
  /// - Returns: What was imported.
  /// - Throws: `PortingError` with the line and the number of imported objects; `ClientError`.
  package static func run(
    _ bytes: [UInt8],
    into client: ClientConnection,
    of entity: String? = nil,
    batch: Int,
    progress: @escaping @Sendable (Int) -> Void = { _ in }
  ) async throws -> ImportSummary {
    let model = try ModelDocument.model(from: try await client.call("model", [:]))
    var importer = Importer(
      client: client,
      model: model,
      entity: entity,
      batch: batch,
      progress: progress
    )
    try await importer.run(bytes)
    return ImportSummary(imported: importer.imported, unknown: importer.unknown)
  }

  private init(
    client: ClientConnection,
    model: Model,
    entity: String?,
    batch: Int,
    progress: @escaping @Sendable (Int) -> Void
  ) {
    self.client = client
    self.entity = entity
    references = References(model)
    required = RequiredReferences(model)
    self.batch = batch
    self.progress = progress
  }

  private mutating func run(_ bytes: [UInt8]) async throws {
    var lines = ObjectLines(bytes)
    var objects = try next(&lines)
    while !objects.isEmpty {
      for (line, object) in objects { try add(object, line) }
      guard !inserts.isEmpty else {
        objects = try next(&lines)
        continue
      }
      let save: JSONValue = ["insert": .array(inserts), "context": "import"]
      let client = client
      async let answer = client.call("save", save)
      // The next lines are read while these are saved. Their errors are reported after the save.
      let following = Result { try lines.next(batch) }
      do {
        record(try await answer)
      } catch let error as ClientError {
        throw PortingError(
          "The save that ends at line \(objects.last?.line ?? 0) failed, "
            + "\(imported) objects are imported: \(error.message)"
        )
      }
      objects = try addingCount(following)
    }
    try await saveRest()
    try await link()
  }

  /// Saves the objects that require objects outside the file, which the store may refuse.
  private mutating func saveRest() async throws {
    let rest = required.rest()
    guard !rest.isEmpty else { return }
    stage(rest)
    do {
      record(try await client.call("save", ["insert": .array(inserts), "context": "import"]))
    } catch {
      throw PortingError(
        "\(rest.count) objects, the first in line \(rest[0].line), require objects that are not in "
          + "the file; \(imported) objects are imported: \(error.message)"
      )
    }
  }

  private func next(_ lines: inout ObjectLines) throws -> [ObjectLines.Object] {
    try addingCount(Result { try lines.next(batch) })
  }

  /// Returns the objects of a result, or adds the number of imported objects to its error.
  private func addingCount(
    _ objects: Result<[ObjectLines.Object], any Error>
  ) throws -> [ObjectLines.Object] {
    do {
      return try objects.get()
    } catch let error as PortingError {
      throw PortingError("\(error.message); \(imported) objects are imported")
    }
  }

  private mutating func add(_ object: JSONValue, _ line: Int) throws {
    let id = object["id"]?.string
    if let objection = objection(to: object) {
      throw PortingError("Line \(line) \(objection); \(imported) objects are imported")
    }
    guard let entity = Exporter.entity(object) else {
      throw PortingError(
        "Line \(line) has neither an id nor an entity; \(imported) objects are imported"
      )
    }
    // A call of a method would access all of `self` while `required` changes.
    let only = self.entity
    stage(
      try required.add((line, id, object), of: entity) { target in
        known[target] != nil || pending[target] != nil || Self.isStored(target, only: only)
      }
    )
  }

  /// The members of a line; a fetch returns the version too, which an import ignores.
  private static let members: Set<String> = ["id", "entity", "values", "version"]

  /// Returns why a line is not an object to import, nil if it is one.
  private func objection(to object: JSONValue) -> String? {
    guard let members = object.members else { return "is not an object" }
    if let unknown = members.first(where: { !Self.members.contains($0.name) }) {
      return "has the unknown member \(unknown.name); known members are id, entity and values"
    }
    if let values = object["values"], !values.isNull, values.members == nil {
      return "has values that are not an object"
    }
    if let id = object["id"]?.string, known[id] != nil || pending[id] != nil {
      return "has the id \(id) of an earlier line"
    }
    return nil
  }

  /// Adds objects to the next save; they may reference one another.
  private mutating func stage(_ objects: [RequiredReferences.Object]) {
    let first = inserts.count
    let temporaries = objects.indices.map { index in
      "\(Exporter.entity(objects[index].object) ?? "")/t\(first + index)"
    }
    for (object, temporary) in zip(objects, temporaries) {
      if let id = object.id { pending[id] = temporary }
    }
    for (object, temporary) in zip(objects, temporaries) {
      let entity = Exporter.entity(object.object) ?? ""
      var values: [JSONMember] = []
      for member in object.object["values"]?.members ?? [] {
        guard let kind = references.kind(entity, member.name) else {
          values.append(member)
          continue
        }
        if let value = resolve(member, kind, temporary) {
          values.append(JSONMember(member.name, value))
        }
      }
      inserts.append(["id": .string(temporary), "values": .object(values)])
    }
  }

  /// Returns whether a reference names an object of the store rather than one of the file.
  ///
  /// - Parameters:
  ///   - target: The ID of the reference.
  ///   - only: The only entity of the file, nil if the file may have objects of all.
  /// - Returns: Whether the object is outside the file.
  private static func isStored(_ target: String, only: String?) -> Bool {
    // The text after the slash may be any, so that the slash may be a part of a `Character`.
    only.map { !target.utf8.starts(with: "\($0)/".utf8) } ?? false
  }

  /// Returns the known part of a reference; the rest is deferred to the end.
  private mutating func resolve(
    _ member: JSONMember,
    _ kind: Kind,
    _ object: String
  ) -> JSONValue? {
    guard Self.isReference(member.value, kind) else {
      // The save reports the value.
      return member.value
    }
    let targets =
      kind != .toOne
      ? member.value.array?.compactMap(\.string) ?? [] : [member.value.string].compactMap { $0 }
    var found: [JSONValue] = []
    var missing: [String] = []
    for target in targets {
      if let id = known[target] ?? pending[target] {
        found.append(.string(id))
      } else if Self.isStored(target, only: entity) {
        found.append(.string(target))
      } else {
        missing.append(target)
      }
    }
    if kind == .ordered, !missing.isEmpty {
      // The order is set when all objects of the list are known.
      deferred.append((object, member.name, kind, targets))
      return nil
    }
    if !missing.isEmpty { deferred.append((object, member.name, kind, missing)) }
    if kind != .toOne { return found.isEmpty ? nil : .array(found) }
    return found.first
  }

  /// Returns whether a value is an ID, a list of IDs, or null.
  private static func isReference(_ value: JSONValue, _ kind: Kind) -> Bool {
    guard !value.isNull else { return true }
    guard kind != .toOne else { return value.string != nil }
    return value.array.map { $0.allSatisfy { $0.string != nil } } ?? false
  }

  /// Records the stored IDs of the objects of a save.
  private mutating func record(_ answer: JSONValue) {
    let ids = Dictionary(
      (answer["ids"]?.members ?? []).map { ($0.name, $0.value.string ?? "") },
      uniquingKeysWith: { first, _ in first }
    )
    for (id, temporary) in pending { known[id] = ids[temporary] }
    for index in settledCount..<deferred.count {
      if let id = ids[deferred[index].object] { deferred[index].object = id }
    }
    settledCount = deferred.count
    imported += inserts.count
    inserts = []
    pending = [:]
    progress(imported)
  }

  /// Saves the references to objects that came later in the file.
  private mutating func link() async throws {
    var updates: [JSONValue] = []
    var byObject: [String: Int] = [:]
    for (object, property, kind, targets) in deferred {
      let found = targets.compactMap { known[$0] }.map { JSONValue.string($0) }
      for target in targets where known[target] == nil { unknown.insert(target) }
      guard let first = found.first else { continue }
      let value: JSONValue =
        switch kind {
        case .toOne: first
        case .toMany: ["@add": .array(found)]
        case .ordered: .array(found)
        }
      if let index = byObject[object], var members = updates[index]["values"]?.members {
        members.append(JSONMember(property, value))
        updates[index] = ["id": .string(object), "values": .object(members)]
        continue
      }
      if updates.count >= batch {
        _ = try await client.call("save", ["update": .array(updates), "context": "import"])
        updates = []
        byObject = [:]
      }
      byObject[object] = updates.count
      updates.append(["id": .string(object), "values": [property: value]])
    }
    guard !updates.isEmpty else { return }
    _ = try await client.call("save", ["update": .array(updates), "context": "import"])
  }
}
