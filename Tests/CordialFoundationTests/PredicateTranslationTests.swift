import Cordial
import CordialFoundation
import CordialValues
import Foundation
import JSON
import Testing

private enum State: String, Codable, CaseIterable {
  case open, closed
}

private struct Note: ObjectValue {
  static let entity = "Note"
  static let properties = ["count": "parts.@count"]

  var id: WrappedID
  var title: String
  var text: String?
  var priority: Int
  var done: Bool
  var due: Date?
  var state: State
  var count: Int
  var owner: WrappedID?

  var isUrgent: Bool { priority > 3 }
}

@Suite struct `Conditions of #Predicate` {
  private func translated(_ condition: Predicate<Note>) throws -> [JSONValue?] {
    let request = FetchRequest(where: condition)
    let params = try JSONParser.parse(request.params)
    return [params["predicate"], params["arguments"]]
  }

  @Test func `become conditions of the predicate language`() throws {
    #expect(
      try translated(#Predicate { $0.priority > 3 && !$0.done || $0.title == "it's" })
        == [
          "((%K > %@) AND (NOT (%K == YES))) OR (%K == %@)",
          ["priority", 3, "done", "title", "it's"],
        ]
    )
    let (words, day) = (["a", "b"], Date(timeIntervalSince1970: 0))
    #expect(
      try translated(#Predicate { words.contains($0.title) && $0.title.contains("x") })
        == ["(%K IN %@) AND (%K CONTAINS %@)", ["title", ["a", "b"], "title", "x"]]
    )
    #expect(
      try translated(#Predicate { $0.title.starts(with: "x") || $0.title < "y" })
        == ["(%K BEGINSWITH %@) OR (%K < %@)", ["title", "x", "title", "y"]]
    )
    let optional = #Predicate<Note> { $0.text == nil || ($0.text?.contains("x") ?? false) }
    #expect(
      try translated(optional)
        == ["(%K == %@) OR (%K CONTAINS %@)", ["text", nil, "text", "x"]]
    )
    #expect(
      try translated(#Predicate { $0.due! <= day && $0.count != 2 })
        == ["(%K <= %@) AND (%K != %@)", ["due", "1970-01-01T00:00:00.000Z", "parts.@count", 2]]
    )
    let (state, owner) = (State.closed, WrappedID("Person/p1"))
    #expect(
      try translated(#Predicate { $0.state == state && $0.owner == owner })
        == ["(%K == %@) AND (%K == %@)", ["state", "closed", "owner", "Person/p1"]]
    )
  }

  @Test func `name the part that no store has`() {
    func reason(_ condition: Predicate<Note>) -> String {
      FetchRequest(where: condition).typeMismatch ?? "none"
    }
    #expect(reason(#Predicate { $0.priority + 1 > 3 }).contains("Arithmetic"))
    #expect(reason(#Predicate { $0.isUrgent }).contains("computed property"))
    #expect(reason(#Predicate { $0.title.count > 3 }).contains("a property of String"))
    let missing = #Predicate<Note> { $0.text?.contains("x") ?? true }
    #expect(reason(missing).contains("??"))
  }
}
