import JSON
import ObjectModel

/// The objects of a file that wait until all objects that they require have been read.
///
/// Objects that require one another, in whatever circle, are released together, so that one save
/// stores them. The index has the waiting objects, by their places in the file.
struct RequiredReferences {
  /// The maximum number of objects that one save must store together.
  private static let groupMax = 100_000

  /// The required relationships by entity, in the order of the model.
  private let required: [String: [String]]
  private let file: any InputFile
  private let index: any ImportIndex
  /// Whether an object has waited.
  private var hasWaiting = false

  init(_ model: Model, _ file: any InputFile, _ index: any ImportIndex) {
    required = Dictionary(
      uniqueKeysWithValues: model.entities.map { entity in
        let names = entity.relationships.filter {
          $0.toMany ? $0.minimumCount > 0 : !$0.optional
        }
        return (entity.name, names.map(\.name))
      }
    )
    self.file = file
    self.index = index
  }

  /// Adds an object.
  ///
  /// - Parameters:
  ///   - object: The object.
  ///   - entity: The name of its entity.
  ///   - isKnown: Returns whether an object of the file is saved, or is in the next save.
  /// - Returns: The objects that can be saved now, together.
  /// - Throws: `PortingError` for an ID that another waiting object has, and for too many objects
  ///   that require one another; the errors of the index.
  mutating func add(
    _ object: ObjectLines.Object,
    of entity: String,
    isKnown: (String) throws -> Bool
  ) throws -> [ObjectLines.Object] {
    let targets = (required[entity] ?? []).flatMap { name -> [String] in
      let value = object.object["values"]?[name]
      return value?.array?.compactMap(\.string) ?? [value?.string].compactMap { $0 }
    }
    guard let id = object.id else { return [object] }
    if hasWaiting, let other = try waiting(id) {
      throw PortingError("Lines \(other.line) and \(object.line) have the same id, \(id)")
    }
    guard try !targets.allSatisfy(isKnown) else { return [object] }
    hasWaiting = true
    try index.add(.waiting, id, Waiting(object, targets).text)
    return try release(id, isKnown)
  }

  /// Records that an object is staged, so that the objects that wait for it can be released.
  func staged(_ id: String) throws {
    if hasWaiting, try index.first(.waiters, id) != nil { try index.add(.awaited, "", id) }
  }

  /// Returns the next objects that can be saved together, because what they wait for is staged.
  ///
  /// - Parameter isKnown: Returns whether an object of the file is saved, or is in the next save.
  /// - Returns: The objects; nil where no more objects can be released.
  /// - Throws: As `add`.
  func nextReleased(isKnown: (String) throws -> Bool) throws -> [ObjectLines.Object]? {
    while hasWaiting, let target = try index.first(.awaited, "") {
      while let waiter = try index.take(.waiters, target, max: 1).first {
        guard try index.first(.waiting, waiter) != nil else { continue }
        let released = try release(waiter, isKnown)
        if !released.isEmpty { return released }
      }
      _ = try index.take(.awaited, "", max: 1)
    }
    return nil
  }

  /// Releases an object with everything that it requires, if all of that has been read.
  private func release(
    _ id: String,
    _ isKnown: (String) throws -> Bool
  ) throws -> [ObjectLines.Object] {
    var group: [(id: String, place: Waiting)] = []
    var seen: Set<String> = [id]
    var open = [id]
    while let next = open.popLast() {
      guard let place = try waiting(next) else { continue }
      group.append((next, place))
      guard group.count <= Self.groupMax else {
        throw PortingError(
          "More than \(Self.groupMax) objects require one another, the first in line "
            + "\(group[0].place.line); one save cannot store them"
        )
      }
      for target in place.requires where !seen.contains(target) {
        if try isKnown(target) { continue }
        guard try index.first(.waiting, target) != nil else {
          try index.add(.waiters, target, id)
          return []
        }
        seen.insert(target)
        open.append(target)
      }
    }
    return try group.sorted { $0.place.line < $1.place.line }.map { id, place in
      _ = try index.take(.waiting, id, max: 1)
      return try place.object(of: file)
    }
  }

  /// Returns the objects that still wait at the end of the file: they require objects that are not
  /// in it.
  ///
  /// - Throws: `PortingError` for too many of them; the errors of the index and of the file.
  func rest() throws -> [ObjectLines.Object] {
    let ids = try index.keys(.waiting, max: Self.groupMax + 1)
    let places = try ids.compactMap { try waiting($0) }.sorted { $0.line < $1.line }
    guard ids.count <= Self.groupMax else {
      throw PortingError(
        "More than \(Self.groupMax) objects, one of them in line \(places[0].line), require "
          + "objects that are not in the file"
      )
    }
    return try places.map { try $0.object(of: file) }
  }

  private func waiting(_ id: String) throws -> Waiting? {
    try index.first(.waiting, id).flatMap { try Waiting($0) }
  }
}

/// The place of a waiting object in its file, and the IDs of the objects that it requires.
private struct Waiting {
  let line: Int
  private let range: Range<Int>
  let requires: [String]

  init(_ object: ObjectLines.Object, _ requires: [String]) {
    line = object.line
    range = object.range
    self.requires = requires
  }

  init?(_ text: String) throws {
    let values = try JSONParser.parse(text).array ?? []
    guard values.count >= 3, let line = values[0].integer, let first = values[1].integer,
      let end = values[2].integer
    else { return nil }
    self.line = Int(line)
    range = Int(first)..<Int(end)
    requires = values.dropFirst(3).compactMap(\.string)
  }

  var text: String {
    let numbers = [line, range.lowerBound, range.upperBound].map { JSONValue.integer(Int64($0)) }
    return JSONValue.array(numbers + requires.map { .string($0) }).text
  }

  func object(of file: any InputFile) throws -> ObjectLines.Object {
    try ObjectLines.object(of: file, in: range, line: line)
  }
}
