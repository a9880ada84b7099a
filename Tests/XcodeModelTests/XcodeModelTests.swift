import Foundation
import JSON
import ObjectModel
import TestStores
import Testing
import XcodeModel

// Evidence: P-112a, P-112b
@Suite struct `Models of Xcode's` {
  private let folder: TestFolder

  init() throws {
    folder = try TestFolder()
  }

  /// Writes files below the test's folder.
  private func write(_ files: [String: String]) throws {
    for (path, text) in files {
      let place = folder.path + "/" + path
      let parent = place.split(separator: "/").dropLast().joined(separator: "/")
      try FileManager.default.createDirectory(
        atPath: "/" + parent,
        withIntermediateDirectories: true
      )
      try text.write(toFile: place, atomically: true, encoding: .utf8)
    }
  }

  private func model(_ entities: String) -> String {
    """
    <?xml version="1.0" encoding="UTF-8" standalone="yes"?>
    <model type="com.apple.IDECoreDataModeler.DataModel" documentVersion="1.0" \
    userDefinedModelVersionIdentifier="">\(entities)</model>
    """
  }

  private func read(_ entities: String) throws -> XcodeModel {
    try write(["M.xcdatamodel/contents": model(entities)])
    return try XcodeModel(path: folder.path + "/M.xcdatamodel")
  }

  @Test func `every type has its own`() throws {
    let kinds = [
      ("Integer 16", "int16"), ("Integer 32", "int32"), ("Integer 64", "int64"),
      ("Double", "double"), ("Float", "float"), ("Decimal", "decimal"), ("String", "string"),
      ("Boolean", "boolean"), ("Date", "date"), ("UUID", "uuid"), ("URI", "uri"),
      ("Binary", "binary"), ("Transformable", "binary"),
    ]
    let attributes = kinds.enumerated().map { index, kind in
      #"<attribute name="a\#(index)" optional="YES" attributeType="\#(kind.0)"/>"#
    }
    let found = try read(#"<entity name="A">\#(attributes.joined())</entity>"#)
    let types = found.document["entities"]?.array?.first?["attributes"]?.array?
      .compactMap { $0["type"]?.string }
    #expect(types == kinds.map(\.1))
    #expect(found.notes.count == 1)
    #expect(try ModelDocument.model(from: found.document).entities.count == 1)
  }

  @Test func `defaults, limits and rules are read by the attribute's type`() throws {
    let found = try read(
      """
      <entity name="A">
        <attribute name="n" attributeType="Integer 32" defaultValueString="7" \
      minValueString="1" maxValueString="9"/>
        <attribute name="s" attributeType="String" defaultValueString="&lt;x&gt;" \
      minValueString="2" maxValueString="5"/>
        <attribute name="b" attributeType="Boolean" defaultValueString="YES"/>
        <attribute name="d" attributeType="Date" defaultDateTimeInterval="86400"/>
        <relationship name="bs" optional="YES" toMany="YES" minCount="2" maxCount="5" \
      deletionRule="Cascade" destinationEntity="B" inverseName="a" inverseEntity="B"/>
        <relationship name="more" toMany="YES" deletionRule="Deny" destinationEntity="B"/>
        <uniquenessConstraints><uniquenessConstraint><constraint value="n"/><constraint value="s"/>
        </uniquenessConstraint></uniquenessConstraints>
        <fetchIndex name="i"><fetchIndexElement property="n" type="Binary"/></fetchIndex>
      </entity>
      <entity name="B"><attribute name="t" optional="YES" attributeType="String" \
      spotlightIndexingEnabled="YES"/>
        <relationship name="a" optional="YES" maxCount="1" deletionRule="No Action" \
      destinationEntity="A" inverseName="bs" inverseEntity="A"/></entity>
      """
    )
    #expect(found.notes == [])
    let a = try #require(found.document["entities"]?.array?.first)
    #expect(
      a.text == """
        {"name":"A","attributes":[{"name":"n","type":"int32","default":7,"minimum":1,"maximum":9},\
        {"name":"s","type":"string","default":"<x>","minimumLength":2,"maximumLength":5},\
        {"name":"b","type":"boolean","default":true},\
        {"name":"d","type":"date","default":"2001-01-02T00:00:00.000Z"}],\
        "relationships":[{"name":"bs","destination":"B","toMany":true,"inverse":"a",\
        "deleteRule":"cascade","minimumCount":2,"maximumCount":5},\
        {"name":"more","destination":"B","toMany":true,"deleteRule":"deny","minimumCount":1}],\
        "unique":[["n","s"]],"indexes":[["n"]]}
        """
    )
    let parsed = try ModelDocument.model(from: found.document)
    #expect(parsed.entity(named: "B")?.spotlight?.weights.map(\.name) == ["t"])
  }

  // Evidence: P-112b
  @Test(arguments: [
    ("650000000.573", "2021-08-07T03:33:20.573Z"), ("59.9996", "2001-01-01T00:01:00.000Z"),
    ("-0.25", "2000-12-31T23:59:59.750Z"),
  ])
  func `dates are rounded to milliseconds`(interval: String, date: String) throws {
    let attribute = #"<attribute name="d" attributeType="Date""#
    let found = try read(
      #"<entity name="A">\#(attribute) defaultDateTimeInterval="\#(interval)"/></entity>"#
    )
    let attributes = found.document["entities"]?.array?.first?["attributes"]?.array
    #expect(attributes?.first?["default"]?.string == date)
  }

  @Test func `a composite is one, with inner composites`() throws {
    let found = try read(
      """
      <entity name="A">
        <attribute name="home" optional="YES" attributeType="Composite" elementID="house" \
      composite="Address"/>
        <attribute name="place" attributeType="Composite"/>
        <attribute name="gone" attributeType="Composite" composite="Nothing"/>
        <attribute name="none" attributeType="Composite" composite="Empty"/>
        <fetchIndex name="i"><fetchIndexElement property="home.city" type="Binary"/></fetchIndex>
      </entity>
      <composite name="Address">
        <attribute name="city" attributeType="String" maxValueString="5"/>
        <attribute name="place" attributeType="Composite" composite="Place"/>
      </composite>
      <composite name="Place"><attribute name="lat" attributeType="Double" \
      defaultValueString="1"/></composite><composite name="Empty"/>
      """
    )
    #expect(
      found.document["entities"]?.array?.first?["attributes"]?.text == """
        [{"name":"home","type":"composite","renamedFrom":"house","members":[\
        {"name":"city","type":"string","maximumLength":5,"optional":true},\
        {"name":"place","type":"composite","members":[\
        {"name":"lat","type":"double","default":1.0,"optional":true}]}]},\
        {"name":"place","type":"composite","members":[\
        {"name":"lat","type":"double","default":1.0}]}]
        """
    )
    #expect(
      found.notes == [
        "A.home.city is optional, because its composite is",
        "A.home.place.lat is optional, because its composite is",
        "A.gone is left out: the model does not have its composite",
        "A.none is left out: its composite has no attributes",
      ]
    )
    let model = try ModelDocument.model(from: found.document)
    #expect(model.entities.first?.indexes == [["home.city"]])
    #expect(
      model.entities.first?.attributes.map(\.name) == [
        "home.city", "home.place.lat", "place.lat",
      ]
    )
  }

  @Test func `members of composites are derived from, and are not transient`() throws {
    let found = try read(
      """
      <entity name="A"><attribute name="home" attributeType="Composite" composite="Address"/>
        <relationship name="b" optional="YES" maxCount="1" destinationEntity="B"/></entity>
      <entity name="B">
        <attribute name="town" optional="YES" attributeType="String" \
      derivationExpression="a.home.city"/>
        <attribute name="sum" attributeType="Integer 64" derivationExpression="@sum:many.home.size"/>
        <attribute name="sum2" attributeType="Integer 64" \
      derivationExpression="many.@sum.home.size"/>
        <relationship name="a" optional="YES" maxCount="1" destinationEntity="A"/>
        <relationship name="many" optional="YES" toMany="YES" destinationEntity="A"/></entity>
      <composite name="Address"><attribute name="city" optional="YES" attributeType="String"/>
        <attribute name="size" attributeType="Integer 16" transient="YES" defaultValueString="1"/>
        <attribute name="now" attributeType="Date" derivationExpression="now()" optional="YES"/>
      </composite>
      """
    )
    #expect(found.notes.count == 2)
    #expect(found.notes.allSatisfy { $0.hasPrefix("A.home.size ") || $0.contains("A.home.now ") })
    let model = try ModelDocument.model(from: found.document)
    #expect(
      model.entity(named: "B")?.attributes.compactMap(\.derived) == [
        .path("a", "home.city"), .sum("many", "home.size"), .sum("many", "home.size"),
      ]
    )
  }

  @Test func `a composite that contains itself ends`() throws {
    let found = try read(
      """
      <entity name="A"><attribute name="c" attributeType="Composite"/></entity>
      <composite name="C"><attribute name="c" attributeType="Composite"/>
        <attribute name="n" attributeType="String"/></composite>
      """
    )
    #expect(found.notes.count == 1)
    #expect(try ModelDocument.model(from: found.document).entities.first?.attributes.count == 1)
  }

  @Test func `parts without an equivalent are noted with their paths`() throws {
    let found = try read(
      """
      <entity name="A" elementID="Old">
        <attribute name="o" attributeType="Object ID"/>
        <attribute name="x" optional="YES" attributeType="Integer 64" derivationExpression="b.@max.i"/>
        <attribute name="i" optional="YES" attributeType="Integer 16" defaultValueString="many"/>
        <relationship name="b" optional="YES" toMany="YES" ordered="YES" destinationEntity="A"/>
        <fetchIndex name="f"><fetchIndexElement expression="lowercase:(i)" type="Binary"/></fetchIndex>
        <inEntity/>
      </entity>
      <inModel/>
      <elements/>
      <fetchRequest name="all" entity="A" predicateString="x &gt; 1" resultType="2"/>
      """
    )
    #expect(found.notes.count == 7)
    let elements = ["the model these elements are left out: <inModel>", "A these", "<inEntity>"]
    for place in ["A.o", "A.x", "A.i", "f of A", "all"] + elements {
      #expect(found.notes.contains { $0.contains(place) }, "\(place)")
    }
    let model = try ModelDocument.model(from: found.document)
    #expect(model.entities.map(\.renamedFrom) == ["Old"])
    #expect(
      model.templates.first.map { JSONValue.object($0.params).text } == """
        {"entity":"A","predicate":"x > 1"}
        """
    )
  }

  @Test func `parents, transients, patterns and configurations are taken over`() throws {
    let found = try read(
      """
      <entity name="A" isAbstract="YES"><attribute name="t" transient="YES" attributeType="Undefined"/>
        <attribute name="r" optional="YES" attributeType="String" regularExpressionString="a+"/>
        <attribute name="d" optional="YES" attributeType="String" derivationExpression="canonical:(r)"/></entity>
      <entity name="B" parentEntity="A"/>
      <configuration name="Local"><memberEntity name="B"/></configuration>
      """
    )
    #expect(found.notes == [])
    let model = try ModelDocument.model(from: found.document)
    let b = try #require(model.entity(named: "B"))
    #expect(b.transients == ["t"])
    #expect(b.attributes.map(\.pattern?.text) == ["a+", nil])
    #expect(b.attributes.map(\.derived) == [nil, .text(.canonical, "r")])
    #expect(b.familyPosition.ancestors == [1, 2])
    #expect(model.entity(named: "A")?.isAbstract == true)
    #expect(found.document["configurations"] == ["Local": ["B"]])
  }

  @Test func `the current version is the one that is named, else the last by number`() throws {
    let versions = ["Todo 2", "Todo 10", "Todo", "Todo 09", "Todo 10-b", "Todo 10 c"].map { name in
      ("Todo.xcdatamodeld/\(name).xcdatamodel/contents", model(#"<entity name="A"/>"#))
    }
    try write(Dictionary(uniqueKeysWithValues: versions))
    let path = folder.path + "/Todo.xcdatamodeld"
    #expect(try XcodeModel(path: path + "/").document["version"] == "Todo 10-b")
    func name(_ version: String) throws {
      try write([
        "Todo.xcdatamodeld/.xccurrentversion": """
        <?xml version="1.0" encoding="UTF-8"?>
        <plist version="1.0"><dict><key>_XCCurrentVersionName</key>
        <string>\(version).xcdatamodel</string></dict></plist>
        """
      ])
    }
    try name("Todo 2")
    #expect(try XcodeModel(path: path).document["version"] == "Todo 2")
    #expect(try XcodeModel(path: path).document["name"] == "Todo")
    try name("Todo 3")
    #expect(throws: XcodeModel.Failure.self) { try XcodeModel(path: path) }
  }

  @Test func `a file that is not a model is reported in one sentence`() throws {
    try write([
      "A.xcdatamodel/contents": "<model", "B.xcdatamodel/contents": "<plist/>",
      "C.xcdatamodeld/nothing": "",
    ])
    for name in [
      "A.xcdatamodel", "B.xcdatamodel", "C.xcdatamodeld", "D.xcdatamodeld", "E.xcdatamodel",
    ] {
      let error = #expect(throws: XcodeModel.Failure.self) {
        try XcodeModel(path: folder.path + "/" + name)
      }
      #expect(error?.message.isEmpty == false)
    }
  }

  private static let realModel = URL(filePath: #filePath).deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent()
    .appending(path: "../shared/data/Todo.xcdatamodeld").path(percentEncoded: false)

  /// A model that is not part of this repository.
  @Test(
    .enabled(
      if: FileManager.default.fileExists(atPath: realModel),
      "The model of a real app is not in this repository"
    )
  )
  func `the Todo model of a real app is read whole`() throws {
    let found = try XcodeModel(path: Self.realModel)
    #expect(found.notes == [])
    let model = try ModelDocument.model(from: found.document)
    #expect(model.entities.map(\.name) == ["C_Group", "C_Memo", "C_Task"])
    #expect(model.entity(named: "C_Task")?.attributes.count == 5)
    #expect(model.entity(named: "C_Group")?.relationships.first?.deleteRule == .cascade)
  }

  @Test func `texts, modifiers and directions are kept`() throws {
    let found = try read(
      """
      <entity name="A" versionHashModifier="2" representedClassName="A" syncable="YES">
        <userInfo><entry key="help" value="shown"/></userInfo>
        <attribute name="n" optional="YES" attributeType="Integer 32" versionHashModifier="x" \
      preserveAfterDeletion="YES" usesScalarValueType="NO">
          <userInfo><entry key="unit" value="m"/></userInfo></attribute>
        <relationship name="b" optional="YES" maxCount="1" destinationEntity="A">
          <userInfo><entry key="r" value="s"/></userInfo></relationship>
        <fetchIndex name="i"><fetchIndexElement property="n" type="Binary" order="descending"/>
        </fetchIndex></entity>
      <fetchRequest name="f" entity="A" includesSubentities="NO" returnsDistinctResults="YES"/>
      """
    )
    #expect(found.notes == [])
    let entity = try #require(found.document["entities"]?.array?.first)
    #expect(entity["versionHashModifier"] == "2")
    #expect(entity["userInfo"] == ["help": "shown"])
    #expect(entity["indexes"] == [["-n"]])
    let attribute = entity["attributes"]?.array?.first
    #expect(attribute?["versionHashModifier"] == "x")
    #expect(attribute?["userInfo"] == ["unit": "m"])
    #expect(attribute?["preserveAfterDeletion"] == true)
    #expect(entity["relationships"]?.array?.first?["userInfo"] == ["r": "s"])
    #expect(found.document["templates"]?.array?.first?["subentities"] == false)
    let model = try ModelDocument.model(from: found.document)
    #expect(model.entities.first?.attributes.first?.isPreserved == true)
  }

  @Test(arguments: [
    (#"<attribute name="n" attributeType="Binary" allowsExternalBinaryDataStorage="YES"/>"#, "A.n"),
    (#"<attribute name="n" attributeType="String" allowsCloudEncryption="YES"/>"#, "encrypted"),
    (
      #"<attribute name="n" attributeType="Transformable" valueTransformerName="T"/>"#,
      "transformer T"
    ),
    (#"<attribute name="n" attributeType="String" newFeature="YES"/>"#, "newFeature"),
    (
      """
      <attribute name="n" attributeType="String"/><fetchIndex name="i" \
      partialIndexPredicate="n == 1"><fetchIndexElement property="n" type="Binary"/></fetchIndex>
      """, "n == 1"
    ),
  ])
  func `what the store does otherwise is noted`(parts: String, note: String) throws {
    let found = try read(#"<entity name="A">\#(parts)</entity>"#)
    #expect(found.notes.contains { $0.contains(note) }, "\(found.notes)")
    let named = try read(
      #"<entity name="A" coreSpotlightDisplayNameExpression="uppercase:(n)">\#(parts)</entity>"#
    )
    #expect(named.notes.contains { $0.contains("uppercase:(n)") })
  }
}
