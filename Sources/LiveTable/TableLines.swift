import JSON

/// The lines of a table that fits a terminal.
package struct TableLines {
  /// A line, and the mark that the last update gave to the row of the line.
  package struct Line: Sendable, Equatable {
    package let text: String
    package let mark: LiveResult.Mark?
  }

  private let result: LiveResult
  /// The rows that the terminal may show.
  private let visible: [LiveResult.Row]
  private let width: Int
  private let height: Int

  /// The number of columns between two cells, which is also the width of a row's mark.
  private static let gap = 2
  /// The minimum width to which a column is shortened on a narrow terminal.
  private static let cellMin = 4

  /// Creates the lines of a result.
  ///
  /// - Parameters:
  ///   - result: The result.
  ///   - width: The number of columns of the terminal.
  ///   - height: The number of lines of the terminal.
  package init(_ result: LiveResult, width: Int, height: Int) {
    self.result = result
    self.width = max(width, 1)
    self.height = max(height, 1)
    visible =
      Array(result.rows.prefix(self.height)) + result.removed.prefix(self.height).map(\.row)
  }

  /// Returns the lines of the table.
  ///
  /// - Parameter title: The text of the first line.
  /// - Returns: At most as many lines as the terminal has. If rows do not fit, the last line states
  ///   their number.
  /// - Complexity: Linear in the number of lines.
  package func lines(title: String) -> [Line] {
    var all = [Line(text: fitted(CellText.text(.string(title))), mark: nil)]
    if let count = result.count {
      all.append(Line(text: fitted("\(count)"), mark: nil))
      return Array(all.prefix(height))
    }
    let names = columnNames
    let widths = columnWidths(names)
    let titles = names.map { CellText.text(.string($0)) }
    all.append(Line(text: text("  ", titles, widths), mark: nil))
    let body = bodyLines(names, widths)
    let total = result.rows.count + result.removed.count + sections.count
    let room = max(height - all.count, 0)
    guard total > room else { return all + body }
    let shown = max(room - 1, 0)
    all += body.prefix(shown)
    if room > 0 { all.append(Line(text: fitted("  … \(total - shown) more"), mark: nil)) }
    return Array(all.prefix(height))
  }

  private func fitted(_ text: String) -> String {
    CellText.width(text) > width ? CellText.fitted(text, to: width) : text
  }

  // MARK: Columns

  private var columnNames: [String] {
    var names: [String] = []
    if visible.contains(where: { !$0.id.isEmpty }) { names.append("id") }
    for row in visible {
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

  /// Returns the widths of the columns.
  ///
  /// The widest columns are shortened until all columns fit.
  private func columnWidths(_ names: [String]) -> [Int] {
    var widths = names.map { CellText.width(CellText.text(.string($0))) }
    for row in visible {
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

  /// The sections that contain a row of the result.
  private var sections: [LiveResult.Section] {
    result.sections.filter { $0.offset < result.rows.count }
  }

  /// Returns the lines of rows and sections, possibly more lines than the terminal has.
  private func bodyLines(_ names: [String], _ widths: [Int]) -> [Line] {
    var lines: [Line] = []
    var removed = result.removed[...]
    var sections = sections[...]
    func addRemoved(before offset: Int) {
      while let next = removed.first, next.offset <= offset {
        lines.append(line(next.row, names, widths))
        removed.removeFirst()
      }
    }
    for (offset, row) in result.rows.prefix(height).enumerated() {
      while let section = sections.first, section.offset <= offset {
        lines.append(Line(text: fitted("── \(section.name) (\(section.count))"), mark: nil))
        sections.removeFirst()
      }
      addRemoved(before: offset)
      lines.append(line(row, names, widths))
    }
    if result.rows.count <= height { addRemoved(before: .max) }
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
