import ObjectModel
import Testing

@Suite struct `How large a model may be, and what it may not name alike` {
  /// The paths of the faults of a model with these entities.
  private func faults(_ entities: [String]) -> [String] {
    let text = #"{"name":"M","version":"1","entities":[\#(entities.joined(separator: ","))]}"#
    do throws(ModelError) {
      let bytes = Array(text.utf8)
      _ = try ModelDocument.parse(bytes.span)
      return []
    } catch {
      return error.problems.map(\.path)
    }
  }

  private func entity(_ name: String, attributes: Int = 0, toOnes: Int = 0) -> String {
    let fields = (0..<attributes).map { #"{"name":"a\#($0)","type":"string"}"# }
    let ones = (0..<toOnes).map { #"{"name":"r\#($0)","destination":"\#(name)"}"# }
    return """
      {"name":"\(name)","attributes":[\(fields.joined(separator: ","))],
       "relationships":[\(ones.joined(separator: ","))]}
      """
  }

  // Evidence: P-110d
  @Test func `400 attributes and to-ones of an entity`() {
    #expect(faults([entity("A", attributes: 400)]) == [])
    #expect(faults([entity("A", attributes: 300, toOnes: 100)]) == [])
    #expect(faults([entity("A"), entity("B", attributes: 401)]) == ["entities[1]"])
    #expect(faults([entity("A", attributes: 300, toOnes: 101)]) == ["entities[0]"])
  }

  @Test func `1,000 entities`() {
    #expect(faults((0..<1000).map { entity("E\($0)") }) == [])
    #expect(faults((0..<1001).map { entity("E\($0)") }) == ["entities"])
  }

  @Test func `an enum without a value leaves none`() {
    func withEnum(_ list: String) -> [String] {
      faults([
        #"{"name":"A","attributes":[{"name":"x","type":"string","optional":true,"enum":\#(list)}]}"#
      ])
    }
    #expect(withEnum("[]") == ["entities[0].attributes[0].enum"])
    #expect(withEnum(#"["a"]"#) == [])
  }

  /// The pairs of a many-to-many are a table that is named by its entity and itself.
  @Test func `two many-to-manys whose names are put together the same`() {
    func tags(_ entity: String, _ name: String) -> String {
      #"{"name":"\#(entity)","relationships":[{"name":"\#(name)","destination":"T","toMany":true}]}"#
    }
    let target = #"{"name":"T"}"#
    #expect(faults([tags("A", "b_c"), tags("A_b", "d"), target]) == [])
    #expect(
      faults([tags("A", "b_c"), tags("A_b", "c"), target]) == ["entities[1].relationships"]
    )
    #expect(
      faults([tags("A", "b_C"), tags("A_B", "c"), target]) == ["entities[1].relationships"]
    )
  }
}
