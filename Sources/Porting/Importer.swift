// Porting: the objects of a store as lines of JSON, read and written through a client.
//
// Must not know: arguments, terminals, how the client is connected.
//
// What always holds:
// 1. An import restores what an export wrote: the objects, their values and their references.
// 2. An error names the line and the number of objects that are imported.

package import Cordial
import CordialProtocol
import CordialValues
import JSON
import ObjectModel

/// A reason why objects cannot be imported or exported.
package struct PortingError: Error, Sendable {
  /// One sentence, which is cut if names or values of the file make it too long.
  package let message: String

  private static let lengthMax = 1000

  init(_ message: String) {
    let isLong = message.utf8.count > Self.lengthMax
    self.message = isLong ? message.prefix(Self.lengthMax) + "…" : message
  }
}

/// The kinds of the relationships of a model, by entity and property.
private struct References {
  /// The kind of a relationship.
  enum Kind: String {
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

/// The result of an import.
package struct ImportSummary: Sendable {
  /// The number of saved objects.
  package let imported: Int
  /// The number of referenced IDs that are not in the file; the import omits these references.
  package let unknownCount: Int
  /// Some of the referenced IDs that are not in the file.
  package let unknown: Set<String>
}

/// An import, which turns lines into saves and maps the IDs of the file to stored IDs.
package struct Importer {
  private typealias Kind = References.Kind

  /// A reference to objects that have not been read yet.
  private struct Deferred {
    /// The ID of the object with the reference; a temporary ID until its save is answered.
    var object: String
    let property: String
    let kind: Kind
    /// The IDs by which the file names the referenced objects.
    let targets: [String]
  }

  /// The maximum number of unknown IDs in a summary.
  private static let unknownMax = 100

  private let client: ClientConnection
  /// The only entity of the file; nil if the file may have objects of all entities.
  private let entity: String?
  private let references: References
  private var required: RequiredReferences
  private let batch: Int
  private let index: ImportIndex
  private let progress: @Sendable (Int) -> Void
  private var inserts: [SaveCall.Insert] = []
  /// The length of the pending inserts in the file, in bytes.
  private var insertBytes = 0
  /// The temporary ID of each pending insert, by the bytes of its ID in the file.
  ///
  /// Swift compares texts in a normalized form, in which `é` and `e` with an accent are equal.
  private var pending: [[UInt8]: String] = [:]
  /// The deferred references of the pending inserts.
  private var deferred: [Deferred] = []
  private var unknownCount = 0
  private var unknown: Set<String> = []
  private var imported = 0

  /// Imports objects into the store of a service.
  ///
  /// - Parameters:
  ///   - file: Lines of JSON, one object `{"id", "values"}` on each, or an archive. The objects
  ///     reference one another by the IDs of the file, in any order.
  ///   - client: A client of the service.
  ///   - entity: The only entity of the file; nil if the file may have objects of all entities.
  ///     With an entity, references to objects of other entities name objects of the store.
  ///   - batch: The number of objects in one save.
  ///   - progress: Called after each save with the number of saved objects.
  /// - Returns: A summary of the import.
  /// - Throws: `PortingError` with the line and the number of imported objects; `ClientError`; the
  ///   errors of the file.
  package static func run(
    _ file: any InputFile,
    into client: ClientConnection,
    of entity: String? = nil,
    batch: Int,
    progress: @escaping @Sendable (Int) -> Void = { _ in }
  ) async throws -> ImportSummary {
    let model = try ModelDocument.model(from: try await client.call(ModelCall()).json)
    let index = try ImportIndex()
    var importer = Importer(
      client: client,
      entity: entity,
      references: References(model),
      required: RequiredReferences(model, file, index),
      batch: batch,
      index: index,
      progress: progress
    )
    try await importer.run(file)
    return ImportSummary(
      imported: importer.imported,
      unknownCount: importer.unknownCount,
      unknown: importer.unknown
    )
  }

  private mutating func run(_ file: any InputFile) async throws {
    var lines = try ObjectLines(file)
    var objects = try next(&lines)
    while true {
      for object in objects {
        try add(object)
        if isFull { try await save() }
      }
      try stageReleased()
      guard !inserts.isEmpty else {
        guard !objects.isEmpty else { break }
        objects = try next(&lines)
        continue
      }
      let last = objects.last?.line
      let (client, save) = (client, pendingSave)
      async let answer = client.call(save)
      // The next lines are read during the save. Their errors are reported after the save.
      let following = Result { try lines.next(batch) }
      do {
        try record(try await answer)
      } catch let error as ClientError {
        throw failure(error, last)
      }
      objects = try addingCount(following)
    }
    try await saveRest()
    try await link()
  }

  /// Whether the pending inserts are so long, or so many, that they must be saved now.
  ///
  /// The inserts from one portion of the file stay below the limits. Released objects may exceed
  /// the limits.
  private var isFull: Bool {
    insertBytes > 2 * ObjectLines.portionBytesMax || inserts.count >= 2 * batch
  }

  private var pendingSave: SaveCall {
    var call = SaveCall()
    call.inserts = inserts
    call.context = Self.context
    return call
  }

  /// The context of all saves in the history.
  private static let context = "import"

  /// Saves the pending inserts.
  private mutating func save() async throws {
    do {
      try record(try await client.call(pendingSave))
    } catch let error as ClientError {
      throw failure(error, nil)
    }
  }

  private func failure(_ error: ClientError, _ lastLine: Int?) -> PortingError {
    let save = lastLine.map { "that ends at line \($0)" } ?? "of objects that have waited"
    return PortingError(
      "The save \(save) failed, \(imported) objects are imported: \(error.message)"
    )
  }

  /// Saves the objects that require objects outside the file; the store may refuse them.
  private mutating func saveRest() async throws {
    let rest = try addingCount(Result { try required.rest() })
    guard !rest.isEmpty else { return }
    try stage(rest)
    do {
      try record(try await client.call(pendingSave))
    } catch {
      throw PortingError(
        "\(rest.count) objects, the first in line \(rest[0].line), require objects that are not in "
          + "the file; \(imported) objects are imported: \(Self.message(error))"
      )
    }
  }

  private static func message(_ error: any Error) -> String {
    switch error {
    case let error as ClientError: error.message
    case let error as PortingError: error.message
    default: "\(error)"
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

  private mutating func add(_ object: ObjectLines.Object) throws {
    if let objection = try object.objection ?? objection(to: object.id) {
      throw PortingError("Line \(object.line) \(objection); \(imported) objects are imported")
    }
    let entity = Exporter.entity(object.object) ?? ""
    let (only, index) = (self.entity, self.index)
    let released = try required.add(object, of: entity, max: batch) { target in
      try Self.isKnown(target, pending, index, only: only)
    }
    try stage(released)
  }

  /// Fills the next save with waiting objects whose required objects are all saved or in the next
  /// save.
  private mutating func stageReleased() throws {
    let (only, index) = (self.entity, self.index)
    while inserts.count < batch, !isFull {
      let released = try required.nextReleased(max: batch - inserts.count) { target in
        try Self.isKnown(target, pending, index, only: only)
      }
      guard let released else { return }
      try stage(released)
    }
  }

  /// Returns the reason to refuse an ID that an earlier line already uses; nil for a new ID.
  private func objection(to id: String?) throws -> String? {
    guard let id, try pending[Array(id.utf8)] != nil || index.first(.stored, id) != nil else {
      return nil
    }
    return "has the id \(id) of an earlier line"
  }

  /// Adds objects to the next save; they may reference one another.
  private mutating func stage(_ objects: [ObjectLines.Object]) throws {
    let first = inserts.count
    let temporaries = objects.indices.map { index in
      "\(Exporter.entity(objects[index].object) ?? "")/t\(first + index)"
    }
    for (object, temporary) in zip(objects, temporaries) {
      guard let id = object.id else { continue }
      pending[Array(id.utf8)] = temporary
      try required.staged(id)
    }
    for (object, temporary) in zip(objects, temporaries) {
      let entity = Exporter.entity(object.object) ?? ""
      var values: [JSONMember] = []
      for member in object.object[.values]?.members ?? [] {
        guard let kind = references.kind(entity, member.name) else {
          values.append(member)
          continue
        }
        if let value = try resolve(member, kind, temporary) {
          values.append(JSONMember(member.name, value))
        }
      }
      inserts.append(SaveCall.Insert(id: temporary, values: values))
      insertBytes += object.range.count
    }
  }

  /// Returns whether a reference names a stored object, or an object in the next save.
  ///
  /// The function is static, because a method would read all of `self` while `required` changes.
  private static func isKnown(
    _ target: String,
    _ pending: [[UInt8]: String],
    _ index: ImportIndex,
    only: String?
  ) throws -> Bool {
    try pending[Array(target.utf8)] != nil || isStored(target, only: only)
      || index.first(.stored, target) != nil
  }

  /// Returns whether a reference names an object of the store instead of an object of the file.
  ///
  /// - Parameters:
  ///   - target: The ID of the reference.
  ///   - only: The only entity of the file; nil if the file may have objects of all entities.
  /// - Returns: Whether the object is outside the file.
  private static func isStored(_ target: String, only: String?) -> Bool {
    // Compares bytes, because the slash may form one `Character` with a mark after it.
    only.map { !target.utf8.starts(with: "\($0)/".utf8) } ?? false
  }

  /// Returns the known targets of a reference, and defers its unknown targets to the end.
  private mutating func resolve(
    _ member: JSONMember,
    _ kind: Kind,
    _ object: String
  ) throws -> JSONValue? {
    guard Self.isReference(member.value, kind) else {
      // The service reports the invalid value when it refuses the save.
      return member.value
    }
    let targets =
      kind != .toOne
      ? member.value.array?.compactMap(\.string) ?? [] : [member.value.string].compactMap { $0 }
    var found: [JSONValue] = []
    var missing: [String] = []
    for target in targets {
      if let id = try pending[Array(target.utf8)] ?? index.first(.stored, target) {
        found.append(.string(id))
      } else if Self.isStored(target, only: entity) {
        found.append(.string(target))
      } else {
        missing.append(target)
      }
    }
    // An ordered list with unknown objects is deferred as a whole, so that its order stays correct.
    let isWhole = kind == .ordered && !missing.isEmpty
    if !missing.isEmpty {
      deferred.append(
        Deferred(
          object: object,
          property: member.name,
          kind: kind,
          targets: isWhole ? targets : missing
        )
      )
    }
    if isWhole { return nil }
    if kind != .toOne { return found.isEmpty ? nil : .array(found) }
    return found.first
  }

  /// Returns whether a value is an ID, a list of IDs, or null.
  private static func isReference(_ value: JSONValue, _ kind: Kind) -> Bool {
    guard !value.isNull else { return true }
    guard kind != .toOne else { return value.string != nil }
    return value.array.map { $0.allSatisfy { $0.string != nil } } ?? false
  }

  /// Records the stored IDs and the deferred references of the objects that a save inserted.
  private mutating func record(_ saved: SaveCall.Result) throws {
    let ids = Dictionary(
      saved.ids.map { ($0.name, $0.value.string ?? "") },
      uniquingKeysWith: { first, _ in first }
    )
    for (id, temporary) in pending {
      guard let stored = ids[temporary] else { continue }
      try index.add(.stored, String(decoding: id, as: UTF8.self), stored)
    }
    for reference in deferred {
      let object = ids[reference.object] ?? reference.object
      try index.add(
        .deferred,
        "",
        JSONValue.array(
          [object, reference.property, reference.kind.rawValue].map { .string($0) }
            + reference.targets.map { .string($0) }
        ).text
      )
    }
    deferred = []
    imported += inserts.count
    inserts = []
    insertBytes = 0
    pending = [:]
    progress(imported)
  }

  /// Saves the references to objects that came later in the file.
  private mutating func link() async throws {
    var updates: [(object: String, values: [JSONMember])] = []
    var bytes = 0
    var byObject: [String: Int] = [:]
    while case let texts = try index.take(.deferred, "", max: batch), !texts.isEmpty {
      for text in texts {
        let parts = try JSONParser.parse(text).array?.compactMap(\.string) ?? []
        guard parts.count > 3, let kind = Kind(rawValue: parts[2]) else { continue }
        let (object, property) = (parts[0], parts[1])
        guard let value = try value(kind, of: parts[3...]) else { continue }
        if let known = byObject[object] {
          updates[known].values.append(JSONMember(property, value))
          continue
        }
        if updates.count >= batch || bytes > ObjectLines.portionBytesMax {
          try await save(updates)
          updates = []
          bytes = 0
          byObject = [:]
        }
        bytes += text.utf8.count
        byObject[object] = updates.count
        updates.append((object, [JSONMember(property, value)]))
      }
    }
    guard !updates.isEmpty else { return }
    try await save(updates)
  }

  private func save(_ updates: [(object: String, values: [JSONMember])]) async throws {
    var call = SaveCall()
    call.updates = updates.map { SaveCall.Update(id: $0.object, version: nil, values: $0.values) }
    call.context = Self.context
    do {
      _ = try await client.call(call)
    } catch {
      throw PortingError(
        "The save of references to later lines failed; \(imported) objects are imported, some "
          + "without these references: \(error.message)"
      )
    }
  }

  /// Returns the value of a deferred reference; nil if no referenced object is in the file.
  private mutating func value(_ kind: Kind, of targets: ArraySlice<String>) throws -> JSONValue? {
    var found: [JSONValue] = []
    for target in targets {
      if let id = try index.first(.stored, target) {
        found.append(.string(id))
      } else if try index.first(.unknown, target) == nil {
        try index.add(.unknown, target, "")
        unknownCount += 1
        if unknown.count < Self.unknownMax { unknown.insert(target) }
      }
    }
    guard let first = found.first else { return nil }
    return switch kind {
    case .toOne: first
    case .toMany: ["@add": .array(found)]
    case .ordered: .array(found)
    }
  }
}
