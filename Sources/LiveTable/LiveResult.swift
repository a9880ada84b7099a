// LiveTable: the changing content of a terminal. It shows an observed result as a table, with marks
// for the rows of the last update, and a search while a person types.
//
// Must not know: connections, files, terminals, the time.
//
// What always holds:
// 1. After an update, the rows equal the rows of the service's result.
// 2. No line of a table is wider than the terminal.
// 3. No line contains control characters of a text: `CellText` makes them visible.

import CordialProtocol
package import JSON

/// An observed result with the changes of its last update.
package struct LiveResult: Sendable {
  /// The effect of the last update on a row.
  package enum Mark: Sendable, Equatable {
    case inserted, changed, removed
  }

  /// A row of the table.
  package struct Row: Sendable, Equatable {
    package let id: String
    /// The values by their names, in the order of the result.
    package let values: [JSONMember]
    package var mark: Mark?
  }

  /// A section of the result.
  package struct Section: Sendable, Equatable {
    package let name: String
    package let offset: Int
    package let count: Int
  }

  /// The rows, in the order of the result.
  package private(set) var rows: [Row] = []
  /// The rows that the last update removed, each with the offset of the row below it.
  package private(set) var removed: [(offset: Int, row: Row)] = []
  package private(set) var sections: [Section] = []
  /// The number of objects if the result is only a count; nil for a result with rows.
  package private(set) var count: Int64?
  /// Whether a result has arrived.
  package private(set) var isKnown = false

  package init() {}

  /// Replaces the whole result, and marks the differences from the previous result.
  package mutating func replace(_ result: JSONValue) {
    let former = Dictionary(
      rows.map { ($0.id, $0.values) },
      uniquingKeysWith: { first, _ in first }
    )
    let forms: [MemberName] = [.objects, .ids, .rows, .hits]
    let rowsOfResult = forms.lazy.compactMap { result[$0] }.first
    let list = rowsOfResult?.array ?? []
    let old = rows
    rows = list.map { object in
      var row = Self.row(object)
      guard isKnown else { return row }
      row.mark = former[row.id].map { $0 == row.values ? nil : .changed } ?? .inserted
      return row
    }
    isKnown = true
    let ids = Set(rows.map(\.id))
    removed = old.enumerated().filter { !ids.contains($0.element.id) }.map { offset, row in
      var row = row
      row.mark = .removed
      return (offset, row)
    }
    count = rowsOfResult == nil ? result[.count]?.integer : nil
    setSections(result)
  }

  /// Applies the difference between the current result and the next result.
  package mutating func apply(_ update: JSONValue) {
    removed = []
    for index in rows.indices { rows[index].mark = nil }
    if count != nil { count = update[.count]?.integer ?? count }
    for removal in update[.remove]?.array ?? [] { remove(removal) }
    for insertion in update[.insert]?.array ?? [] {
      let offset = Int(insertion[.offset]?.integer ?? 0)
      var row = Self.row(insertion[.object] ?? insertion[.id] ?? .null)
      row.mark = insertion[.movedFrom] == nil ? .inserted : .changed
      rows.insert(row, at: min(max(offset, 0), rows.count))
    }
    for change in update[.update]?.array ?? [] {
      guard let offset = change[.offset]?.integer, rows.indices.contains(Int(offset)) else {
        continue
      }
      var row = Self.row(change[.object] ?? .null)
      row.mark = .changed
      rows[Int(offset)] = row
    }
    setSections(update)
  }

  private mutating func remove(_ removal: JSONValue) {
    guard let offset = removal[.offset]?.integer, rows.indices.contains(Int(offset)) else {
      return
    }
    var row = rows.remove(at: Int(offset))
    // Removals arrive by descending offset, so this removal decrements all offsets in `removed`.
    for index in removed.indices { removed[index].offset -= 1 }
    guard removal[.movedTo] == nil else { return }
    row.mark = .removed
    removed.insert((Int(offset), row), at: 0)
  }

  private mutating func setSections(_ result: JSONValue) {
    guard let list = result[.sections]?.array else { return }
    sections = list.map { section in
      Section(
        name: CellText.text(section[.name] ?? .null),
        offset: Int(section[.offset]?.integer ?? 0),
        count: Int(section[.count]?.integer ?? 0)
      )
    }
  }

  private static func row(_ object: JSONValue) -> Row {
    if let id = object[.id]?.string, let title = object[.title] {
      // The row of a hit omits the score, because other documents change the score.
      let selected = object[.object]?[.values]?.members ?? []
      return Row(id: id, values: [JSONMember(.title, title)] + selected)
    }
    guard let id = object[.id]?.string, let values = object[.values]?.members else {
      return Row(id: object.string ?? "", values: object.members ?? [])
    }
    return Row(id: id, values: values)
  }
}
