import JSON
import Testing

@Suite struct `Names that are paths` {
  private func text(_ paths: [[String]]) -> String {
    var names = NestedNames()
    let values = paths.enumerated().map { names.next($1) + "\($0)" }.joined()
    return "{\(values)\(names.end)}"
  }

  @Test(arguments: [
    ([], "{}"), ([["a"]], #"{"a":0}"#), ([["a", "b"]], #"{"a":{"b":0}}"#),
    ([["a", "b"], ["a", "c"], ["d"]], #"{"a":{"b":0,"c":1},"d":2}"#),
    (
      [["x"], ["a", "b", "c"], ["a", "b", "d"], ["a", "e"]],
      #"{"x":0,"a":{"b":{"c":1,"d":2},"e":3}}"#
    ),
    ([["a", "b", "c"], ["d", "b", "c"]], #"{"a":{"b":{"c":0}},"d":{"b":{"c":1}}}"#),
    ([["a.b", "c"]], #"{"a.b":{"c":0}}"#),
  ])
  func `the text between values makes objects`(paths: [[String]], json: String) {
    #expect(text(paths) == json)
  }

  @Test(arguments: [
    (#"{"a":1}"#, #"{"a":1}"#), (#"{"a.b":1,"a.c":2,"d":3}"#, #"{"a":{"b":1,"c":2},"d":3}"#),
    (#"{"a.b.c":1,"a.b.d":2,"a.e":{"x.y":4}}"#, #"{"a":{"b":{"c":1,"d":2},"e":{"x.y":4}}}"#),
    (#"{"a":{"b.c":1}}"#, #"{"a":{"b.c":1}}"#),
  ])
  func `members become objects, and values stay`(flat: String, nested: String) throws {
    let members = try JSONParser.parse(Array(flat.utf8).span).members ?? []
    #expect(JSONValue.object(members.nested).text == nested)
  }
}
