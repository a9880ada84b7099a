import JSON
import ObjectModel

/// The objects of a file that wait until all objects that they require have been read.
///
/// Objects that require one another, in whatever circle, are released together, so that one save
/// stores them.
struct RequiredReferences {
  /// An object of the file.
  typealias Object = (line: Int, id: String?, object: JSONValue)

  /// The required relationships by entity, in the order of the model.
  private let required: [String: [String]]
  private var waiting: [String: (object: Object, requires: [String])] = [:]
  /// The objects that wait for an object that was not read, by its ID.
  private var waiters: [String: [String]] = [:]

  init(_ model: Model) {
    required = Dictionary(
      uniqueKeysWithValues: model.entities.map { entity in
        let names = entity.relationships.filter {
          $0.toMany ? $0.minimumCount > 0 : !$0.optional
        }
        return (entity.name, names.map(\.name))
      }
    )
  }

  /// Adds an object.
  ///
  /// - Parameters:
  ///   - object: The object.
  ///   - entity: The name of its entity.
  ///   - isKnown: Returns whether an object of the file is saved, or is in the next save.
  /// - Returns: The objects that can be saved now, together.
  /// - Throws: `PortingError` for an ID that another waiting object has.
  mutating func add(
    _ object: Object,
    of entity: String,
    isKnown: (String) -> Bool
  ) throws(PortingError) -> [Object] {
    let targets = (required[entity] ?? []).flatMap { name -> [String] in
      let value = object.object["values"]?[name]
      return value?.array?.compactMap(\.string) ?? [value?.string].compactMap { $0 }
    }
    if let id = object.id, let other = waiting[id]?.object {
      throw PortingError("Lines \(other.line) and \(object.line) have the same id, \(id)")
    }
    guard let id = object.id, !targets.isEmpty || waiters[id] != nil else { return [object] }
    waiting[id] = (object, targets)
    var released = release(id, isKnown)
    // What waits for a released object may have all that it requires.
    var next = 0
    var known = Set(released.compactMap(\.id))
    while next < released.count {
      if let id = released[next].id {
        for waiter in waiters.removeValue(forKey: id) ?? [] where waiting[waiter] != nil {
          let more = release(waiter) { isKnown($0) || known.contains($0) }
          known.formUnion(more.compactMap(\.id))
          released += more
        }
      }
      next += 1
    }
    return released
  }

  /// Releases an object with everything that it requires, if all of that has been read.
  private mutating func release(_ id: String, _ isKnown: (String) -> Bool) -> [Object] {
    var group: [String] = []
    var seen: Set<String> = [id]
    var open = [id]
    while let next = open.popLast() {
      group.append(next)
      for target in waiting[next]?.requires ?? [] where !isKnown(target) && !seen.contains(target) {
        guard waiting[target] != nil else {
          waiters[target, default: []].append(id)
          return []
        }
        seen.insert(target)
        open.append(target)
      }
    }
    return group.compactMap { waiting.removeValue(forKey: $0)?.object }.sorted { $0.line < $1.line }
  }

  /// Returns the objects that still wait at the end of the file: they require objects that are not
  /// in it.
  mutating func rest() -> [Object] {
    defer { waiting = [:] }
    return waiting.values.map(\.object).sorted { $0.line < $1.line }
  }
}
