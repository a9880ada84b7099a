import JSON
import ObjectModel
import PersistentHistory
import SQLite
import StoreLayout

/// The comparison of the schema in a store's file with the schema that its model generates.
///
/// A store is refused if a table differs from the model's schema, or if another program's trigger
/// is on a table of the store: both change the effect of a save. Foreign views, indexes and tables
/// are accepted.
///
/// When SQLite reads a schema, it checks each kind and name in `sqlite_schema` against the
/// statement in the same row. The comparison therefore relies on the kinds and names.
struct SchemaComparison {
  /// A table, an index, a trigger or a view of the file.
  struct Part: Sendable {
    /// SQLite's name of the kind, in lowercase letters.
    let kind: String
    let name: String
    /// The table of an index or of a trigger.
    let table: String
    /// The statement that creates the part, in UTF-8.
    let sql: [UInt8]

    /// The query for the columns from which `init` reads a part.
    static let query = """
      SELECT lower(type), name, tbl_name, sql FROM main.sqlite_schema WHERE sql IS NOT NULL
      """

    /// Reads a part from a row of `query`.
    init(_ row: PreparedStatement) {
      kind = row.text(0)
      name = row.text(1)
      table = row.text(2)
      sql = row.blob(3)
    }
  }

  /// A difference from the schema of the model.
  struct Difference: Sendable {
    /// The difference, as the end of a sentence about the store.
    let clause: String
    /// The advice, nil if the store can be used.
    let advice: StoreHint?
  }

  /// The differences of existing parts in the order of the file, followed by the missing parts.
  private(set) var differences: [Difference] = []
  /// The parts of other programs, with their kinds.
  private(set) var foreign: [(kind: String, name: String)] = []

  private var expected: [Key: Expected] = [:]

  /// The name of a part; triggers and all other parts have separate namespaces.
  private struct Key: Hashable {
    private let isTrigger: Bool
    /// The name as SQLite compares it: up to a NUL, without the case of ASCII letters.
    private let name: [UInt8]

    init(_ kind: String, _ name: String) {
      isTrigger = kind == "trigger"
      self.name = name.utf8.prefix { $0 != 0 }.map { byte in
        (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) ? byte | 0x20 : byte
      }
    }
  }

  /// A part that Cordial creates.
  private struct Expected {
    let kind: String
    let name: String
    let sql: [UInt8]
    let isOfLog: Bool
    var isPresent = false
  }

  /// Compares a schema.
  ///
  /// - Parameters:
  ///   - parts: The parts of the file.
  ///   - model: The store's model.
  ///   - triggers: The version of the triggers in the file; a writer replaces triggers of another
  ///     version before it writes anything else.
  init(_ parts: [Part], _ model: Model, triggers: String?) {
    for statement in LogTables.statements { expect(statement, isOfLog: true) }
    for statement in StoreSchema.statements(for: model) { expect(statement, isOfLog: false) }
    let replacesTriggers = triggers != LogTriggers.formatVersion
    lacksTriggers = replacesTriggers
    for part in parts { compare(part, replacesTriggers) }
    for part in expected.values.filter({ !$0.isPresent }).sorted(by: { $0.name < $1.name }) {
      // A missing table of the log is no difference, because a writer adds the table.
      guard !part.isOfLog, part.kind != "trigger" || !replacesTriggers else { continue }
      if part.kind == "trigger" { lacksTriggers = true }
      let advice: StoreHint? = part.kind == "table" ? Self.damageAdvice : nil
      add("its \(part.kind) \(Self.shown(part.name)) is missing", advice)
    }
  }

  /// Whether a writer has to create the triggers, because some are missing or of another version.
  private(set) var lacksTriggers = false

  /// The first difference that makes the store unusable; nil if the store can be used.
  var refusal: Difference? { differences.first { $0.advice != nil } }

  private static let damageAdvice: StoreHint = "Restore a backup"
  private static let triggerAdvice: StoreHint =
    "Drop the trigger with another SQLite client, open the store, and verify it"

  /// Returns a name from the file in quotes, with control characters escaped.
  private static func shown(_ name: String) -> String { JSONValue.string(name).text }

  private mutating func add(_ clause: String, _ advice: StoreHint?) {
    differences.append(Difference(clause: clause, advice: advice))
  }

  private mutating func expect(_ statement: String, isOfLog: Bool) {
    // A statement that creates no part only sets the first object number of a table.
    guard let (kind, name) = Self.created(by: statement) else { return }
    let sql = Array(statement.utf8)
    expected[Key(kind, name)] = Expected(
      kind: kind,
      name: name,
      sql: isOfLog ? Self.withoutSpace(sql) : sql,
      isOfLog: isOfLog
    )
  }

  /// Returns the kind and the name of the part that a statement of Cordial's creates.
  private static func created(by statement: String) -> (kind: String, name: String)? {
    for (beginning, kind) in [
      ("CREATE TABLE ", "table"), ("CREATE INDEX ", "index"), ("CREATE UNIQUE INDEX ", "index"),
      ("CREATE TRIGGER ", "trigger"),
    ] where statement.utf8.starts(with: beginning.utf8) {
      let rest = statement.utf8.dropFirst(beginning.utf8.count)
      let quote = UInt8(ascii: "\"")
      let name =
        rest.first == quote
        ? rest.dropFirst().prefix { $0 != quote }
        : rest.prefix { $0 != UInt8(ascii: "(") && $0 != UInt8(ascii: " ") }
      return (kind, String(decoding: name, as: UTF8.self))
    }
    return nil
  }

  private mutating func compare(_ part: Part, _ replacesTriggers: Bool) {
    let key = Key(part.kind, part.name)
    guard let expected = expected[key] else { return compareForeign(part, replacesTriggers) }
    self.expected[key]?.isPresent = true
    let sql = expected.isOfLog ? Self.withoutSpace(part.sql) : part.sql
    guard part.kind != expected.kind || sql != expected.sql else { return }
    guard part.kind == expected.kind else {
      return add(
        "its \(expected.kind) \(Self.shown(part.name)) is missing, and a \(part.kind) has the name",
        Self.damageAdvice
      )
    }
    let advice: StoreHint?
    switch part.kind {
    case "trigger" where replacesTriggers: return
    case "trigger": advice = Self.triggerAdvice
    case "table": advice = Self.damageAdvice
    default: advice = nil
    }
    add(
      "its \(part.kind) \(Self.shown(part.name)) is not the one that its model generates",
      advice
    )
  }

  private mutating func compareForeign(_ part: Part, _ replacesTriggers: Bool) {
    if part.kind == "trigger", expected[Key("table", part.table)]?.kind == "table" {
      // An earlier version may have created the trigger; a writer drops it.
      if replacesTriggers, part.name.hasPrefix(SQLNames.triggerPrefix) { return }
      return add(
        "the trigger \(Self.shown(part.name)) of another program is on its table "
          + Self.shown(part.table),
        Self.triggerAdvice
      )
    }
    // SQLite's own tables, such as `sqlite_sequence`, are not foreign.
    guard part.kind != "table" || !part.name.hasPrefix("sqlite_") else { return }
    foreign.append((part.kind, part.name))
  }

  /// Returns a statement for a table of the log without its white space.
  ///
  /// Earlier versions of Cordial wrote these statements with different white space. The statements
  /// have no literal in which white space matters.
  private static func withoutSpace(_ sql: [UInt8]) -> [UInt8] {
    sql.filter { ![0x09, 0x0A, 0x0D, 0x20].contains($0) }
  }
}

extension StoreError {
  /// Creates the error of a store that is refused because of its schema.
  init(_ difference: SchemaComparison.Difference, in path: String) {
    self.init(
      .storeCorrupt,
      "The store \(path) is refused: \(difference.clause)",
      hint: difference.advice
    )
  }
}
