import JSONRPC
import Testing

@Suite struct `The end of a connection` {
  @Test func `an open connection is not closed when its requests are answered`() {
    var phase = ConnectionPhase.open
    phase.drained(exitCode: 0)
    #expect(phase.reads)
    #expect(phase.sends)
  }

  @Test func `after its input it answers what it has received, then closes`() {
    var phase = ConnectionPhase.open
    phase.endInput()
    #expect(!phase.reads)
    #expect(phase.sends)
    phase.drained(exitCode: 1)
    #expect(!phase.sends)
    #expect(phase.end() == 1)
    #expect(phase == .closed)
  }

  @Test func `the first exit code that is given remains`() {
    var phase = ConnectionPhase.open
    phase.endInput(exitCode: 1)
    phase.endInput(exitCode: 0)
    phase.drained(exitCode: 0)
    #expect(phase.end() == 1)

    var other = ConnectionPhase.open
    other.endInput()
    other.endInput(exitCode: 0)
    other.drained(exitCode: 1)
    #expect(other.end() == 0)
  }

  @Test func `a connection that cannot be continued waits for no answer`() {
    var phase = ConnectionPhase.open
    phase.fail()
    #expect(!phase.reads)
    #expect(!phase.sends)
    phase.drained(exitCode: 0)
    #expect(phase.end() == 1)
  }

  @Test func `a connection is closed once`() {
    var phase = ConnectionPhase.open
    // The peer disconnected, so that there is nothing to close.
    #expect(phase.end() == nil)
    phase.endInput(exitCode: 0)
    phase.drained(exitCode: 0)
    phase.fail()
    #expect(phase == .closed)
    #expect(phase.end() == nil)
  }
}
