import CordialValues
import ObjectModel
import PersistentStore

/// The update of a window when objects may enter, leave or move.
///
/// Unchanged rows keep their order. The start of the new window is computed from the number of
/// objects before the first unchanged row. Only changed objects alter that number.
struct WindowRefresh {
  let snapshot: StoreSnapshot
  let plan: FetchPlan
  /// The rows of the changed objects; rows that were not read are missing.
  let rows: [ObjectKey: ChangedRow]

  /// Returns the window after a change.
  ///
  /// - Parameters:
  ///   - old: The window before.
  ///   - members: The objects that may enter, leave or move.
  ///   - matching: The members that match now.
  ///   - isReread: Set to true if SQLite sorted the whole result.
  /// - Returns: The window; nil if it must be read again.
  /// - Throws: `SQLiteError`.
  func run(
    _ old: WindowRows,
    _ members: [ObjectKey: Verdict.Match],
    _ matching: Set<Int64>,
    isReread: inout Bool
  ) throws -> WindowRows? {
    let candidates = Set(members.keys.map(\.object))
    guard let unchanged = try unchangedBefore(old, members, candidates) else { return nil }
    var new = old
    var entering = 0
    new.rows = try SequenceEdit(of: old.rows, candidates: candidates) { kept in
      try snapshot.offsets(of: Array(matching), in: kept, plan).compactMap { object, offset in
        if offset == 0, unchanged > 0 {
          // The object comes before all kept rows. The window counts the object but has no row for
          // it, because unchanged objects may be between the object and the first kept row.
          entering += 1
          return nil
        }
        // An object after the last known row is dropped, because unchanged objects may be between
        // that row and the object.
        return offset == kept.count && !old.isComplete ? nil : (object, offset)
      }
    }.sequence
    new.start = unchanged + entering
    guard try refillBefore(&new, isReread: &isReread), try refillAfter(&new, isReread: &isReread)
    else { return nil }
    new.trim()
    return new
  }

  /// Returns the number of unchanged objects before the first unchanged row; nil if unknown.
  private func unchangedBefore(
    _ old: WindowRows,
    _ members: [ObjectKey: Verdict.Match],
    _ candidates: Set<Int64>
  ) throws -> Int? {
    guard old.start > 0 else { return 0 }
    guard let pivot = old.rows.firstIndex(where: { !candidates.contains($0) }) else { return nil }
    let known = Set(old.rows).intersection(candidates)
    var former: [(object: Int64, keys: [AttributeValue])] = []
    for (key, match) in members where !known.contains(key.object) {
      guard let wasMember = match.before else { return nil }
      guard wasMember else { continue }
      guard let row = rows[key]?.before, let columns = plan.orderColumns else { return nil }
      former.append((key.object, columns.map { row[$0] }))
    }
    // All rows before the pivot are candidates.
    return old.start - (try snapshot.count(of: former, before: old.rows[pivot], plan))
  }

  /// Reads missing rows before the window; returns false if they cannot be determined.
  private func refillBefore(
    _ window: inout WindowRows,
    isReread: inout Bool
  ) throws -> Bool {
    guard window.spareBefore < 0 else { return true }
    guard let first = window.rows.first else { return false }
    let wanted = min(window.start, window.spare - window.spareBefore)
    let (objects, isSorted) = try snapshot.neighbors(
      of: first,
      plan,
      isBefore: true,
      max: wanted
    )
    guard objects.count == wanted else { return false }
    window.prepend(objects)
    if isSorted { isReread = true }
    return true
  }

  /// Reads missing rows after the window; returns false if they cannot be determined.
  private func refillAfter(
    _ window: inout WindowRows,
    isReread: inout Bool
  ) throws -> Bool {
    guard let spare = window.spareAfter, spare < 0 else { return true }
    guard let last = window.rows.last else { return false }
    let wanted = window.spare - spare
    let (objects, isSorted) = try snapshot.neighbors(
      of: last,
      plan,
      isBefore: false,
      max: wanted
    )
    for object in objects { window.rows.append(object) }
    window.isComplete = objects.count < wanted
    if isSorted { isReread = true }
    return true
  }
}
