import CordialValues
import JSON
import PersistentStore

/// The content of a mock: objects, fixed results, and steps at times of its clock.
package struct MockScript: Sendable {
  /// An object that exists from the start.
  struct ScriptedObject: Sendable {
    /// The path of the object in the script's file.
    let place: String
    let id: ObjectID
    let version: Int64
    let values: [JSONMember]
  }

  /// A request with its fixed answer.
  struct ScriptedResult: Sendable {
    let method: String
    /// The params, in the form of `JSONValue.sortedMembers`.
    let params: JSONValue
    /// The member `result` or `error` of the response.
    let answer: JSONMember
  }

  /// A save or a notification at a time of the mock's clock.
  struct Step: Sendable {
    enum Action: Sendable {
      /// The params of a `save`.
      case save(JSONValue)
      /// A message to the connection with a number; connection numbers begin with 1.
      case notification(connection: Int, JSONValue)
    }

    /// The path of the step in the script's file.
    let place: String
    /// The time of the first occurrence, in milliseconds.
    let at: Int64
    /// The milliseconds between two occurrences; 0 for a single occurrence.
    var every: Int64 = 0
    /// The number of occurrences.
    var times: Int64 = 1
    let action: Action
  }

  /// The source of the model: the path of a file, or the document itself.
  enum ModelPlace: Sendable {
    case file(String)
    case document(JSONValue)
  }

  var model: ModelPlace?
  var objects: [ScriptedObject] = []
  var results: [ScriptedResult] = []
  /// The steps, by ascending time of their first occurrence.
  var timeline: [Step] = []

  /// The maximum length of a file, in bytes.
  private static let bytesMax = 256 << 20
  /// The maximum memory of a script, in bytes.
  package static let memoryMax = 512 << 20
  /// The maximum number of occurrences of a step.
  static let timesMax: Int64 = 1_000_000

  /// Reads the file of a script or of a recording.
  ///
  /// - Parameter path: The absolute path of the file.
  /// - Throws: `ScriptError` with the place in the file.
  package init(file path: String) throws(ScriptError) {
    let text: [UInt8]
    do throws(StoreError) {
      text = try StoreContainer.contents(of: path, as: "script", bytesMax: Self.bytesMax)
    } catch {
      throw ScriptError("", error.message)
    }
    let folder = path.lastIndex(of: "/").map { String(path[..<$0]) } ?? "."
    try self.init(text, folder: folder)
  }

  /// Reads a script, or a recording.
  ///
  /// - Parameters:
  ///   - text: The content of the file.
  ///   - folder: The folder to which a relative path of the model refers.
  ///   - memoryMax: The maximum memory of the script, in bytes.
  /// - Throws: `ScriptError` with the place in the file.
  package init(
    _ text: [UInt8],
    folder: String,
    memoryMax: Int = MockScript.memoryMax
  ) throws(ScriptError) {
    let document: JSONValue
    do {
      document = try JSONParser.measure(text.span, depthMax: 256, bytesMax: memoryMax).value
    } catch {
      guard error.code != .tooLarge else { throw Self.tooLarge("", memoryMax) }
      // A recording has a JSON text on each line.
      guard let recording = try Self.recording(text, memoryMax: memoryMax) else {
        throw ScriptError("", "it is neither a script nor a recording: \(error.message)")
      }
      self = recording
      return
    }
    if document["from"] != nil, let recording = try Self.recording(text, memoryMax: memoryMax) {
      self = recording
      return
    }
    try self.init(document: document, folder: folder)
  }

  init() {}

  static func tooLarge(_ place: String, _ memoryMax: Int) -> ScriptError {
    ScriptError(place, "it takes more than \(memoryMax) bytes of memory; make it shorter")
  }

  private init(document: JSONValue, folder: String) throws(ScriptError) {
    try ScriptReader.checkMembers(document, ["model", "objects", "results", "timeline"], "")
    switch document["model"] {
    case .string(let path)?: model = .file(path.hasPrefix("/") ? path : "\(folder)/\(path)")
    case .object(let members)?: model = .document(.object(members))
    case nil, .null?: break
    case let other?: throw ScriptError("model", "a model or its path, not \(other.kind)")
    }
    try readObjects(document)
    try readResults(document)
    try readTimeline(document)
  }

  private mutating func readObjects(_ document: JSONValue) throws(ScriptError) {
    var known: Set<ObjectID> = []
    for (index, element) in try ScriptReader.list(document, "objects").enumerated() {
      let place = "objects[\(index)]"
      try ScriptReader.checkMembers(element, ["id", "version", "values"], place)
      let id = try ScriptReader.identifier(element["id"], "\(place).id")
      guard !id.isTemporary else {
        throw ScriptError("\(place).id", "\(id) is temporary; an object of a script is permanent")
      }
      guard known.insert(id).inserted else {
        throw ScriptError("\(place).id", "another object of the script has the ID \(id)")
      }
      let version = try ScriptReader.integer(element, "version", 1...(1 << 53), place) ?? 1
      guard let values = (element["values"] ?? .object([])).members else {
        throw ScriptError("\(place).values", "an object is needed")
      }
      objects.append(ScriptedObject(place: place, id: id, version: version, values: values))
    }
  }

  private mutating func readResults(_ document: JSONValue) throws(ScriptError) {
    for (index, element) in try ScriptReader.list(document, "results").enumerated() {
      let place = "results[\(index)]"
      try ScriptReader.checkMembers(element, ["method", "params", "result", "error"], place)
      guard let method = element["method"]?.string else {
        throw ScriptError("\(place).method", "the name of a method is needed")
      }
      let answers = (element.members ?? []).filter { ["result", "error"].contains($0.name) }
      guard let answer = answers.first, answers.count == 1 else {
        throw ScriptError(place, "it needs either a result or an error")
      }
      results.append(
        ScriptedResult(
          method: method,
          params: (element["params"] ?? .object([])).sortedMembers,
          answer: answer
        )
      )
    }
  }

  private mutating func readTimeline(_ document: JSONValue) throws(ScriptError) {
    let known = Set(objects.map(\.id))
    for (index, element) in try ScriptReader.list(document, "timeline").enumerated() {
      let place = "timeline[\(index)]"
      try ScriptReader.checkMembers(element, ["at", "every", "times", "save"], place)
      guard let at = try ScriptReader.integer(element, "at", 0...(1 << 53), place) else {
        throw ScriptError("\(place).at", "the time of the step is needed, in milliseconds")
      }
      if let former = timeline.last, at < former.at {
        throw ScriptError("\(place).at", "the time \(at) is before that of the step before")
      }
      let every = try ScriptReader.integer(element, "every", 1...(1 << 53), place)
      let times = try ScriptReader.integer(element, "times", 1...Self.timesMax, place)
      guard every != nil || times == nil else {
        throw ScriptError("\(place).every", "a step with times needs the pause between them")
      }
      guard every == nil || times != nil else {
        throw ScriptError("\(place).times", "a step that is repeated needs the number of times")
      }
      let save = element["save"] ?? .null
      try Self.check(save, "\(place).save", known)
      timeline.append(
        Step(place: place, at: at, every: every ?? 0, times: times ?? 1, action: .save(save))
      )
    }
  }

  /// Checks the form of a save, and that the script has the objects that the save changes.
  private static func check(
    _ save: JSONValue,
    _ place: String,
    _ known: Set<ObjectID>
  ) throws(ScriptError) {
    guard save.members != nil else {
      throw ScriptError(place, "the params of a save are needed")
    }
    for (index, element) in try ScriptReader.list(save, "insert", place).enumerated() {
      guard element["entity"]?.string != nil || element["id"]?.string != nil else {
        throw ScriptError("\(place).insert[\(index)]", "an insert needs an entity or an id")
      }
    }
    for (index, element) in try ScriptReader.list(save, "update", place).enumerated() {
      let place = "\(place).update[\(index)].id"
      try check(try ScriptReader.identifier(element["id"], place), place, known)
    }
    for (index, element) in try ScriptReader.list(save, "delete", place).enumerated() {
      let place = "\(place).delete[\(index)]"
      try check(try ScriptReader.identifier(element["id"] ?? element, place), place, known)
    }
  }

  private static func check(
    _ id: ObjectID,
    _ place: String,
    _ known: Set<ObjectID>
  ) throws(ScriptError) {
    guard id.isTemporary || known.contains(id) else {
      throw ScriptError(place, "the script has no object \(id)")
    }
  }
}

/// A reader of the members of scripts.
enum ScriptReader {
  static func checkMembers(
    _ value: JSONValue,
    _ names: [String],
    _ place: String
  ) throws(ScriptError) {
    guard let members = value.members else {
      throw ScriptError(place, "an object is needed, not \(value.kind)")
    }
    if let other = members.first(where: { !names.contains($0.name) }) {
      let known = names.joined(separator: ", ")
      throw ScriptError(place, "there is no member \"\(other.name)\"; there are \(known)")
    }
  }

  static func list(
    _ value: JSONValue,
    _ name: String,
    _ place: String = ""
  ) throws(ScriptError) -> [JSONValue] {
    let member = value[name] ?? .array([])
    guard let elements = member.array else {
      throw ScriptError(
        place.isEmpty ? name : "\(place).\(name)",
        "a list is needed, not \(member.kind)"
      )
    }
    return elements
  }

  static func identifier(_ value: JSONValue?, _ place: String) throws(ScriptError) -> ObjectID {
    guard let id = value?.string.flatMap({ ObjectID($0) }) else {
      let found = value.map { $0.text } ?? "nothing"
      throw ScriptError(place, "the ID of an object is needed, like Group/sHome, not \(found)")
    }
    return id
  }

  static func integer(
    _ value: JSONValue,
    _ name: String,
    _ range: ClosedRange<Int64>,
    _ place: String
  ) throws(ScriptError) -> Int64? {
    guard let member = value[name] else { return nil }
    guard let number = member.integer, range.contains(number) else {
      throw ScriptError(
        "\(place).\(name)",
        "an integer from \(range.lowerBound) to \(range.upperBound) is needed, not \(member.text)"
      )
    }
    return number
  }
}

extension JSONValue {
  /// The value with the members of each object in the order of their names, for comparisons.
  var sortedMembers: JSONValue {
    switch self {
    case .array(let elements): .array(elements.map(\.sortedMembers))
    case .object(let members):
      .object(
        members.map { JSONMember($0.name, $0.value.sortedMembers) }.sorted { $0.name < $1.name }
      )
    default: self
    }
  }
}
