import Cordial
import CordialFoundation
import CordialValues
import Foundation
import JSON
import Testing

@Suite struct `Foundation's types in a value` {
  private struct Everything: ObjectValue {
    static let entity = "Everything"

    var id: WrappedID
    var date: Date
    var uuid: UUID
    var decimal: Decimal?
    var url: URL?
    var data: Data?
  }

  @Test func `are read from the text of the protocol`() throws {
    let text = """
      {"id":"Everything/p1","version":1,"values":{"date":"2026-01-31T10:00:00.250Z",
       "uuid":"0b3c1f9e-5c7e-4a53-9e57-1f2f3a4b5c6d","decimal":"12.50","url":"https://a.example/b",
       "data":"AQID"}}
      """
    let value = try ValueDecoder.decode(Everything.self, from: try JSONParser.parse(text))
    #expect(value.date == Date(timeIntervalSince1970: 1_769_853_600.25))
    #expect(value.uuid == UUID(uuidString: "0B3C1F9E-5C7E-4A53-9E57-1F2F3A4B5C6D"))
    #expect(value.decimal == Decimal(string: "12.5"))
    #expect(value.url?.host == "a.example")
    #expect(value.data == Data([1, 2, 3]))
  }

  @Test func `are selected as other properties`() {
    #expect(FetchRequest<Everything>().typeMismatch == nil)
    #expect(
      FetchRequest<Everything>().params
        == """
        {"entity":"Everything","select":{"data":"data","date":"date","decimal":"decimal",\
        "url":"url","uuid":"uuid"}}
        """
    )
  }

  @Test func `are arguments of predicates`() throws {
    let date = Date(timeIntervalSince1970: 0.001)
    let uuid = try #require(UUID(uuidString: "0B3C1F9E-5C7E-4A53-9E57-1F2F3A4B5C6D"))
    let predicate: FetchPredicate = "due < \(date) AND uuid == \(uuid) AND sum == \(Decimal(1))"
    #expect(
      predicate.arguments == [
        .string("1970-01-01T00:00:00.001Z"), .string("0b3c1f9e-5c7e-4a53-9e57-1f2f3a4b5c6d"),
        .string("1"),
      ]
    )
    #expect(WrappedID.uuid(uuid).description == "/u0b3c1f9e-5c7e-4a53-9e57-1f2f3a4b5c6d")
  }
}
