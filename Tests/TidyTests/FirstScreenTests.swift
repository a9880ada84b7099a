import Testing

@Suite struct `The first screen` {
  @Test func `needs ten lines, which Tools/outside compiles and runs`() throws {
    let program = try #require(TextFile(path: "Tools/outside/Sources/outside/FirstScreen.swift"))
    let imports = try #require(program.lines.firstIndex(of: ""))
    let code = program.lines[(imports + 1)...].drop { $0.isEmpty }
    let written = code.reversed().drop { $0.isEmpty }.reversed()
    #expect(written.count { !$0.isEmpty } <= 10)
    let article = try #require(TextFile(path: "Sources/Cordial/Cordial.docc/ValuesFirst.md"))
    let snippet = ["```swift"] + written + ["```"]
    #expect(article.lines.joined(separator: "\n").contains(snippet.joined(separator: "\n")))
  }
}
