import Testing

@Suite struct `The tidy tests read Swift` {
  private func check(
    _ source: String,
    _ expected: String,
    sourceLocation: SourceLocation = #_sourceLocation
  ) {
    let lines = source.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    let code = SwiftText.code(lines).joined(separator: "\n")
    #expect(code == expected, sourceLocation: sourceLocation)
  }

  @Test func `comments and the contents of literals are not code`() {
    check("let a = 1 // print(a)", "let a = 1 ")
    check("/// print(a)", "")
    check("a /* print( */ b", "a  b")
    check("a /* b\nprint( /* c */ d\n*/ e", "a \n\n e")
    check(#"let a = "print(b)""#, #"let a = """#)
    check(#"let a = "https://a" // b"#, #"let a = "" "#)
    check(#"let a = "\"//" + b"#, #"let a = "" + b"#)
    check(#"let a = "\\" + b // c"#, #"let a = "" + b "#)
    check(##"let a = #"a"b\n"# + c"##, ##"let a = #""# + c"##)
    check("let a = \"\"\"\n  import B // c\n  \"\"\" + d", "let a = \"\"\"\n\n\"\"\" + d")
  }

  @Test func `an interpolation is code`() {
    check(#"f("a\(try? b(1, "c)"))d") // e"#, #"f("(try? b(1, ""))") "#)
    check(##"f(#"a\(b)\#(c)"#)"##, ##"f(#"(c)"#)"##)
    check("let a = \"\"\"\n  x \\(b) y\n  \"\"\"", "let a = \"\"\"\n(b)\n\"\"\"")
  }

  @Test func `imports are recognized with attributes, access levels and kinds`() {
    for (line, expected) in [
      ("import A", ["A"]), ("  import A", ["A"]), ("package import A", ["A"]),
      ("@testable import A", ["A"]), ("@_spi(B) public import A", ["A"]),
      ("@preconcurrency internal import struct A.B", ["A"]), ("import A.B", ["A"]),
      ("import A; import B", ["A", "B"]), ("private import func A.b", ["A"]),
      ("importA", []), ("let a = importer", []), ("#if canImport(A)", []), ("reimport A", []),
    ] {
      #expect(SwiftText.imports(line) == expected, "\(line)")
    }
  }
}
