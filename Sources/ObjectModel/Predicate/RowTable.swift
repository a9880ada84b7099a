package import CordialValues

/// Rows of one entity with the columns that conditions read.
///
/// The table folds each text only once, even if several conditions read the text.
package final class RowTable {
  /// The names of the columns, in the order of the values of a row.
  package let columns: [String]
  private var values: [AttributeValue] = []
  private var count = 0
  /// The length of the longest text, in bytes.
  package private(set) var longestText = 0
  private var folded: [FoldedColumn] = []

  /// The texts of one column after folding; a text is folded when a condition first reads it.
  private struct FoldedColumn {
    let column: Int
    let flags: Int32
    var texts: [String?] = []
    var isFolded: [Bool] = []
  }

  package init(columns: [String]) {
    self.columns = columns
  }

  /// Adds a row.
  ///
  /// - Parameter row: The values in the order of the columns, as the columns store them.
  /// - Returns: The row.
  package func append(_ row: some Collection<AttributeValue>) -> RowValues {
    precondition(row.count == columns.count)
    values.append(contentsOf: row)
    for value in row { longestText = max(longestText, value.textBytes) }
    count += 1
    return RowValues(table: self, index: count - 1)
  }

  func value(_ row: Int, _ column: Int) -> AttributeValue { values[row * columns.count + column] }

  /// Returns a text after folding; nil for a value that is not a text.
  func folded(_ row: Int, _ column: Int, _ flags: Int32) -> String? {
    guard flags != 0 else { return text(row, column) }
    let index: Int
    if let known = folded.firstIndex(where: { $0.column == column && $0.flags == flags }) {
      index = known
    } else {
      index = folded.count
      folded.append(FoldedColumn(column: column, flags: flags))
    }
    let missing = count - folded[index].texts.count
    if missing > 0 {
      folded[index].texts += repeatElement(nil, count: missing)
      folded[index].isFolded += repeatElement(false, count: missing)
    }
    if !folded[index].isFolded[row] {
      folded[index].texts[row] = text(row, column).map { Folding.fold($0, flags: flags) }
      folded[index].isFolded[row] = true
    }
    return folded[index].texts[row]
  }

  private func text(_ row: Int, _ column: Int) -> String? {
    switch value(row, column) {
    case .string(let text), .uri(let text): text
    default: nil
    }
  }
}

/// One row of a table.
package struct RowValues {
  package let table: RowTable
  let index: Int

  init(table: RowTable, index: Int) {
    self.table = table
    self.index = index
  }

  /// Creates a row with a table of its own.
  ///
  /// - Parameter values: The values by column, as the columns store them.
  package init(_ values: [String: AttributeValue]) {
    let sorted = values.sorted { $0.key < $1.key }
    self = RowTable(columns: sorted.map(\.key)).append(sorted.map(\.value))
  }

  /// The value of a column; null if the table does not have the column.
  package subscript(column: String) -> AttributeValue {
    table.columns.firstIndex(of: column).map { self[$0] } ?? .null
  }

  /// The value of a column by its index in the table; null for a negative index.
  package subscript(column: Int) -> AttributeValue {
    column < 0 ? .null : table.value(index, column)
  }

  /// Returns whether another value is the same row of the same table.
  package func isSame(as other: RowValues) -> Bool {
    table === other.table && index == other.index
  }
}

extension AttributeValue {
  /// The length of a text or of binary data, in bytes; 0 for every other value.
  package var textBytes: Int {
    switch self {
    case .string(let text), .decimal(let text), .uuid(let text), .uri(let text), .json(let text):
      text.utf8.count
    case .binary(let bytes): bytes.count
    case .null, .integer, .double, .boolean, .date: 0
    }
  }
}
