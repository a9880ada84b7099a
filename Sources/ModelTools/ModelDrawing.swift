import JSON
package import ObjectModel

/// A picture of a model: a box for each entity, a line for each relationship.
package struct ModelDrawing {
  private let model: Model

  package init(_ model: Model) { self.model = model }

  /// One line of a picture, between two boxes.
  private struct Line {
    let from: EntityDescription
    let to: EntityDescription
    /// The relationship of `from`, nil for a line to the parent.
    var name: String?
    /// The relationship of `to`, nil if there is none.
    var inverse: String?
  }

  /// The lines to parents, then the lines of relationships: one line for both ends of a
  /// relationship.
  private var lines: [Line] {
    let parents = model.entities.compactMap { entity in
      parent(of: entity).map { Line(from: entity, to: $0) }
    }
    let relationships = model.entities.flatMap { entity in
      entity.relationships.filter { $0.owner == entity.number && isDrawn($0, of: entity) }
        .map { relationship in
          Line(
            from: entity,
            to: model.entity(relationship.destination),
            name: relationship.name + (relationship.toMany ? "*" : ""),
            inverse: relationship.inverse
          )
        }
    }
    return parents + relationships
  }

  private func parent(of entity: EntityDescription) -> EntityDescription? {
    entity.familyPosition.ancestors.dropLast().last.map { model.entity($0) }
  }

  /// Returns whether a relationship is drawn from this end.
  ///
  /// Of the two ends, only the end whose entity and relationship names sort first is drawn.
  private func isDrawn(
    _ relationship: RelationshipDescription,
    of entity: EntityDescription
  ) -> Bool {
    guard let inverse = relationship.inverse else { return true }
    let destination = model.entity(relationship.destination)
    return (entity.name, relationship.name) <= (destination.name, inverse)
  }

  /// Returns an entity's own attributes in the form `title: string?`.
  private func attributes(of entity: EntityDescription) -> [String] {
    let inherited = Set((parent(of: entity)?.attributes ?? []).map(\.name))
    return entity.attributes.filter { !inherited.contains($0.name) }.map {
      "\($0.name): \($0.type.rawValue)\($0.optional ? "?" : "")"
    }
  }

  // MARK: Graphviz

  /// The picture in Graphviz's language.
  package var dot: String {
    var text = "digraph \(Self.quoted(model.name)) {\n"
    text += "  rankdir=LR; node [shape=record, fontname=\"Helvetica\"];\n"
    for entity in model.entities {
      let name = Self.recordText(entity.name)
      let attributes = attributes(of: entity).map { Self.recordText($0) + "\\l" }.joined()
      text += "  \(Self.quoted(entity.name)) [label=\"{\(name)|\(attributes)}\"];\n"
    }
    for line in lines {
      let edge = "\(Self.quoted(line.from.name)) -> \(Self.quoted(line.to.name))"
      guard let name = line.name else {
        text += "  \(edge) [arrowhead=empty];\n"
        continue
      }
      let ends = line.inverse.map { ", taillabel=\(Self.quoted($0)), dir=both" } ?? ""
      text += "  \(edge) [headlabel=\(Self.quoted(name))\(ends)];\n"
    }
    return text + "}"
  }

  /// Returns a text in quotes, as a name or as a label.
  ///
  /// Without quotes, `node`, `Edge` and `graph` would be keywords
  /// (https://graphviz.org/doc/info/lang.html). A backslash begins an escape in a label and before
  /// a quote, so each backslash is doubled.
  private static func quoted(_ text: String) -> String {
    "\"\(escaped(text, ["\\": "\\\\", "\"": "\\\""]))\""
  }

  /// Returns a text for a field of a record, within the quotes of its label
  /// (https://graphviz.org/doc/info/shapes.html#record).
  private static func recordText(_ text: String) -> String {
    escaped(
      text,
      [
        "\\": "\\\\", "\"": "\\\"", "{": "\\{", "}": "\\}", "|": "\\|", "<": "\\<", ">": "\\>",
      ]
    )
  }

  // MARK: SVG

  /// The measures of the picture, in pixels.
  private enum Measure {
    static let character = 7
    static let line = 18
    static let margin = 12
    static let gap = 110
  }

  /// A rectangle with the top left corner at (x, y).
  private struct Box {
    var x: Int
    var y: Int
    let width: Int
    let height: Int

    var center: (x: Int, y: Int) { (x + width / 2, y + height / 2) }

    /// Returns the point where the line from the center to another point leaves the box.
    func edge(toward point: (x: Int, y: Int)) -> (x: Int, y: Int) {
      let (dx, dy) = (Double(point.x - center.x), Double(point.y - center.y))
      guard dx != 0 || dy != 0 else { return (x + width, center.y) }
      let horizontal = dx == 0 ? .infinity : Double(width) / 2 / abs(dx)
      let vertical = dy == 0 ? .infinity : Double(height) / 2 / abs(dy)
      let scale = min(horizontal, vertical)
      return (center.x + Int(dx * scale), center.y + Int(dy * scale))
    }
  }

  /// The picture as SVG, with the boxes in rows; it needs no layout program.
  package var svg: String {
    let boxes = boxes()
    let width = (boxes.values.map { $0.x + $0.width }.max() ?? 0) + Measure.margin
    let height = (boxes.values.map { $0.y + $0.height }.max() ?? 0) + Measure.margin
    var text = """
      <svg xmlns="http://www.w3.org/2000/svg" width="\(width)" height="\(height)" \
      font-family="Helvetica, Arial, sans-serif" font-size="12">
      <title>\(Self.escaped(model.name)) \(Self.escaped(model.version))</title>
      <defs><marker id="parent" viewBox="0 0 10 10" refX="10" refY="5" markerWidth="12" \
      markerHeight="12" orient="auto"><path d="M0 0 10 5 0 10Z" fill="white" stroke="black"/>\
      </marker></defs>\n
      """
    var drawn: [Set<String>: Int] = [:]
    for line in lines {
      guard let from = boxes[line.from.name], let to = boxes[line.to.name] else { continue }
      let pair: Set<String> = [line.from.name, line.to.name]
      let index = drawn[pair, default: 0]
      drawn[pair] = index + 1
      text += Self.drawing(line, from, to, index)
    }
    for entity in model.entities {
      guard let box = boxes[entity.name] else { continue }
      text += drawing(entity, box)
    }
    return text + "</svg>"
  }

  private func boxes() -> [String: Box] {
    let count = model.entities.count
    let columns = max(1, Int(Double(count).squareRoot().rounded(.up)))
    var boxes: [String: Box] = [:]
    var y = Measure.margin
    for start in stride(from: 0, to: count, by: columns) {
      var x = Measure.margin
      var rowHeight = 0
      for entity in model.entities[start..<min(start + columns, count)] {
        let attributes = attributes(of: entity)
        let longest = ([entity.name] + attributes).map(\.unicodeScalars.count).max() ?? 0
        let box = Box(
          x: x,
          y: y,
          width: longest * Measure.character + 2 * Measure.margin,
          height: (attributes.count + 1) * Measure.line + Measure.margin
        )
        boxes[entity.name] = box
        x += box.width + Measure.gap
        rowHeight = max(rowHeight, box.height)
      }
      y += rowHeight + Measure.gap
    }
    return boxes
  }

  private func drawing(_ entity: EntityDescription, _ box: Box) -> String {
    var text = """
      <rect x="\(box.x)" y="\(box.y)" width="\(box.width)" height="\(box.height)" rx="4" \
      fill="white" stroke="black"/>\n
      """
    let lines = [(entity.name, "font-weight=\"bold\"")] + attributes(of: entity).map { ($0, "") }
    for (index, (line, style)) in lines.enumerated() {
      let y = box.y + (index + 1) * Measure.line
      text += """
        <text x="\(box.x + Measure.margin)" y="\(y)" \(style)>\(Self.escaped(line))</text>\n
        """
    }
    return text
  }

  /// Draws a line between two boxes, or a loop at one box; `index` keeps parallel lines apart.
  private static func drawing(_ line: Line, _ from: Box, _ to: Box, _ index: Int) -> String {
    if line.from === line.to {
      let (x, y) = (from.x + from.width, from.y + from.height / 2 + index * Measure.line)
      return """
        <path d="M\(x) \(y - 6)h30v12h-30" fill="none" stroke="black"/>
        <text x="\(x + 34)" y="\(y + 4)">\(escaped(line.name ?? ""))</text>\n
        """
    }
    let (start, end) = (from.edge(toward: to.center), to.edge(toward: from.center))
    let bend = index * 2 * Measure.line
    let middle = ((start.x + end.x) / 2, (start.y + end.y) / 2 - bend)
    let marker = line.name == nil ? " marker-end=\"url(#parent)\"" : ""
    var text = """
      <path d="M\(start.x) \(start.y)Q\(middle.0) \(middle.1) \(end.x) \(end.y)" fill="none" \
      stroke="black"\(marker)/>\n
      """
    for (label, near, far) in [(line.name, end, start), (line.inverse, start, end)] {
      guard let label else { continue }
      let x = (near.x * 3 + far.x) / 4
      let y = (near.y * 3 + far.y) / 4 - bend * 3 / 8 - 3
      text += "<text x=\"\(x)\" y=\"\(y)\" text-anchor=\"middle\">\(escaped(label))</text>\n"
    }
    return text
  }

  /// Returns a text escaped for XML.
  private static func escaped(_ text: String) -> String {
    escaped(text, ["&": "&amp;", "<": "&lt;", ">": "&gt;", "\"": "&quot;"])
  }

  /// Returns a text as one line without control characters, with some characters replaced.
  ///
  /// The function compares scalars, because `<` and a combining mark form one `Character`.
  private static func escaped(
    _ text: String,
    _ replacements: [Unicode.Scalar: String]
  ) -> String {
    VisibleText.line(text).unicodeScalars.map { replacements[$0] ?? String($0) }.joined()
  }
}
