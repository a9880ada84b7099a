import JSON

/// The lines of a table that fits a terminal.
package struct TableLines {
  /// A line, with what the last update did to its row.
  package struct Line: Sendable, Equatable {
    package let text: String
    package let mark: LiveResult.Mark?
  }

  private let result: LiveResult
  private let width: Int

  /// The columns between two cells, and those of the mark at the beginning of a row.
  private static let gap = 2
  /// The width that a cell keeps when the terminal is too narrow for all of them.
  private static let cellMin = 4

  /// Creates the lines of a result.
  ///
  /// - Parameters:
  ///   - result: The result.
  ///   - width: The number of columns of the terminal.
  package init(_ result: LiveResult, width: Int) {
    self.result = result
    self.width = max(width, 1)
  }

  /// Returns the lines of the table.
  ///
  /// - Parameters:
  ///   - title: The first line.
  ///   - height: The number of lines of the terminal.
  /// - Returns: At most `height` lines. Rows that do not fit are counted in the last one.
  package func lines(title: String, height: Int) -> [Line] {
    var all = [Line(text: fitted(title), mark: nil)]
    if let count = result.count {
      all.append(Line(text: fitted("\(count)"), mark: nil))
      return Array(all.prefix(max(height, 1)))
    }
    let names = columnNames
    let widths = columnWidths(names)
    all.append(Line(text: text("  ", names, widths), mark: nil))
    let body = bodyLines(names, widths)
    let room = max(height - all.count, 0)
    guard body.count > room else { return all + body }
    let shown = max(room - 1, 0)
    all += body.prefix(shown)
    if room > 0 { all.append(Line(text: fitted("  … \(body.count - shown) more"), mark: nil)) }
    return Array(all.prefix(max(height, 1)))
  }

  private func fitted(_ text: String) -> String {
    CellText.width(text) > width ? CellText.fitted(text, to: width) : text
  }

  // MARK: Columns

  private var columnNames: [String] {
    var names: [String] = []
    let rows = result.rows + result.removed.map(\.row)
    if rows.contains(where: { !$0.id.isEmpty }) { names.append("id") }
    for row in rows {
      for member in row.values where !names.contains(member.name) { names.append(member.name) }
    }
    return names
  }

  private func cells(_ row: LiveResult.Row, _ names: [String]) -> [String] {
    let values = JSONValue.object(row.values)
    return names.enumerated().map { index, name in
      index == 0 && name == "id" && !row.id.isEmpty
        ? CellText.text(.string(row.id)) : CellText.text(values[name] ?? .null)
    }
  }

  /// Returns the widths of the columns, the widest shortened until all of them fit.
  private func columnWidths(_ names: [String]) -> [Int] {
    var widths = names.map { CellText.width($0) }
    for row in result.rows + result.removed.map(\.row) {
      for (index, cell) in cells(row, names).enumerated() {
        widths[index] = max(widths[index], CellText.width(cell))
      }
    }
    var surplus = widths.reduce(0) { $0 + $1 + Self.gap } - width
    while surplus > 0, let widest = widths.max(), widest > Self.cellMin,
      let index = widths.lastIndex(of: widest)
    {
      let second = widths.filter { $0 < widest }.max() ?? Self.cellMin
      let cut = min(surplus, max(1, widest - max(second, Self.cellMin)))
      widths[index] -= cut
      surplus -= cut
    }
    return widths
  }

  // MARK: Rows

  private func bodyLines(_ names: [String], _ widths: [Int]) -> [Line] {
    var lines: [Line] = []
    var removed = result.removed[...]
    var sections = result.sections[...]
    func addRemoved(before offset: Int) {
      while let next = removed.first, next.offset <= offset {
        lines.append(line(next.row, names, widths))
        removed.removeFirst()
      }
    }
    for (offset, row) in result.rows.enumerated() {
      while let section = sections.first, section.offset <= offset {
        lines.append(Line(text: fitted("── \(section.name) (\(section.count))"), mark: nil))
        sections.removeFirst()
      }
      addRemoved(before: offset)
      lines.append(line(row, names, widths))
    }
    addRemoved(before: .max)
    return lines
  }

  private func line(_ row: LiveResult.Row, _ names: [String], _ widths: [Int]) -> Line {
    let sign =
      switch row.mark {
      case nil: "  "
      case .inserted: "+ "
      case .changed: "~ "
      case .removed: "- "
      }
    return Line(text: text(sign, cells(row, names), widths), mark: row.mark)
  }

  private func text(_ sign: String, _ cells: [String], _ widths: [Int]) -> String {
    let gap = String(repeating: " ", count: Self.gap)
    var line =
      sign
      + zip(cells, widths).map { CellText.fitted($0, to: $1) }.joined(separator: gap)
    while line.last == " " { line.removeLast() }
    return fitted(line)
  }
}
