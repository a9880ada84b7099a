import JSON
import ObjectModel
import Testing

// Evidence: P-059a, P-059b, P-110b, P-111a
@Suite struct `Requests that a model names` {
  private func model(_ rest: String) throws -> Model {
    let text =
      #"{"name":"M","entities":[{"name":"A","attributes":[{"name":"t","type":"string"}]}]\#(rest)}"#
    return try ModelDocument.parse(Array(text.utf8).span)
  }

  private func faults(_ rest: String) throws -> [String] {
    do {
      _ = try model(rest)
      return []
    } catch let error as ModelError {
      return error.problems.map(\.path)
    }
  }

  @Test func `are read with everything in them`() throws {
    let model = try model(
      """
      ,"values":[{"name":"v","entity":"A","select":{"x":"t"}},
                 {"name":"w","entity":"A","select":["t"]}],
       "templates":[{"name":"all","entity":"A","sort":["t"],"limit":3,"predicate":null}]
      """
    )
    #expect(model.values.map(\.name) == ["v", "w"])
    #expect(model.values.first?.select == ["x": "t"])
    #expect(model.templates.first?.name == "all")
    #expect(
      model.templates.first.map { JSONValue.object($0.params).text } == """
        {"entity":"A","sort":["t"],"limit":3}
        """
    )
  }

  @Test func `do not make another version of the model`() throws {
    let plain = try model("")
    let named = try model(#","templates":[{"name":"all","entity":"A"}],"values":[]"#)
    #expect(plain.hash == named.hash)
    #expect(plain.hash == (try model(#","version":"2","removed":["B"]"#)).hash)
  }

  @Test func `have their faults reported by path`() throws {
    #expect(
      try faults(
        """
        ,"values":[{"name":"v","entity":"B","select":["t"]},{"name":"1","entity":"A","select":[]},
                   {"name":"w","entity":"A"},{"name":"x","entity":"A","select":["t"],"y":1}],
         "templates":[{"name":"a","entity":"A"},{"name":"a","entity":"A"},
                      {"name":"b","entity":"A","order":["t"]}]
        """
      ) == [
        "values[0].entity", "values[1].name", "values[2].select", "values[3].y",
        "templates[1].name", "templates[2].order",
      ]
    )
  }
}
