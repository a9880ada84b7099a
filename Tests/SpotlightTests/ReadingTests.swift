import CordialValues
import Spotlight
import Testing

@Suite struct `Readings` {
  private let index: TestIndex

  init() async throws {
    index = try TestIndex()
    index.commit([
      1: (body: "北京市的天气", title: nil), 2: (body: "beijing in Latin letters", title: nil),
      3: (body: "とうきょう", title: nil), 4: (body: "トーキョー", title: nil),
      5: (body: "한국어를 배우다", title: nil), 6: (body: "綠色", title: nil),
      7: (body: "西安", title: nil), 8: (body: "先", title: nil), 9: (body: "milk", title: nil),
    ])
    #expect(await index.catchUp())
  }

  private func found(_ query: String, prefix: Bool = false) throws -> [Int64] {
    let result = try index.result(query, prefix: prefix, readings: true)
    #expect(result.total == Int64(result.hits.count), "\(query)")
    return result.hits.map(\.key.object)
  }

  // Evidence: P-091e
  @Test func `find Chinese by pinyin, kana by romaji and Korean by initials`() throws {
    for (query, expected) in [
      ("beijing", [2, 1]), ("BeiJing", [2, 1]), ("tianqi", [1]), ("jingshi", [1]),
      ("beijing tianqi", [1]), ("jingbei", []), ("toukyou", [3]), ("kyou", [3]), ("touk", []),
      ("lvse", [6]), ("luse", [6]), ("ㅎㄱㅇ", [5]), ("ㄱㅇㄹ", [5]), ("ㅂㅇㄷ", [5]), ("ㅎㅇ", []),
      // A word may be divided in two ways.
      ("xian", [8, 7]), ("milk", [9]), ("mi", []), ("beijing1", []), ("body:beijing", [2, 1]),
      (#""beijing""#, [2]), ("beijing -latin", [1]), ("", []), ("zzz", []),
    ] as [(String, [Int64])] {
      let found = try found(query)
      #expect(found == expected, "\(query): \(found)")
    }
    #expect(try index.result("beijing").hits.map(\.key.object) == [2])
    #expect(try index.result("ㅎㄱㅇ").total == 0)
  }

  @Test func `of an unfinished word find what begins so`() throws {
    #expect(try found("beij", prefix: true) == [2, 1])
    #expect(try found("beijin", prefix: true) == [2, 1])
    #expect(try found("beijingsh", prefix: true) == [1])
    #expect(try found("tianq", prefix: true) == [1])
    #expect(try found("tianb", prefix: true) == [])
  }

  @Test func `are highlighted and explained`() throws {
    let result = try index.result("tianqi", readings: true, explains: true)
    #expect(result.highlighter.ranges(in: "北京市的天气", column: "body") == [4..<6])
    #expect(result.hits.first?.explanation.map(\.term) == ["tianqi"])
    let korean = try index.result("ㄱㅇ", readings: true)
    #expect(korean.highlighter.ranges(in: "한국어를", column: "body") == [1..<3])
  }

  /// `yi` is the reading of hundreds of characters.
  @Test func `of many words are limited`() throws {
    let many = Array(repeating: "yi", count: 64).joined(separator: " OR ")
    #expect(try found(many) == [])
    #expect(try found(String(repeating: "yi", count: 16)) == [])
    #expect(try found(String(repeating: "ㅎ", count: 64)) == [])
    #expect(try found(String(repeating: "xian", count: 8)) == [])
  }
}
