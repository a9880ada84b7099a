import JSON

/// The commits of a store in their order, as `history` returned them.
struct CommitLog {
  /// The token of the newest commit.
  private(set) var end: String
  private var indices: [String: Int]
  /// The author of each commit, as JSON; the first position has none.
  private var authors: [String]
  /// The index of the oldest position that the log still has.
  private var oldest = 0

  /// Creates the log of a store that has no commits after a position.
  init(start: String) {
    end = start
    indices = [start: 0]
    authors = [""]
  }

  /// Adds the transactions after the end.
  mutating func append(_ transactions: [JSONValue]) {
    for transaction in transactions {
      end = transaction["token"]?.string ?? ""
      indices[end] = authors.count
      authors.append((transaction["author"] ?? .null).text)
    }
  }

  /// Removes the positions before the oldest one that a purge left.
  mutating func purge(to token: String) {
    oldest = max(oldest, indices[token] ?? 0)
  }

  /// Whether a purge removed a position.
  func isPurged(_ token: String) -> Bool {
    indices[token].map { $0 < oldest } ?? false
  }

  /// The authors between two positions, as JSON; nil where a position is unknown.
  func authors(after from: String, through token: String) -> Set<String>? {
    guard let first = indices[from], let last = indices[token], first <= last else { return nil }
    return Set(authors[(first + 1)..<(last + 1)])
  }
}
