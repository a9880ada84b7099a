import JSON
import Synchronization
import Testing

/// A meter that has room for some bytes.
private final class Meter: JSONMeter, Sendable {
  private let bytesMax: Int
  private let bytes = Atomic<Int>(0)
  var total: Int { bytes.load(ordering: .relaxed) }

  init(bytesMax: Int) {
    self.bytesMax = bytesMax
  }

  func grew(by bytes: Int) -> Bool {
    self.bytes.add(bytes, ordering: .relaxed).newValue <= bytesMax
  }
}

/// Returns the memory of a text's value, or the reason why the text is refused.
private func measured(
  _ text: String,
  valuesMax: Int = .max,
  bytesMax: Int = .max
) -> Result<Int, JSONError> {
  let bytes = Array(text.utf8)
  do throws(JSONError) {
    return .success(
      try JSONParser.measure(bytes.span, valuesMax: valuesMax, bytesMax: bytesMax).bytes
    )
  } catch {
    return .failure(error)
  }
}

@Suite struct `The memory of a parsed text` {
  @Test func `small objects take some times the memory of their text, not 54 times`() throws {
    let count = 10_000
    let text = "[" + Array(repeating: #"{"":0}"#, count: count).joined(separator: ",") + "]"
    let value = try JSONParser.parse(text)
    var room = value.array?.capacity ?? 0
    for element in value.array ?? [] { room += element.members?.capacity ?? 0 }
    #expect(room <= 3 * count)
  }

  @Test(arguments: [1, 2, 3, 5, 8, 9, 16, 17, 100])
  func `a container has room for at most twice the elements of the containers`(length: Int) throws {
    let array = "[" + Array(repeating: "0", count: length).joined(separator: ",") + "]"
    let object = "{" + Array(repeating: #""":0"#, count: length).joined(separator: ",") + "}"
    for element in [array, object] {
      let text = "[" + Array(repeating: element, count: 50).joined(separator: ",") + "]"
      for inner in try JSONParser.parse(text).array ?? [] {
        let capacity = inner.array?.capacity ?? inner.members?.capacity ?? 0
        #expect(capacity >= length)
        // `malloc` rounds to 16 bytes.
        #expect(capacity <= 2 * length + 1, "\(length) elements, room for \(capacity)")
      }
    }
  }

  @Test func `is reported while it grows, and refused where there is no memory`() throws {
    let text = Array(
      ("[" + Array(repeating: "[0]", count: 200_000).joined(separator: ",") + "]").utf8
    )
    let meter = Meter(bytesMax: .max)
    let measured = try JSONParser.measure(text.span, meter: meter)
    #expect(measured.bytes > 8 << 20)
    #expect(meter.total > measured.bytes - 1 << 20)
    let small = Meter(bytesMax: 4 << 20)
    let error = #expect(throws: JSONError.self) {
      try JSONParser.measure(text.span, meter: small)
    }
    #expect(error?.code == .tooLarge)
    #expect(small.total < 8 << 20)
    let unreported = Meter(bytesMax: .max)
    _ = try JSONParser.measure(Array("[[0],[0]]".utf8).span, meter: unreported)
    #expect(unreported.total == 0)
  }

  @Test func `is counted with its arrays and long strings`() throws {
    #expect(try measured("0").get() == 0)
    #expect(try measured("[]").get() == 0)
    #expect(try measured("{}").get() == 0)
    #expect(try measured(#""short""#).get() == 0)
    let long = try measured("\"" + String(repeating: "x", count: 1000) + "\"").get()
    #expect((1000...1100).contains(long))
    let escaped = try measured("\"\\n" + String(repeating: "x", count: 1000) + "\"").get()
    #expect((1000...2200).contains(escaped))
    // An array of one value has a head of 32 bytes, and a value takes 24.
    #expect((56...80).contains(try measured("[0]").get()))
    let flat = measured("[" + Array(repeating: "0", count: 1000).joined(separator: ",") + "]")
    #expect((24_000...50_000).contains(try flat.get()))
  }

  @Test(arguments: ["[[[0]]]", #"{"a":{"b":["long enough to be stored apart"]}}"#, "[1,2,3,4,5]"])
  func `is refused exactly beyond the limit`(text: String) throws {
    // While an array grows, both its old and its new storage exist.
    let needed = (0...4096).first { (try? measured(text, bytesMax: $0).get()) != nil }
    let limit = try #require(needed)
    #expect(try measured(text).get() <= limit)
    #expect(throws: JSONError.self) { try measured(text, bytesMax: limit - 1).get() }
    guard case .failure(let error) = measured(text, bytesMax: limit - 1) else { return }
    #expect(error.code == .tooLarge)
  }

  @Test func `a long array is refused before its memory is allocated`() {
    let text = "[" + String(repeating: "0,", count: 1_000_000) + "0]"
    guard case .failure(let error) = measured(text, bytesMax: 1 << 20) else {
      Issue.record("It was parsed")
      return
    }
    #expect(error.code == .tooLarge)
    // 1 MiB has room for 2^15 values, while half as many are moved.
    #expect(error.offset < 100_000)
  }
}

@Suite struct `The number of values of a text` {
  @Test(arguments: [
    ("0", 1), ("[]", 1), ("[0]", 2), ("{}", 1), (#"{"a":0}"#, 2), ("[[],{},null,true]", 5),
    (#"{"a":[1,2],"b":{"c":"d"}}"#, 6),
  ])
  func `is limited exactly, containers included and names excluded`(text: String, count: Int) {
    #expect(throws: Never.self) { try measured(text, valuesMax: count).get() }
    guard case .failure(let error) = measured(text, valuesMax: count - 1) else {
      Issue.record("\(text) has fewer than \(count) values")
      return
    }
    #expect(error.code == .tooManyValues)
  }

  @Test func `of a save of 200,000 objects with 20 properties is below the limit of the service`() {
    // An object, its entity, its values, and 20 properties; then the params and the request.
    #expect(200_000 * 23 + 10 <= 5_000_000)
  }
}
