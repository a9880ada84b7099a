import Testing

/// `Sources/ARCHITECTURE.md` is a map, and the designs are beside the code.
@Suite struct `The map of the sources` {
  private static let map = TextFile(path: "Sources/ARCHITECTURE.md")
  private static let designs = Repository.files(in: "Sources/", kinds: ["md"]).filter {
    $0.path.hasSuffix("/DESIGN.md")
  }

  private func count(_ file: TextFile) -> Int {
    // The last line's end makes an empty element.
    file.lines.last == "" ? file.lines.count - 1 : file.lines.count
  }

  @Test func `has at most 150 lines, and a design at most 200`() throws {
    let map = try #require(Self.map)
    #expect(count(map) <= 150)
    #expect(Self.designs.count > 8)
    for design in Self.designs {
      #expect(count(design) <= 200, "\(design.path): \(count(design)) lines")
    }
  }

  @Test func `names every design`() throws {
    let text = try #require(Self.map).lines.joined(separator: "\n")
    let links = Set(text.matches(of: /\]\(([^)]+)\)/).map { "Sources/" + String($0.1) })
    let paths = Set(Self.designs.map(\.path))
    #expect(links == paths, "\(links.symmetricDifference(paths))")
  }

  @Test func `names files, types and functions that exist`() throws {
    let lines = try #require(Self.map).lines
    let rows = lines.drop { $0 != "## Where to start reading" }.prefix { $0 != "## Modules" }
      .filter { $0.hasPrefix("| ") }
    #expect(rows.count > 8)
    let code = Repository.sources.flatMap(\.code).joined(separator: "\n")
    for row in rows {
      for match in row.matches(of: /`([^`]+)`/) {
        let name = String(match.1)
        if name.contains("/") || name.hasSuffix(".swift") {
          let exists = Repository.sources.contains { $0.path.contains("/\(name)") }
          #expect(exists, "There is no \(name)")
          continue
        }
        for part in name.split(separator: ".") {
          let isDeclared = ["func", "init", "struct", "class", "enum", "actor"].contains { kind in
            part == "init" || code.contains("\(kind) \(part)")
          }
          let isModule = Repository.modules.contains(name)
          #expect(isDeclared || isModule, "No code declares \(part) of \(name)")
        }
      }
    }
  }
}
