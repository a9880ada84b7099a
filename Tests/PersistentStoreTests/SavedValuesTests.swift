import CordialValues
import JSON
import PersistentHistory
import PersistentStore
import TestStores
import Testing

@Suite struct `Values are returned as they were saved` {
  private let store: TestStore

  init() throws {
    store = try TestStore(TestModels.everything)
  }

  /// Saves a value by insert and by update, and expects to fetch the other, or the same.
  private func check(
    _ attribute: String,
    _ sent: String,
    _ fetched: String? = nil,
    sourceLocation: SourceLocation = #_sourceLocation
  ) async throws {
    let values = "{\"\(attribute)\":\(sent)}"
    let answer = try await store.save(
      #"{"insert":[{"id":"Item/t1","values":\#(values)},{"id":"Item/t2"}]}"#
    )
    let second = answer["ids"]?["Item/t2"]?.string ?? ""
    try await store.save(#"{"update":[{"id":"\#(second)","values":\#(values)}]}"#)
    for temporary in ["Item/t1", "Item/t2"] {
      let id = answer["ids"]?[temporary]?.string ?? ""
      let object = try store.fetch(
        #"{"entity":"Item","predicate":"SELF == %@","arguments":["\#(id)"]}"#
      ).first
      #expect(
        object?["values"]?[attribute]?.text == fetched ?? sent,
        "\(temporary) \(attribute) \(sent)",
        sourceLocation: sourceLocation
      )
      let others = object?["values"]?.members?.filter { $0.name != attribute } ?? []
      #expect(others.count == 12 && others.allSatisfy(\.value.isNull))
    }
  }

  @Test func `strings, of any characters`() async throws {
    for text in [
      #""""#, #"" ""#, #""Milk""#, #""a\"b\\c\n\t""#, #""'; DROP TABLE Item; --""#, #""été""#,
      #""e\#u{301}te\#u{301}""#, #""日本語""#, #""𝄞👩‍👩‍👧""#, #""\#u{FEFF}\#u{FFFD}""#,
      #""שלום مرحبا""#, #""null""#, #""0""#,
    ] {
      try await check("string", text)
    }
    let long = JSONValue.string(String(repeating: "ä€𝄞", count: 50_000)).text
    try await check("string", long)
  }

  @Test func `a negative zero is an integer, and duplicate names of JSON are one`() async throws {
    try await check("int64", "-0", "0")
    try await check("int16", "-0", "0")
    try await check("json", #"{"a":1,"b":2,"a":3}"#, #"{"a":3,"b":2}"#)
  }

  @Test func `integers, to their last digit`() async throws {
    for (attribute, texts) in [
      ("int16", ["0", "-1", "32767", "-32768"]),
      ("int32", ["0", "2147483647", "-2147483648"]),
      ("int64", ["0", "9007199254740993", "9223372036854775807", "-9223372036854775808"]),
    ] {
      for text in texts { try await check(attribute, text) }
    }
    try await check("int64", #""9223372036854775807""#, "9223372036854775807")
  }

  @Test func `doubles, to their last bit`() async throws {
    for number in [
      0.1, -0.5, 1.0 / 3, 1e300, -1e-300, .leastNonzeroMagnitude, .greatestFiniteMagnitude,
      9_007_199_254_740_992, 1.0000000000000002, 123_456.789_012_345_6,
    ] as [Double] {
      let text = JSONValue.number(number).text
      try await check("double", text)
    }
    try await check("float", "0.5")
  }

  // Evidence: P-041a
  @Test func `zero, false and empty values are not missing values`() async throws {
    try await check("double", "0", "0.0")
    try await check("boolean", "false")
    try await check("boolean", "true")
    try await check("binary", #""""#)
    try await check("decimal", #""0""#)
    for attribute in [
      "string", "int16", "int32", "int64", "double", "float", "decimal", "boolean", "date", "uuid",
      "uri", "binary", "json",
    ] {
      try await check(attribute, "null")
    }
  }

  @Test func `decimals keep every digit`() async throws {
    try await check("decimal", #""12.50""#, #""12.5""#)
    try await check("decimal", #""-0.000""#, #""0""#)
    try await check("decimal", #""12345678901234567890123456789012345678""#)
    try await check("decimal", #""-0.00000000000000000000000000000000000001""#)
    try await check("decimal", "17", #""17""#)
  }

  @Test func `dates, before 1970 and to the ends of the calendar`() async throws {
    for text in [
      "1969-12-31T23:59:59.999Z", "1970-01-01T00:00:00.000Z", "0000-01-01T00:00:00.000Z",
      "9999-12-31T23:59:59.999Z", "1582-10-10T12:00:00.000Z", "2024-02-29T00:00:00.001Z",
    ] {
      try await check("date", "\"\(text)\"")
    }
    try await check("date", #""2026-11-21T09:30:00+01:00""#, #""2026-11-21T08:30:00.000Z""#)
  }

  @Test func `binary, uuid, uri and JSON`() async throws {
    try await check("binary", #""AAECAwD/""#)
    try await check("binary", #""AA==""#)
    let upper = "0F8FAD5B-D9CB-469F-A165-70867728950E"
    try await check("uuid", "\"\(upper)\"", "\"\(upper.lowercased())\"")
    try await check("uri", #""https://example.org/a?b=c%20d#e""#)
    for text in [
      "{}", "[]", "0", "false", #""""#, #"{"a":[1,2.5,null,{"b":"ü"}],"c":9223372036854775807}"#,
      #""\"""#, "[[[[1]]]]",
    ] {
      try await check("json", text)
    }
  }

  @Test func `a value may become missing again`() async throws {
    try await store.save(#"{"insert":[{"id":"Item/t1","values":{"string":"a","int16":3}}]}"#)
    try await store.save(#"{"update":[{"id":"Item/p1","values":{"string":null}}]}"#)
    #expect(try store.lines("Item string int16") == ["Item/p1 v2 string=null int16=3"])
  }
}

@Suite struct `The result of a save` {
  private static let model = """
    {"name": "Defaults", "version": "1", "entities": [
      {"name": "Item", "attributes": [
        {"name": "title", "type": "string", "default": "New"},
        {"name": "count", "type": "int64", "default": 7},
        {"name": "ratio", "type": "double", "default": 0.25, "optional": true},
        {"name": "flag", "type": "boolean", "default": true},
        {"name": "amount", "type": "decimal", "optional": true},
        {"name": "due", "type": "date", "default": "1969-12-31T00:00:00.000Z", "optional": true},
        {"name": "data", "type": "binary", "default": "AAE=", "optional": true},
        {"name": "note", "type": "string", "optional": true}],
       "relationships": [
         {"name": "next", "destination": "Item", "optional": true}]}]}
    """
  private let store: TestStore

  init() throws {
    store = try TestStore(Self.model)
  }

  // Evidence: P-060c
  @Test func `an insert without values stores and returns the defaults`() async throws {
    let answer = try await store.save(#"{"insert":[{"entity":"Item"}]}"#)
    #expect(
      answer.text == """
        {"ids":{},"objects":[{"id":"Item/p1","version":1,"values":{"title":"New","count":7,\
        "ratio":0.25,"flag":true,"due":"1969-12-31T00:00:00.000Z","data":"AAE="}}]}
        """
    )
    #expect(
      try store.fetch(#"{"entity":"Item"}"#).map(\.text) == [
        """
        {"id":"Item/p1","version":1,"values":{"title":"New","count":7,"ratio":0.25,"flag":true,\
        "amount":null,"due":"1969-12-31T00:00:00.000Z","data":"AAE=","note":null,"next":null}}
        """
      ]
    )
  }

  @Test func `a value that was sent wins over the default, null too`() async throws {
    let answer = try await store.save(
      #"{"insert":[{"id":"Item/t1","values":{"title":"","count":0,"ratio":null,"flag":false}}]}"#
    )
    #expect(
      answer["objects"]?.array?.first?["values"]
        == ["due": "1969-12-31T00:00:00.000Z", "data": "AAE="]
    )
    #expect(
      try store.lines("Item title count ratio flag") == [
        "Item/p1 v1 title= count=0 ratio=null flag=false"
      ]
    )
  }

  /// `values` is what was stored other than sent.
  // Evidence: P-060c
  @Test func `a value that is stored in another form is returned`() async throws {
    let all = """
      "title":"a","count":1,"ratio":1.5,"flag":true,"due":null,"data":null
      """
    let insert = try await store.save(
      #"{"insert":[{"id":"Item/t1","values":{\#(all),"amount":"12.50"}}]}"#
    )
    #expect(insert["objects"]?.array?.first?["values"] == ["amount": "12.5"])
    let update = try await store.save(
      #"{"update":[{"id":"Item/p1","values":{"amount":"0.10"}}]}"#
    )
    #expect(update["objects"]?.array?.first?["values"] == ["amount": "0.1"])
  }

  @Test func `temporary IDs are mapped to permanent IDs, inserts before updates`()
    async throws
  {
    try await store.save(#"{"insert":[{"id":"Item/t1"}]}"#)
    let all = #""title":"a","count":1,"ratio":1.5,"flag":true,"due":null,"data":null"#
    let answer = try await store.save(
      """
      {"update":[{"id":"Item/p1","values":{"title":"b"}}],
       "insert":[{"id":"Item/tA","values":{\(all)}},{"id":"Item/tB","values":{\(all)}}]}
      """
    )
    #expect(
      answer.text == """
        {"ids":{"Item/tA":"Item/p2","Item/tB":"Item/p3"},"objects":[{"id":"Item/p2","version":1},\
        {"id":"Item/p3","version":1},{"id":"Item/p1","version":2}]}
        """
    )
  }

  // Evidence: P-030a
  @Test func `object numbers are never reused`() async throws {
    for number in 1...3 {
      let answer = try await store.save(#"{"insert":[{"id":"Item/t1"}]}"#)
      #expect(answer["ids"] == ["Item/t1": .string("Item/p\(number)")])
      try await store.save(#"{"delete":["Item/p\#(number)"]}"#)
    }
    #expect(try store.ids(#"{"entity":"Item"}"#) == [])
  }

  // Evidence: P-065a
  @Test func `a save increments the version of an object once`()
    async throws
  {
    try await store.save(#"{"insert":[{"id":"Item/t1"},{"id":"Item/t2"}]}"#)
    for version in 2...4 {
      let answer = try await store.save(
        #"{"update":[{"id":"Item/p1","values":{"title":"v\#(version)","count":1,"next":"Item/p2"}}]}"#
      )
      #expect(
        answer["objects"]?.text == #"[{"id":"Item/p1","version":\#(version)}]"#
      )
    }
    #expect(try store.lines("Item title") == ["Item/p1 v4 title=v4", "Item/p2 v1 title=New"])
  }

  @Test func `a save is one transaction with its author, context and time`() async throws {
    try await store.save(
      #"{"insert":[{"id":"Item/t1"},{"id":"Item/t2"}],"author":"ann","context":"import"}"#
    )
    try await store.save(#"{"update":[{"id":"Item/p1","values":{"title":"x"}}]}"#)
    let transactions = try store.snapshot {
      try $0.log.transactions(after: 0, through: $0.head.number, limit: 10)
    }
    #expect(transactions.map(\.number) == [1, 2])
    #expect(transactions.map(\.author) == ["ann", nil])
    #expect(transactions.map(\.context) == ["import", nil])
    #expect(transactions.map { $0.changes.count } == [2, 1])
    #expect(transactions[0].time < transactions[1].time)
  }
}

@Suite struct `Entities with an identity attribute` {
  private let store: TestStore

  init() throws {
    store = try TestStore(TestModels.identities)
  }

  @Test func `an insert names its identity, or a temporary ID`() async throws {
    let uuid = "0f8fad5b-d9cb-469f-a165-70867728950e"
    let answer = try await store.save(
      """
      {"insert":[{"id":"Country/sde"},
        {"id":"Country/t1","values":{"code":"ö/1"}},
        {"id":"City/i-7","values":{"country":"Country/t1"}},
        {"id":"Device/t1","values":{"key":"\(uuid.uppercased())"}}]}
      """
    )
    #expect(
      answer["ids"]?.text == """
        {"Country/sde":"Country/sde","Country/t1":"Country/s%C3%B6%2F1","City/i-7":"City/i-7",\
        "Device/t1":"Device/u\(uuid)"}
        """
    )
    #expect(
      try store.lines("Country code; City number country; Device key") == [
        "Country/sde v1 code=de", "Country/s%C3%B6%2F1 v1 code=ö/1",
        "City/i-7 v1 number=-7 country=Country/s%C3%B6%2F1", "Device/u\(uuid) v1 key=\(uuid)",
      ]
    )
  }

  // Evidence: P-060e
  @Test func `objects are named by identity or by number`() async throws {
    try await store.save(#"{"insert":[{"id":"Country/sde"},{"id":"City/i1"}]}"#)
    try await store.save(#"{"update":[{"id":"Country/p1","values":{"name":"Germany"}}]}"#)
    try await store.save(#"{"update":[{"id":"City/i1","values":{"country":"Country/sde"}}]}"#)
    #expect(
      try store.lines("Country name; City country") == [
        "Country/sde v2 name=Germany", "City/i1 v2 country=Country/sde",
      ]
    )
    try await store.save(#"{"delete":["City/i1"]}"#)
    #expect(try store.ids(#"{"entity":"City"}"#) == [])
  }

  // Evidence: P-060e, P-064b
  @Test func `a deleted object is named by its identity`() async throws {
    try await store.save(#"{"insert":[{"id":"Country/sde"}]}"#)
    let outcome = try await store.outcome(#"{"delete":["Country/p1"]}"#)
    #expect(outcome.ids == ["Country/sde"])
  }

  // Evidence: P-031b
  @Test func `an identity that exists is a violation of uniqueness, named by identity`()
    async throws
  {
    try await store.save(#"{"insert":[{"id":"Country/sde"}]}"#)
    for insert in [
      #"{"id":"Country/sde"}"#, #"{"id":"Country/t1","values":{"code":"de"}}"#,
    ] {
      let refusal = try await store.refusal(#"{"insert":[\#(insert)]}"#)
      #expect(refusal?.code == "uniquenessViolation")
      #expect(refusal?.data["existing"] == "Country/sde")
      #expect(refusal?.data["properties"] == ["code"])
    }
  }

  // Evidence: P-031b
  @Test func `an identity is required and cannot be changed`() async throws {
    try await store.save(#"{"insert":[{"id":"Country/sde"}]}"#)
    for save in [
      #"{"update":[{"id":"Country/sde","values":{"code":"at"}}]}"#,
      #"{"insert":[{"id":"Country/t1"}]}"#,
      #"{"insert":[{"id":"Country/sat","values":{"code":"ch"}}]}"#,
    ] {
      #expect(try await store.refusal(save)?.code == "validationFailed", "\(save)")
    }
    // The same value is no change of it.
    try await store.save(#"{"update":[{"id":"Country/sde","values":{"code":"de"}}]}"#)
    #expect(try store.ids(#"{"entity":"Country"}"#) == ["Country/sde"])
  }

  @Test func `an ID of a form that the entity does not have is invalid`() async throws {
    try await store.save(#"{"insert":[{"id":"Country/sde"},{"id":"City/i1"}]}"#)
    for id in ["Country/i1", "City/sde", "Device/i1", "City/u0f8fad5b-d9cb-469f-a165-70867728950e"]
    {
      #expect(
        try await store.refusal(#"{"delete":["\#(id)"]}"#)?.code == "invalidIdentifier",
        "\(id)"
      )
    }
    #expect(try await store.refusal(#"{"delete":["Country/sat"]}"#)?.code == "objectNotFound")
  }

  @Test func `predicates take either form`() async throws {
    try await store.save(
      """
      {"insert":[{"id":"Country/sde"},{"id":"City/i1","values":{"country":"Country/sde"}},
        {"id":"City/i2"}]}
      """
    )
    for (predicate, ids) in [
      (#"country == \"Country/sde\""#, ["City/i1"]), (#"country == \"Country/p1\""#, ["City/i1"]),
      (#"SELF == \"City/i2\""#, ["City/i2"]),
      (#"SELF IN {\"City/p1\", \"City/i2\"}"#, ["City/i1", "City/i2"]),
      (#"country == \"Country/snone\""#, []), (#"country.code == \"de\""#, ["City/i1"]),
    ] {
      #expect(
        try store.ids(#"{"entity":"City","predicate":"\#(predicate)"}"#) == ids,
        "\(predicate)"
      )
    }
  }

  @Test func `a to-many lists the IDs of its members`() async throws {
    try await store.save(
      #"""
      {"insert":[{"id":"Country/sde"},{"id":"City/i7","values":{"country":"Country/sde"}},
                 {"id":"City/i8","values":{"country":"Country/sde"}}]}
      """#
    )
    let countries = try store.fetch(
      #"{"entity":"Country","select":["cities"],"predicate":"code == \"de\""}"#
    )
    let cities = countries.first?["values"]?["cities"]?.array?.compactMap(\.string)
    #expect(cities == ["City/i7", "City/i8"])
  }

  // Evidence: P-056b
  @Test(arguments: [
    ("City", "country", #""x""#), ("Country", "cities", "[]"), ("Country", "cities.@count", "0"),
  ])
  func `a default is for an attribute`(entity: String, path: String, fallback: String) throws {
    let select = #"{"c":{"path":"\#(path)","default":\#(fallback)}}"#
    let refusal = try store.refusal(ofFetch: #"{"entity":"\#(entity)","select":\#(select)}"#)
    #expect(refusal?.code == "invalidRequest")
  }
}
