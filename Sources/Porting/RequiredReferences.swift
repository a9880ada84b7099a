import CordialProtocol
import JSON
import ObjectModel

/// The objects of a file that wait until all objects that they require have been read.
///
/// Objects that require one another in a cycle are released together, so that one save stores them.
/// The index holds the waiting objects as byte ranges of the file.
struct RequiredReferences {
  /// The maximum number of objects that one save must store together.
  ///
  /// The limit also applies to the waiting objects that one object requires, directly or
  /// indirectly.
  private static let groupMax = 100_000
  /// The maximum length in the file of the objects that one save must store together, in bytes.
  ///
  /// The message of the save must have room for these objects and for the pending objects.
  private static let groupBytesMax = InputLines.lineBytesMax / 4 * 3
  /// The minimum number of required objects for which a parsed waiting object stays in memory.
  ///
  /// Otherwise, the search could parse the waiting object again for each of its required objects.
  private static let longListMin = 100

  /// The required relationships by entity, in the order of the model.
  private let required: [String: [String]]
  private let file: any InputFile
  private let index: ImportIndex
  /// Whether any object has waited so far.
  private var hasWaiting = false
  /// The number of IDs in the table `awaited`, a stack.
  private var awaitedCount = 0
  /// The waiting object with a long list that was parsed last.
  private var longList: (id: [UInt8], object: Waiting)?

  init(_ model: Model, _ file: any InputFile, _ index: ImportIndex) {
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
  ///   - max: The number of objects after which the call stops; `nextReleased` returns the rest.
  ///   - isKnown: Returns whether an object of the file is saved, or is in the next save.
  /// - Returns: The objects that can be saved now, together.
  /// - Throws: `PortingError` if another waiting object has the same ID, and if too many objects
  ///   require one another; the errors of the index.
  mutating func add(
    _ object: ObjectLines.Object,
    of entity: String,
    max: Int,
    isKnown: (String) throws -> Bool
  ) throws -> [ObjectLines.Object] {
    let targets = (required[entity] ?? []).flatMap { name -> [String] in
      let value = object.object[.values]?[name]
      return value?.array?.compactMap(\.string) ?? [value?.string].compactMap { $0 }
    }
    guard let id = object.id else { return [object] }
    if hasWaiting, let other = try waiting(id) {
      throw PortingError("Lines \(other.line) and \(object.line) have the same id, \(id)")
    }
    guard try !targets.allSatisfy(isKnown) else { return [object] }
    hasWaiting = true
    try index.add(.waiting, id, Waiting(object, targets).text)
    return try release(id, max: max, isKnown)
  }

  /// Records that an object is in the next save, so that the objects that wait for it can be
  /// released.
  mutating func staged(_ id: String) throws {
    guard hasWaiting, try index.first(.waiters, id) != nil else { return }
    try index.add(.awaited, "\(awaitedCount)", id)
    awaitedCount += 1
  }

  /// Returns the next waiting objects that can be saved together.
  ///
  /// Objects that wait for the last staged object come first, so that the objects of a long chain
  /// are released one after the other.
  ///
  /// - Parameters:
  ///   - max: The number of objects after which the call stops; the next call returns the rest.
  ///   - isKnown: Returns whether an object of the file is saved, or is in the next save.
  /// - Returns: The objects; nil if no more objects can be released.
  /// - Throws: The errors of `add`.
  mutating func nextReleased(
    max: Int,
    isKnown: (String) throws -> Bool
  ) throws -> [ObjectLines.Object]? {
    while awaitedCount > 0, let target = try index.first(.awaited, "\(awaitedCount - 1)") {
      while let waiter = try index.take(.waiters, target, max: 1).first {
        guard try index.first(.waiting, waiter) != nil else { continue }
        let released = try release(waiter, max: max, isKnown)
        if !released.isEmpty { return released }
      }
      awaitedCount -= 1
      _ = try index.take(.awaited, "\(awaitedCount)", max: 1)
    }
    return nil
  }

  /// Releases an object after the objects that it requires, if all of these have been read.
  ///
  /// Tarjan's algorithm finds the strongly connected components of waiting objects. It returns each
  /// component after all components that this component requires.
  ///
  /// - Parameters:
  ///   - id: The ID of a waiting object that is not in the table `waiters`.
  ///   - max: The number of objects after which the call stops; the rest continues to wait.
  ///   - isKnown: Returns whether an object of the file is saved, or is in the next save.
  /// - Returns: The objects that can be saved now, together; none if the object has to wait.
  /// - Throws: The errors of `add`.
  private mutating func release(
    _ id: String,
    max: Int,
    _ isKnown: (String) throws -> Bool
  ) throws -> [ObjectLines.Object] {
    guard let root = try waiting(id) else { return [] }
    var search = ComponentSearch(id, root)
    var released: [ObjectLines.Object] = []
    var bytes = 0
    while let target = search.nextTarget() {
      switch target {
      case .component(let ids, let ranges):
        bytes += ranges.reduce(0) { $0 + $1.count }
        released += try remove(ids, ranges)
        guard released.count >= max || bytes >= ObjectLines.portionBytesMax else { continue }
        // Each object of the path waits for the next object, so that no search repeats the path.
        for (waiter, awaited) in zip(search.path, search.path.dropFirst() + ids.prefix(1)) {
          try index.add(.waiters, awaited, waiter)
        }
        return released
      case .object(let target):
        if try isKnown(target) { continue }
        if let lacked = try unread(target, isKnown) {
          // Each object of the path gets the unread object's ID, so that no search repeats the
          // path.
          for requiring in search.path.dropFirst() { try index.set(.lacking, requiring, lacked) }
          try wait(id, for: lacked)
          return released
        }
        guard let range = try waiting(target) else { continue }
        search.enter(target, range)
        guard search.openCount <= Self.groupMax else { throw Self.tooMany(root) }
      }
    }
    return released
  }

  /// Removes the objects of a component, and returns them in the order of their lines.
  private mutating func remove(_ ids: [String], _ ranges: [Waiting]) throws -> [ObjectLines.Object]
  {
    let lines = ranges.sorted { $0.line < $1.line }
    guard lines.reduce(0, { $0 + $1.count }) <= Self.groupBytesMax else {
      throw Self.tooMany(lines[0])
    }
    for id in ids {
      _ = try index.take(.waiting, id, max: 1)
      _ = try index.take(.lacking, id, max: 1)
      _ = try index.take(.firstUnread, id, max: 1)
      if longList?.id.elementsEqual(id.utf8) == true { longList = nil }
    }
    return try lines.map { try $0.object(of: file) }
  }

  private static func tooMany(_ first: Waiting) -> PortingError {
    PortingError(
      "The object of line \(first.line) can only be saved together with more than \(groupMax) "
        + "objects or \(groupBytesMax) bytes, or after so many objects, too many for an import"
    )
  }

  /// Returns the ID of an unread object that prevents the release of an object.
  ///
  /// Returns nil if only a search can find such an object.
  private mutating func unread(
    _ id: String,
    _ isKnown: (String) throws -> Bool
  ) throws -> String? {
    guard let range = try waiting(id) else { return id }
    if let lacked = try lacking(id, isKnown) { return lacked }
    // The scan resumes at the first unread object, so each required object is looked up once.
    let first = try index.first(.firstUnread, id).flatMap { Int($0) } ?? 0
    var number = first
    while number < range.requires.count {
      let target = range.requires[number]
      guard try isKnown(target) || index.first(.waiting, target) != nil else { break }
      number += 1
    }
    if number != first { try index.set(.firstUnread, id, "\(number)") }
    guard number < range.requires.count else { return nil }
    try index.set(.lacking, id, range.requires[number])
    return range.requires[number]
  }

  /// Returns the ID for which a waiting object waits, if this ID is still unread.
  ///
  /// The awaited object may have been read since, and may itself wait. The chain of IDs has no
  /// cycle, because each next ID comes later in the file. All objects of the chain get its last ID,
  /// so that later calls skip the chain.
  private func lacking(_ id: String, _ isKnown: (String) throws -> Bool) throws -> String? {
    guard let first = try index.first(.lacking, id) else { return nil }
    var passed = [id]
    var target = first
    while try index.first(.waiting, target) != nil,
      let next = try index.first(.lacking, target)
    {
      passed.append(target)
      target = next
    }
    for id in passed.dropLast() { try index.set(.lacking, id, target) }
    let isUnread = try index.first(.waiting, target) == nil && !isKnown(target)
    return isUnread ? target : nil
  }

  /// Lets an object wait for an unread object.
  private func wait(_ id: String, for target: String) throws {
    try index.add(.waiters, target, id)
    try index.set(.lacking, id, target)
  }

  /// Returns the objects that still wait at the end of the file.
  ///
  /// These objects require objects that are not in the file.
  ///
  /// - Throws: `PortingError` for too many objects; the errors of the index and of the file.
  mutating func rest() throws -> [ObjectLines.Object] {
    let ids = try index.keys(.waiting, max: Self.groupMax + 1)
    let ranges = try ids.compactMap { try index.first(.waiting, $0).flatMap { try Waiting($0) } }
      .sorted { $0.line < $1.line }
    guard ids.count <= Self.groupMax, ranges.reduce(0, { $0 + $1.count }) <= Self.groupBytesMax
    else {
      throw PortingError(
        "More than \(Self.groupMax) objects or \(Self.groupBytesMax) bytes of them, one in line "
          + "\(ranges[0].line), require objects that are not in the file"
      )
    }
    return try ranges.map { try $0.object(of: file) }
  }

  private mutating func waiting(_ id: String) throws -> Waiting? {
    if let longList, longList.id.elementsEqual(id.utf8) { return longList.object }
    let object = try index.first(.waiting, id).flatMap { try Waiting($0) }
    if let object, object.requires.count >= Self.longListMin {
      longList = (Array(id.utf8), object)
    }
    return object
  }
}
