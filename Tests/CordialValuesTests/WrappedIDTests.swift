import CordialValues
import TestSeeds
import Testing

@Suite struct `The ID of a value` {
  private static let uuid = "0b3c1f9e-5c7e-4a53-9e57-1f2f3a4b5c6d"

  @Test(arguments: [
    ("Task/p17", WrappedID.objectID(ObjectID(entity: "Task", key: .object(17)))),
    ("Tag/sa%2Fb", .objectID(ObjectID(entity: "Tag", key: .string("a/b")))),
    ("Task/tnew", .objectID(ObjectID(entity: "Task", key: .temporary("new")))),
    ("/sGroup1", .string("Group1")), ("/s", .string("")), ("/sa%20%2F", .string("a /")),
    ("/i-3", .integer(-3)),
    ("/u\(uuid)", .uuid(UUIDValue(high: 0x0b3c_1f9e_5c7e_4a53, low: 0x9e57_1f2f_3a4b_5c6d))),
  ])
  func `has one text`(text: String, id: WrappedID) {
    #expect(id.description == text)
    #expect(WrappedID(text) == id)
  }

  @Test(arguments: [
    "", "/", "Group1", "/x1", "/s%2f", "/i01", "/i+1", "/u\(uuid.uppercased())", "/p1", "/tnew",
    "//s1", "Task/", "/i9223372036854775808",
  ])
  func `has no other text`(text: String) {
    #expect(WrappedID(text) == nil)
  }

  @Test func `belongs to a store or to a mock`() {
    let stored = WrappedID("Task/p1")
    #expect(stored?.entity == "Task")
    #expect(stored?.isTemporary == false)
    #expect(WrappedID("Task/tnew")?.isTemporary == true)
    #expect(WrappedID.string("Group1").entity == nil)
    #expect(WrappedID.string("Group1").objectID == nil)
    switch WrappedID.string("Group1") {
    case .string(let name): #expect(name == "Group1")
    case .integer, .uuid, .objectID: Issue.record("The ID of a mock has another form")
    }
  }

  @Test func `compares code points`() {
    #expect(WrappedID.string("é") != .string("e\u{301}"))
    #expect(Set([WrappedID.string("é"), .string("e\u{301}"), .string("é")]).count == 2)
    #expect(WrappedID.string("1") != .integer(1))
    #expect(WrappedID.integer(1).id == .integer(1))
  }

  @Test(arguments: Seeds.first(20))
  func `a UUID reads both cases and writes the lower one`(seed: UInt64) {
    var random = SplitMix64(seed: seed)
    for _ in 0..<20 {
      let uuid = UUIDValue(high: random.next(), low: random.next())
      #expect(UUIDValue(uuid.description) == uuid, "\(Seeds.repeating(seed))")
      #expect(UUIDValue(uuid.description.uppercased()) == uuid, "\(Seeds.repeating(seed))")
    }
  }

  @Test func `a UUID has the form with hyphens only`() {
    #expect(UUIDValue("0b3c1f9e5c7e4a539e571f2f3a4b5c6d") == nil)
  }
}
