import Mocks
import Testing

// Evidence: P-140h
@Suite struct `The memory of a mock` {
  private func refusal(_ text: String, memoryMax: Int) -> ScriptError? {
    do {
      _ = try MockScript(Array(text.utf8), folder: "/tmp", memoryMax: memoryMax)
      return nil
    } catch {
      return error
    }
  }

  @Test func `is limited for a script`() {
    let objects = Array(repeating: #"{"id":"Task/p1"}"#, count: 100).joined(separator: ",")
    let script = #"{"objects":[\#(objects)]}"#
    #expect(refusal(script, memoryMax: 1000)?.description.contains("1000 bytes of memory") == true)
    #expect(refusal(script, memoryMax: 1 << 20)?.description.contains("bytes of memory") != true)
  }

  @Test func `is limited for all messages of a recording`() {
    let line = #"{"at":0,"connection":1,"from":"client","message":{"id":1,"method":"model"}}"#
    let recording = Array(repeating: line, count: 100).joined(separator: "\n")
    let error = refusal(recording, memoryMax: 10_000)
    #expect(error?.description.hasPrefix("line ") == true)
    #expect(error?.description.contains("10000 bytes of memory") == true)
    #expect(refusal(recording, memoryMax: 1 << 20) == nil)
  }
}
