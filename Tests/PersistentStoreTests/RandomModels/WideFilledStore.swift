import CordialValues
import Foundation
import JSON
import ObjectModel
import PersistentHistory
import PersistentStore
import TestSeeds
import TestStores
import Testing

/// A store of a random model, filled with random objects.
final class WideFilledStore {
  let model: WideModel
  let folder: TestFolder
  private(set) var store: TestStore?
  private var objects: WideObjects
  /// The accepted saves.
  private(set) var saves = 0

  /// Makes a random model, and a store that random saves have filled.
  ///
  /// - Parameters:
  ///   - seed: The seed of the model and of the objects.
  ///   - changes: The number of random saves after the first objects.
  ///   - isMarked: Whether each object gets a text of its own, so that a test can find it in
  ///     another store.
  /// - Throws: `ModelError`, or `StoreError` for another reason than the rules of the model.
  init(_ seed: UInt64, changes: Int = 0, isMarked: Bool = false) async throws {
    var generator = WideModelGenerator(seed: seed)
    var model = generator.generate()
    if isMarked { model.mark() }
    self.model = model
    folder = try TestFolder()
    objects = WideObjects(model, seed: seed)
    // A service that opens the store purges a history of long ago.
    let now = Int64(Date().timeIntervalSince1970 * 1000)
    var bulk = BulkLimits()
    if seed.isMultiple(of: 3) {
      // The way that requests with thousands of rows take.
      bulk.rowsMin = 1
      bulk.rowsAtOnceMax = 2
    }
    store = try TestStore(model.text, in: folder, bulk: bulk, start: now)
    try await save(["insert": .array(objects.inserts(3))])
    for _ in 0..<changes { try await change() }
  }

  var snapshot: WideState {
    get throws { try store.map { try WideState($0, model) } ?? WideState() }
  }

  /// Saves a random change; returns whether the store accepts it.
  @discardableResult
  func change(_ members: [JSONMember] = [], in other: TestStore? = nil) async throws -> Bool {
    let request = objects.change(try snapshot)
    return try await save(.object((request.members ?? []) + members), in: other)
  }

  @discardableResult
  private func save(_ request: JSONValue, in other: TestStore? = nil) async throws -> Bool {
    do {
      try await (other ?? store)?.save(request.text)
      saves += 1
      return true
    } catch let error as StoreError {
      // The random change does not fit the model.
      let expected: [StoreError.Code] = [
        .validationFailed, .uniquenessViolation, .deleteDenied, .objectNotFound,
      ]
      guard expected.contains(error.code) else { throw error }
      return false
    }
  }

  func token() throws -> String { try store?.snapshot { $0.token.description } ?? "" }

  /// The tokens of all commits.
  func log() throws -> [String] {
    try store?.snapshot { snapshot in
      try snapshot.log.transactions(after: 0, through: .max, limit: .max).map {
        try snapshot.token(of: $0.number).description
      }
    } ?? []
  }

  /// Checks that a verification finds nothing.
  func verify(_ seed: UInt64, _ test: String) throws {
    let problems = try store?.snapshot { snapshot in
      var verification = StoreVerification(snapshot)
      return try verification.run()["problems"] ?? .null
    }
    if problems != [] {
      Issue.record(
        """
        store/verify reports \(problems?.text ?? "nothing")
        \(model.text)
        \(Seeds.repeating(seed, test))
        """
      )
    }
  }

  /// Closes the store and returns the digest of what it had.
  func close() throws -> [String] {
    let digest = try snapshot.digest(model)
    store = nil
    return digest
  }
}

extension WideModel {
  /// The name of the attribute that tells objects apart in every store.
  static let mark = "mark"

  /// Adds a text to each object that no other object has.
  mutating func mark() {
    for index in entities.indices where entities[index].parent == nil {
      var attribute = WideAttribute(number: newNumber(), name: Self.mark, type: .string)
      attribute.optional = false
      attribute.isDistinct = true
      entities[index].attributes.append(attribute)
    }
  }
}

extension WideState {
  /// The state without versions and times.
  func timeless(_ model: WideModel) -> WideState {
    var state = normalized(model)
    for name in objects.keys {
      state.objects[name]?.version = 0
      for attribute in model.attributes(name.entity) where attribute.derived?.isTime == true {
        state.objects[name]?.values[attribute.number] = nil
      }
    }
    return state
  }

  /// A line for each object that does not depend on objectIDs, versions and times; for models with
  /// marks.
  func digest(_ model: WideModel) -> [String] {
    let marks = objects.mapValues { object in
      model.entities.flatMap(\.attributes).filter { $0.name == WideModel.mark }
        .compactMap { object.values[$0.number].map { "\($0)" } }.first ?? ""
    }
    return normalized(model).objects.map { name, object in
      let times = model.attributes(name.entity).filter { $0.derived?.isTime == true }
        .map(\.number)
      let values = object.values.filter { !times.contains($0.key) }.sorted { $0.key < $1.key }
      let texts = values.map { property, value -> String in
        let name = model.name(property)
        guard case .attribute(let json) = value else {
          let members = value.names.map { marks[$0] ?? "" }
          let isOrdered = model.relationship(property)?.ordered == true
          return "\(name)=\(isOrdered ? members : members.sorted())"
        }
        return "\(name)=\(json.text)"
      }
      return "\(model.entity(name.entity).name) \(texts.joined(separator: " "))"
    }.sorted()
  }
}
