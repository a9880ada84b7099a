import TestSeeds

/// Random SQL of an external client.
enum RandomSQL {
  /// Returns one or two statements, each of which is one transaction.
  ///
  /// Deletes leave references that dangle, because an external client runs no delete rules.
  ///
  /// - Parameters:
  ///   - ids: The stored IDs.
  ///   - random: The randomness.
  /// - Returns: The SQL.
  static func random(_ ids: StoredIDs, _ random: inout SplitMix64) -> String {
    let first = statement(ids, &random)
    guard random.oneIn(3) else { return first }
    let second = statement(ids, &random)
    return "\(first); \(second)"
  }

  private static func statement(_ ids: StoredIDs, _ random: inout SplitMix64) -> String {
    let task = random.any(ids.tasks).map(StoredIDs.number) ?? (entity: "Task", number: "1")
    let group = random.any(ids.groups).map(StoredIDs.number)?.number ?? "1"
    let number = random.below(6)
    let title = "'ext \(number)'"
    switch random.below(12) {
    case 0: return "UPDATE Task SET priority = \(number) WHERE priority > 3"
    case 1:
      return "UPDATE \(task.entity) SET title = \(title) WHERE _id = \(task.number)"
    case 2:
      return #"UPDATE \#(task.entity) SET "group" = \#(group) WHERE _id = \#(task.number)"#
    case 3: return #"UPDATE "Group" SET rank = \#(number) WHERE _id = \#(group)"#
    case 4: return #"UPDATE "Group" SET title = 'home' WHERE _id = \#(group)"#
    case 5, 6:
      return """
        INSERT INTO Task(title, priority, done, "group") \
        VALUES (\(title), \(number), \(number % 2), \(group))
        """
    case 7, 8:
      return """
        INSERT OR REPLACE INTO \(task.entity)(_id, title, priority, done) \
        VALUES (\(task.number), \(title), \(number), 1)
        """
    case 9: return #"INSERT INTO "Group"(title, rank) VALUES ('work', \#(number))"#
    case 10 where ids.groups.count > 2: return #"DELETE FROM "Group" WHERE _id = \#(group)"#
    default: return "DELETE FROM \(task.entity) WHERE _id = \(task.number)"
    }
  }
}
