package import CordialValues
import ObjectModel
package import PersistentHistory
import StoreLayout

/// The changes before a snapshot.
extension StoreSnapshot {
  /// Returns the combined changes since a position, without derived values that have changed back
  /// to their former value.
  ///
  /// - Parameters:
  ///   - position: The position after which the changes begin.
  ///   - changesMax: The maximum number of logged changes.
  /// - Returns: The change set; nil when there are more than `changesMax` changes, or when the log
  ///   does not reach back to the position.
  /// - Throws: `SQLiteError`.
  /// - Complexity: Linear in the changes logged since the position.
  package func changes(since position: LogPosition, changesMax: Int = .max) throws -> ChangeSet? {
    guard var set = try log.changeSet(from: position, to: head, changesMax: changesMax) else {
      return nil
    }
    let uncounted = set.changes.values.filter { $0.kind == .update && !$0.countsVersion }
    guard !uncounted.isEmpty else { return set }
    let former = try log.formerValues(
      from: position,
      to: head,
      of: Set(uncounted.map(\.key.entity))
    )
    for change in uncounted {
      // A link row may reference an object that does not exist.
      guard try exists(change.key) else {
        set.changes[change.key] = nil
        continue
      }
      let entity = model.entity(change.key.entity)
      let read = change.properties.filter { entity.columns.contains($0) }.sorted()
      guard !read.isEmpty, let logged = former[change.key] ?? nil,
        let present = try columns(read, of: change.key)
      else { continue }
      var changed = change
      for value in logged where read.contains(value.property) {
        let stored = StorageKey(value.stored(in: entity))
        guard stored == present[value.property].map(StorageKey.init) else { continue }
        changed.properties.remove(value.property)
      }
      set.changes[change.key] = changed.properties.isEmpty ? nil : changed
    }
    return set
  }

  /// Returns the authors of the commits after a commit, each with the author's last commit.
  ///
  /// - Parameter commit: The commit after which the range begins.
  /// - Returns: The authors, in the order of their last commits.
  /// - Throws: `SQLiteError`.
  /// - Complexity: Linear in the commits.
  package func lastCommits(after commit: Int64) throws -> [(author: String?, commit: Int64)] {
    var last: [String?: Int64] = [:]
    try log.eachEntry(after: commit, through: head.number) { last[$0.author] = $0.number }
    return last.sorted { $0.value < $1.value }.map { (author: $0.key, commit: $0.value) }
  }
}
