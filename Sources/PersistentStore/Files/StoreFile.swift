import Glibc
import JSON
import ObjectModel
import PersistentHistory
import SQLite
import StoreLayout

/// The creation of a store's file, and the reading of its metadata.
enum StoreFile {
  /// The metadata of a store.
  struct Facts: Sendable {
    let model: Model
    let generation: UInt32
    let identifier: String
    /// The hashes of the store's former models.
    let formerHashes: Set<String>
    /// Whether this process's ICU version computed the stored sort keys and folded texts.
    ///
    /// If not, a writer recomputes them.
    var hasCurrentTexts: Bool
    /// Whether the file has the triggers of this version; if not, a writer creates them.
    var hasTriggers: Bool
    /// The program's functions for transient attributes, by name.
    var computing: [String: ComputedValue] = [:]

    /// The names of the program's functions.
    var functions: Set<String> { Set(computing.keys) }
  }

  /// The version of the tables that do not depend on the model.
  private static let formatVersion = "1"

  /// Creates a missing store in one transaction, so that a crash leaves either no store or a
  /// complete store.
  ///
  /// - Returns: Whether the store was missing.
  /// - Throws: `StoreError`; `SQLiteError`.
  static func create(
    at path: String,
    model: Model,
    environment: StoreEnvironment
  ) throws -> Bool {
    guard try !hasTables(path) else { return false }
    do {
      try createTables(at: path, model, environment)
      return true
    } catch {
      // An incomplete file is removed, because it would be mistaken for another program's database.
      if !isLocked(error), !hasTablesOrIsLocked(path) {
        for file in [path, path + "-wal", path + "-shm"] { unsafe unlink(file) }
      }
      throw error
    }
  }

  /// Returns whether another process has created a database meanwhile, or is creating it.
  private static func hasTablesOrIsLocked(_ path: String) -> Bool {
    do {
      return try hasTables(path)
    } catch {
      // A file that cannot be read was not written completely.
      return isLocked(error)
    }
  }

  private static func isLocked(_ error: any Error) -> Bool {
    guard let error = error as? SQLiteError else { return false }
    return [.busy, .locked].contains(error.code)
  }

  private static func createTables(
    at path: String,
    _ model: Model,
    _ environment: StoreEnvironment
  ) throws {
    let queue = try StoreConnection.open(path, .writer)
    try queue.write { db in
      // Tables mean that the store exists already, or that another program owns the database. An
      // interrupted creation leaves no tables.
      guard try db.integer("SELECT count(*) FROM sqlite_master") == 0 else { return }
      try db.execute(LogTables.all)
      for statement in StoreSchema.statements(for: model) { try db.execute(statement) }
      let generation = environment.random()
      let identifier = [environment.random(), environment.random()]
      let facts: [StoreMetadata: String] = [
        .soundAfter: "0",
        .format: formatVersion, .model: model.document.text, .modelHash: model.hash,
        .slots: slotsText(model), .triggers: LogTriggers.formatVersion,
        .generation: String(generation, radix: 16),
        .identifier: identifier.map { String($0, radix: 16) }.joined(),
      ]
      for (fact, value) in facts { try fact.set(value, db) }
      try HistoryWriter(db, model: model).writeEntry(
        0,
        CommitStamp(time: environment.now(), mark: environment.random())
      )
    }
    try queue.close()
  }

  /// Replaces the triggers of a store, in the caller's write transaction.
  ///
  /// All triggers with Cordial's prefix are dropped, because an earlier version may have used other
  /// names.
  static func replaceTriggers(_ model: Model, _ db: SQLiteConnection) throws {
    let names = try db.rows("SELECT name FROM sqlite_schema WHERE type = 'trigger'") { $0.text(0) }
    for name in names where name.hasPrefix(SQLNames.triggerPrefix) {
      try db.execute("DROP TRIGGER \(SQLNames.quoted(name))")
    }
    for entity in model.entities {
      for trigger in LogTriggers.triggers(for: entity, in: model) { try db.execute(trigger) }
    }
    try StoreMetadata.triggers.set(LogTriggers.formatVersion, db)
  }

  /// Replaces the stored model with a model of the same version; the two models may differ in their
  /// stored requests and texts.
  static func updateModel(_ model: Model, at path: String) throws {
    let queue = try StoreConnection.open(path, .writer)
    let text = model.document.text
    try queue.write { db in
      guard try StoreMetadata.model.value(db) != text else { return }
      try StoreMetadata.model.set(text, db)
    }
    try queue.close()
  }

  /// Returns whether a database with content exists; the database is only read.
  static func hasTables(_ path: String) throws -> Bool {
    guard FileSize.of([path]) > 0 else { return false }
    let queue = try StoreConnection.open(path, .reader)
    let count = try queue.use { db in
      try db.integer("SELECT count(*) FROM sqlite_master") ?? 0
    }
    try queue.close()
    return count > 0
  }

  /// Reads a store's metadata, and compares its schema with the schema that its model generates.
  ///
  /// If the requested model and the store's model are the same version, the returned model has the
  /// name, the stored requests and the texts of the requested model.
  ///
  /// - Parameters:
  ///   - path: The path of `store.sqlite`.
  ///   - role: The user of the connection.
  ///   - requested: The model that the caller has; nil for the store's own model.
  ///   - refusal: Returns the error for a schema difference that makes the store unusable; if nil,
  ///     the error names the path.
  /// - Returns: The metadata.
  /// - Throws: `StoreError`; `SQLiteError`.
  @discardableResult
  static func read(
    at path: String,
    role: StoreConnection.Role,
    requested: Model?,
    refusal: ((SchemaComparison.Difference) -> StoreError)? = nil
  ) throws -> Facts {
    let queue = try StoreConnection.open(path, role)
    let (meta, parts) = try queue.use { db in
      guard try db.hasTable(StoreMetadata.table) else {
        throw StoreError(
          .cannotOpen,
          "\(path) is a SQLite database, but not a Cordial store",
          hint: "Name another folder"
        )
      }
      let parts = try db.rows(SchemaComparison.Part.query) { SchemaComparison.Part($0) }
      return (try StoreMetadata.all(db), parts)
    }
    try queue.close()
    guard meta[.format] == formatVersion else {
      throw StoreError(
        .modelMismatch,
        "The store's format is \(meta[.format] ?? "unknown"), this program reads \(formatVersion)",
        hint: "Open it with a newer Cordial"
      )
    }
    guard let generation = meta[.generation].flatMap({ UInt32($0, radix: 16) }),
      let identifier = meta[.identifier]
    else { throw damaged("generation or identifier", path) }
    let kept = try model(meta, requested, path)
    let schema = SchemaComparison(parts, kept, triggers: meta[.triggers])
    if let difference = schema.refusal {
      throw refusal?(difference) ?? StoreError(difference, in: path)
    }
    return Facts(
      model: kept,
      generation: generation,
      identifier: identifier,
      formerHashes: Set((meta[.formerHashes] ?? "").split(separator: " ").map(String.init)),
      hasCurrentTexts: meta[.unicode] == Folding.version,
      hasTriggers: !schema.lacksTriggers
    )
  }

  /// Returns the model of a store, in the requested model's form if both are the same version.
  ///
  /// The log identifies entities by numbers, which depend on the order of the entities. The order
  /// of the store's model therefore applies, whatever the order in the requested model's file.
  private static func model(
    _ meta: [StoreMetadata: String],
    _ requested: Model?,
    _ path: String
  ) throws(StoreError) -> Model {
    let kept: Model
    do throws(ModelError) {
      let text = Array((meta[.model] ?? "").utf8)
      kept = try ModelDocument.parse(text.span)
    } catch {
      throw StoreError(error, in: "in \(path)")
    }
    // If another program changed the stored text, the text would describe a different model.
    guard let hash = meta[.modelHash], kept.isIdentified(by: hash) else {
      throw damaged("model", path)
    }
    // Slots are necessary only for a model with families, because only the object numbers of
    // families depend on slots.
    guard let slots = meta[.slots].map({ slots($0) }) ?? (kept.slots.isEmpty ? [:] : nil) else {
      throw damaged("slots", path)
    }
    guard let retired = meta[.retired].map({ retired($0) }) ?? [] else {
      throw damaged("retired entities", path)
    }
    // The log identifies the targets of a retired entity's to-ones by these entity numbers.
    let destinations = retired.flatMap { $0.description.relationships.map(\.destination) }
    let numbers = 0...kept.entities.count
    let retiredNumbers = RetiredEntity.numberMin..<RetiredEntity.numberMin + retired.count
    guard destinations.allSatisfy({ numbers.contains($0) || retiredNumbers.contains($0) }) else {
      throw damaged("retired entities", path)
    }
    do throws(ModelError) {
      guard let requested, requested.hash == kept.hash else {
        return try ModelDocument.model(from: kept.document, slots: slots, retired: retired)
      }
      return try ModelDocument.model(
        from: ModelDocument.document(requested.document, ordered: kept.document),
        slots: slots,
        retired: retired
      )
    } catch {
      throw StoreError(error, in: "in \(path)")
    }
  }

  static func slotsText(_ model: Model) -> String {
    JSONValue.object(
      model.slots.sorted { $0.key < $1.key }.map { JSONMember($0.key, .integer(Int64($0.value))) }
    ).text
  }

  /// Reads the number of each entity family's slot, without which object numbers have no meaning.
  private static func slots(_ text: String) -> [String: Int]? {
    let members: [JSONMember]?
    do {
      members = try JSONParser.parse(text).members
    } catch {
      return nil
    }
    guard let members else { return nil }
    var slots: [String: Int] = [:]
    for member in members {
      guard let number = member.value.integer, EntityDescription.slots.contains(Int(number)) else {
        return nil
      }
      slots[member.name] = Int(number)
    }
    return slots
  }

  static func retiredText(_ retired: [RetiredEntity]) -> String {
    JSONValue.array(retired.map(\.json)).text
  }

  /// Reads the retired entities, without which rows of the log have no meaning.
  private static func retired(_ text: String) -> [RetiredEntity]? {
    let elements: [JSONValue]?
    do {
      elements = try JSONParser.parse(text).array
    } catch {
      return nil
    }
    let retired = (elements ?? []).compactMap { RetiredEntity($0) }
    let numbers = retired.map { $0.description.number - RetiredEntity.numberMin }
    guard retired.count == elements?.count, numbers.elementsEqual(retired.indices) else {
      return nil
    }
    return retired
  }

  private static func damaged(_ what: String, _ path: String) -> StoreError {
    StoreError(
      .storeCorrupt,
      "The table \(StoreMetadata.table) of \(path) has no valid \(what)",
      hint: "Restore a backup"
    )
  }
}
