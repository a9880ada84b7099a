import JSON
import ObjectModel
import Testing

@Suite struct `Derived attributes are checked with the model` {
  /// Whether an attribute of that type may be derived so.
  private func isTaken(_ derived: String, _ type: String, _ more: String = "") throws -> Bool {
    let text = """
      {"name":"M","entities":[
        {"name":"Task","attributes":[
          {"name":"title","type":"string"},{"name":"priority","type":"int16"},
          {"name":"cost","type":"decimal"},{"name":"size","type":"double"},
          {"name":"key","type":"string","derived":"lowercase:(title)"},
          {"name":"x","type":"\(type)","derived":"\(derived)"\(more)}],
         "relationships":[
          {"name":"parts","destination":"Task","toMany":true,"inverse":"whole"},
          {"name":"whole","destination":"Task","inverse":"parts","optional":true}]}]}
      """
    do {
      _ = try ModelDocument.model(from: try JSONParser.parse(text))
      return true
    } catch let error as ModelError {
      #expect(error.problems.count == 1)
      #expect(error.problems[0].path.hasPrefix("entities[0].attributes[5]"))
      return false
    }
  }

  @Test(arguments: [
    ("parts.@count", "int64"), ("parts.@count", "int16"), ("parts.@sum.priority", "int64"),
    ("parts.@sum.size", "double"), ("parts.@sum.cost", "decimal"), ("whole.title", "string"),
    ("whole.size", "double"),
    ("canonical:(title)", "string"), ("uppercase:(title)", "string"), ("now()", "date"),
  ])
  func `expressions that the store can compute`(derived: String, type: String) throws {
    #expect(try isTaken(derived, type))
  }

  // Evidence: P-115f
  @Test(arguments: [
    ("parts.@count", "double"), ("parts.@sum.priority", "int16"), ("parts.@sum.cost", "double"),
    ("parts.@max.priority", "int64"), ("parts.title", "string"), ("whole.@count", "int64"),
    ("whole.key", "string"), ("whole.nothing", "string"), ("whole.whole.title", "string"),
    ("canonical:(priority)", "string"), ("canonical:(key)", "string"),
    ("canonical:title", "string"),
    ("now()", "string"), ("", "string"), ("title", "string"), ("whole.title", "int16"),
  ])
  func `expressions that the store cannot compute`(derived: String, type: String) throws {
    #expect(try !isTaken(derived, type))
  }

  @Test func `it has no default and no limits of its own`() throws {
    #expect(try !isTaken("parts.@count", "int64", #","default":1"#))
    #expect(try !isTaken("parts.@count", "int64", #","minimum":1"#))
  }
}
