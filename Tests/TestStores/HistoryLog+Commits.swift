package import PersistentHistory

extension HistoryLog {
  /// Returns the commits after a commit, with their changes, oldest first.
  package func transactions(
    after: Int64,
    through: Int64,
    limit: Int
  ) throws -> [HistoryTransaction] {
    var transactions: [HistoryTransaction] = []
    try eachCommit(after: after, through: through, limit: limit, changesMax: .max) { transaction in
      transactions.append(transaction)
      return true
    }
    return transactions
  }
}
