import ArgumentParser
import Cordial
import Glibc
import JSON
import ObjectModel

/// `cordial import`: creates objects and their relationships from JSON lines.
struct Import: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Import objects from JSON lines in the form that export writes.",
    discussion: """
      Each line is {"id": "Package/hello", "values": {…}}. An ID is the entity's name, a slash and \
      any text. Objects refer to one another by these IDs, in any order. The store assigns its own.
      """
  )

  @OptionGroup var place: StoreArgument

  @Argument(help: "The file; - or nothing reads standard input.")
  var file: String?

  @Option(help: "The number of objects in one save.")
  var batch = 1000

  @Option(help: "The model's file, to create the store when it does not exist.")
  var model: String?

  @Flag(help: "Do not wait until the search index has caught up.")
  var noIndex = false

  func validate() throws {
    guard (1...100_000).contains(batch) else {
      throw ValidationError("--batch is a number from 1 to 100000")
    }
  }

  func run() async throws {
    let lines = try Input.read(file ?? "-")
    try await place.with(model: model) { client in
      var importer = Importer(
        client: client,
        references: try await References.read(client),
        batch: batch
      )
      let began = ContinuousClock.now
      try await importer.run(lines)
      if !noIndex { try await waitForIndex(client) }
      importer.report(began.duration(to: .now))
    }
  }

  private func waitForIndex(_ client: Client) async throws {
    while true {
      // The flush is answered when the index has caught up, or after the service's maximum wait.
      _ = try await client.call("observe/flush", [:])
      let status = try await client.call("index/status", [:])
      if status["behind"]?.integer == 0 { return }
      guard status["state"]?.string != "failed" else {
        throw InputError(message: "The search index failed; the objects are saved")
      }
    }
  }
}

/// The relationships of a model, by entity and property.
struct References {
  /// The kind of a relationship.
  enum Kind {
    case toOne, toMany, ordered
  }

  /// The kinds by entity, then by property.
  private let kinds: [String: [String: Kind]]

  static func read(_ client: Client) async throws -> References {
    let model = try ModelDocument.model(from: try await client.call("model", [:]))
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
    return References(kinds: kinds)
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
  /// - Throws: `InputError` for a line that is not JSON.
  mutating func next(_ count: Int) throws -> [Object] {
    var objects: [Object] = []
    while start < bytes.count, objects.count < count {
      let end = JSONBytes.place(of: 0x0A, in: bytes.span, from: start)
      defer { start = end + 1 }
      line += 1
      guard end > start else { continue }
      do {
        objects.append((line, try JSONParser.parse(bytes.span.extracting(start..<end))))
      } catch {
        throw InputError(message: "Line \(line): \(error.message)")
      }
    }
    return objects
  }
}

/// The state of an import, which turns lines into saves and maps IDs of the file to stored IDs.
private struct Importer {
  typealias Kind = References.Kind

  let client: Client
  let references: References
  let batch: Int
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
  private let began = ContinuousClock.now

  init(client: Client, references: References, batch: Int) {
    self.client = client
    self.references = references
    self.batch = batch
  }

  mutating func run(_ bytes: [UInt8]) async throws {
    var lines = ObjectLines(bytes)
    var objects = try next(&lines)
    while !objects.isEmpty {
      for (line, object) in objects { try add(object, line) }
      let save: JSONValue = ["insert": .array(inserts), "context": "import"]
      let client = client
      async let answer = client.call("save", save)
      // The next lines are read while these are saved. Their errors are reported after the save.
      let following = Result { try lines.next(batch) }
      do {
        take(try await answer)
      } catch let error as ClientError {
        throw InputError(
          message: "The save that ends at line \(objects.last?.line ?? 0) failed, "
            + "\(imported) objects are imported: \(error.message)"
        )
      }
      objects = try told(following)
    }
    try await link()
  }

  private func next(_ lines: inout ObjectLines) throws -> [ObjectLines.Object] {
    try told(Result { try lines.next(batch) })
  }

  /// Returns the objects of a result, or adds the number of imported objects to its error.
  private func told(
    _ objects: Result<[ObjectLines.Object], any Error>
  ) throws -> [ObjectLines.Object] {
    do {
      return try objects.get()
    } catch let error as InputError {
      throw InputError(message: "\(error.message); \(imported) objects are imported")
    }
  }

  private mutating func add(_ object: JSONValue, _ line: Int) throws {
    let id = object["id"]?.string
    let named = id.flatMap { $0.split(separator: "/", maxSplits: 1).first.map(String.init) }
    guard let entity = object["entity"]?.string ?? named else {
      throw InputError(
        message: "Line \(line) has neither an id nor an entity; \(imported) objects are imported"
      )
    }
    let temporary = "\(entity)/t\(inserts.count)"
    if let id { pending[id] = temporary }
    var values: [JSONMember] = []
    for member in object["values"]?.members ?? [] {
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

  /// Returns the known part of a reference; the rest is deferred to the end.
  private mutating func resolve(
    _ member: JSONMember,
    _ kind: Kind,
    _ object: String
  ) -> JSONValue? {
    let targets =
      kind != .toOne
      ? member.value.array?.compactMap(\.string) ?? [] : [member.value.string].compactMap { $0 }
    var found: [JSONValue] = []
    var missing: [String] = []
    for target in targets {
      if let id = known[target] ?? pending[target] {
        found.append(.string(id))
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

  /// Records the stored IDs of the objects of a save.
  private mutating func take(_ answer: JSONValue) {
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
    progress()
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
      if let place = byObject[object], var members = updates[place]["values"]?.members {
        members.append(JSONMember(property, value))
        updates[place] = ["id": .string(object), "values": .object(members)]
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

  private func progress() {
    guard Terminal.isError else { return }
    Terminal.note("\r\(imported) objects, \(rate(began.duration(to: .now)))/s   ")
  }

  private func rate(_ duration: Duration) -> Int {
    let seconds =
      Double(duration.components.seconds) + Double(duration.components.attoseconds) / 1e18
    return seconds > 0 ? Int(Double(imported) / seconds) : 0
  }

  func report(_ duration: Duration) {
    if let first = unknown.min() {
      Terminal.note(
        "\(Terminal.isError ? "\r" : "")\(unknown.count) referenced objects are not in the file, "
          + "\(first) among them; the references to them were left out\n"
      )
    }
    let milliseconds =
      duration.components.seconds * 1000 + duration.components.attoseconds / 1_000_000_000_000_000
    Terminal.note(
      "\(Terminal.isError ? "\r" : "")\(imported) objects in \(milliseconds) ms, "
        + "\(rate(duration)) a second\n"
    )
  }
}
