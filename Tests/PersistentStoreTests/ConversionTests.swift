import JSON
import PersistentStore
import TestStores
import Testing

// Evidence: P-117b, P-117l
@Suite struct `A type that changes in a migration` {
  private static func model(_ type: String) -> String {
    #"{"name":"M","entities":[{"name":"A","attributes":[{"name":"x","type":"\#(type)","optional":true}]}]}"#
  }

  /// Migrates values and returns those of the new type, or the problem.
  private func migrate(
    _ values: String,
    from old: String,
    to new: String
  ) async throws -> (values: String?, problem: JSONValue?) {
    let folder = try TestFolder()
    do {
      let store = try TestStore(Self.model(old), in: folder)
      let parsed = try JSONParser.parse(values).array ?? []
      let inserts = parsed.map { #"{"entity":"A","values":{"x":\#($0.text)}}"# }
      try await store.save(#"{"insert":[\#(inserts.joined(separator: ","))]}"#)
    }
    do {
      let store = try TestStore(Self.model(new), in: folder)
      let found = try store.fetch(#"{"entity":"A"}"#).map { $0["values"]?["x"] ?? .null }
      return (JSONValue.array(found).text, nil)
    } catch let error as StoreError {
      #expect(error.code == .modelMismatch)
      return (nil, JSONValue.object(error.data)["problems"]?.array?.first)
    }
  }

  @Test(arguments: [
    ("int64", "double", "[1,null,-9007199254740992]", "[1.0,null,-9007199254740992.0]"),
    ("int32", "float", "[16777216]", "[16777216.0]"),
    ("double", "decimal", "[0.1,2,-1e20]", #"["0.1","2","-100000000000000000000"]"#),
    ("double", "int16", "[3,-4.0]", "[3,-4]"),
    ("double", "int64", "[9007199254740992]", "[9007199254740992]"),
    ("string", "int32", #"["12","-7","0"]"#, "[12,-7,0]"),
    ("string", "double", #"["0.1","-2","1e3"]"#, "[0.1,-2.0,1000.0]"),
    ("string", "float", #"["0.5"]"#, "[0.5]"),
    ("string", "decimal", #"["12.50"]"#, #"["12.5"]"#),
    ("string", "date", #"["2026-01-02T03:04:05Z"]"#, #"["2026-01-02T03:04:05.000Z"]"#),
    (
      "string", "uuid", #"["A1B2C3D4-0000-0000-0000-00000000000F"]"#,
      #"["a1b2c3d4-0000-0000-0000-00000000000f"]"#
    ),
    ("string", "uri", #"["https://a.example/"]"#, #"["https://a.example/"]"#),
  ])
  func `converts values that survive`(
    old: String,
    new: String,
    values: String,
    expected: String
  ) async throws {
    let outcome = try await migrate(values, from: old, to: new)
    let normalized = try JSONParser.parse(expected).text
    #expect(outcome.values == normalized, "\(outcome.problem?.text ?? "")")
  }

  @Test(arguments: [
    ("int64", "double", "[1,9007199254740993]", "9007199254740993"),
    ("int32", "float", "[16777217]", "16777217"), ("double", "int16", "[40000]", "40000.0"),
    ("double", "int64", "[0.5]", "0.5"), ("double", "decimal", "[1e-45]", "1e-45"),
    ("double", "decimal", "[1.2345678901234567e-30]", "1.2345678901234567e-30"),
    (
      "string", "double", #"["1e-9223372036854775808"]"#, #""1e-9223372036854775808""#
    ), ("double", "decimal", "[1e300]", "1e+300"),
    ("string", "int32", #"["7"," 7"]"#, #"" 7""#), ("string", "int32", #"["007"]"#, #""007""#),
    ("string", "int32", #"["1.5"]"#, #""1.5""#), ("string", "int16", #"["40000"]"#, #""40000""#),
    ("string", "double", #"["0.12345678901234567890"]"#, #""0.12345678901234567890""#),
    ("string", "double", #"["x"]"#, #""x""#), ("string", "double", #"[""]"#, #""""#),
    ("string", "date", #"["tomorrow"]"#, #""tomorrow""#),
    ("string", "date", #"["2026-01-02T03:04:05.1234Z"]"#, #""2026-01-02T03:04:05.1234Z""#),
    ("string", "uuid", #"["1-2"]"#, #""1-2""#), ("string", "decimal", #"["1e3"]"#, #""1e3""#),
  ])
  func `leaves the store with what does not survive`(
    old: String,
    new: String,
    values: String,
    example: String
  ) async throws {
    let problem = try await migrate(values, from: old, to: new).problem
    #expect(problem?["path"] == "A.x")
    #expect(problem?["count"] == 1)
    let value = problem?["examples"]?.array?.first?["value"]
    #expect(value == (try JSONParser.parse(example)))
    #expect(problem?["examples"]?.array?.first?["id"]?.string?.hasPrefix("A/p") == true)
  }

  @Test func `shows at most five examples`() async throws {
    let values = (0..<9).map { #""no \#($0)""# }.joined(separator: ",")
    let problem = try await migrate("[\(values)]", from: "string", to: "date").problem
    #expect(problem?["count"] == 9)
    #expect(problem?["examples"]?.array?.count == 5)
  }
}
