package import CordialValues
import JSON
package import ObjectModel
import StoreLayout

/// The members of to-manys at a past position of the log.
///
/// The caller starts each list with its current members, and then rewinds the log row by row.
///
/// - Complexity: Rewinding a log row takes constant time, whatever the count and length of the
///   lists.
package struct FormerLists {
  private let model: Model
  /// The sort position of each member, by list; meaningless for a list that is not ordered.
  private var lists: [ListName: [Int64: Int64]] = [:]
  /// The to-ones whose inverses are among the lists.
  private var toOnes: [RelationshipDescription] = []
  /// The object number that an object's to-one references; absent if `lists` does not contain the
  /// list of the referenced object.
  private var targets: [Reference: Int64] = [:]

  private struct ListName: Hashable {
    let owner: ObjectKey
    let property: String
  }

  /// The identity of an object's to-one; `toOne` is the index in `toOnes`.
  private struct Reference: Hashable {
    let toOne: Int
    let object: Int64
  }

  /// The placeholder for a sort position that the log does not contain; it sorts the member last.
  private static let unknown = Int64.max

  package init(_ model: Model) {
    self.model = model
  }

  /// Starts a list with its current members.
  ///
  /// - Parameters:
  ///   - toMany: The to-many.
  ///   - owner: The object that owns the list.
  ///   - positions: The members with their sort positions; nil for a member without a position.
  package mutating func begin(
    _ toMany: RelationshipDescription,
    of owner: ObjectKey,
    with positions: [Int64: Int64?]
  ) {
    // SQLite sorts null before every number.
    lists[ListName(owner: owner, property: toMany.name)] =
      positions.mapValues { $0 ?? Int64.min }
    guard case .inverseColumn = toMany.storage, let name = toMany.inverse,
      case .relationship(let toOne)? = model.entity(toMany.destination).property(named: name)
    else { return }
    let index = toOnes.firstIndex { $0 === toOne } ?? toOnes.count
    if index == toOnes.count { toOnes.append(toOne) }
    for member in positions.keys {
      targets[Reference(toOne: index, object: member)] = owner.object
    }
  }

  /// Returns the members of a list at the rewound position of the log.
  ///
  /// The members are in list order, or sorted by object number if the list is not ordered.
  package func members(of toMany: RelationshipDescription, _ owner: ObjectKey) -> [Int64] {
    let positions = lists[ListName(owner: owner, property: toMany.name)] ?? [:]
    guard toMany.ordered else { return positions.keys.sorted() }
    return positions.sorted { ($0.value, $0.key) < ($1.value, $1.key) }.map(\.key)
  }

  /// Rewinds one row of the log; the caller passes rows from the newest to the oldest.
  package mutating func rewind(_ row: HistoryRow) {
    guard model.hasEntity(row.entity) else { return }
    switch row.kind {
    case .link, .unlink: rewindLink(row)
    case .insert: setTargets(of: row) { _ in .some(nil) }
    case .update, .delete:
      if let former = row.formerPosition {
        let list = ListName(owner: model.key(row.entity, row.object), property: former.property)
        guard lists[list]?[row.other] != nil else { return }
        lists[list]?[row.other] = former.position
      } else if !toOnes.isEmpty, row.version != nil {
        let values = row.values
        setTargets(of: row) { toOne in
          values.first { $0.property == toOne.name }.map { $0.value.integer }
        }
      }
    }
  }

  private mutating func rewindLink(_ row: HistoryRow) {
    for (index, (key, property)) in row.sides(in: model).enumerated() {
      let list = ListName(owner: key, property: property)
      guard lists[list] != nil else { continue }
      let member = index == 0 ? row.other : row.object
      if row.kind == .link {
        lists[list]?[member] = nil
      } else if lists[list]?[member] == nil {
        lists[list]?[member] = Self.unknown
      }
    }
  }

  /// Moves an object back into the inverse lists of the objects that its to-ones referenced before
  /// a log row.
  ///
  /// - Parameters:
  ///   - row: A log row of an object.
  ///   - former: Returns the object number that a to-one referenced; the outer nil means that the
  ///     log row does not have the to-one.
  private mutating func setTargets(
    of row: HistoryRow,
    to former: (RelationshipDescription) -> Int64??
  ) {
    let key = model.key(row.entity, row.object)
    for (index, toOne) in toOnes.enumerated() where model.isKind(key.entity, of: toOne.owner) {
      guard let target = former(toOne) else { continue }
      let reference = Reference(toOne: index, object: key.object)
      let known = targets[reference]
      guard known != target else { continue }
      if let known { lists[list(of: toOne, known)]?[key.object] = nil }
      targets[reference] = nil
      guard let target, lists[list(of: toOne, target)] != nil else { continue }
      lists[list(of: toOne, target)]?[key.object] = Self.unknown
      targets[reference] = target
    }
  }

  /// Returns the inverse list that the target of a to-one owns.
  private func list(of toOne: RelationshipDescription, _ target: Int64) -> ListName {
    ListName(owner: model.key(toOne.destination, target), property: toOne.inverse ?? "")
  }
}
