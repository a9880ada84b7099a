import Foundation
import Testing

/// Replays recorded conversations and compares every message byte for byte.
///
/// `UPDATE_EXPECT=1 swift test --filter CordialServiceTests` rewrites the recorded messages. Review
/// the changes with `git diff`.
@Suite struct `Transcripts` {
  // Evidence: P-090c, P-090d, P-090e, P-090f, P-090g, P-090h, P-090i, P-090j, P-090k
  // Evidence: P-091d, P-095b, P-095d
  // Evidence: P-018b, P-019b, P-043a, P-043b, P-043c, P-043d, P-043e, P-052c, P-057a, P-057d, P-080e, P-080f, P-080g, P-080h, P-082f, P-082g, P-082h, P-084b, P-085c, P-085d, P-085e, P-086d, P-114d
  @Test(arguments: Transcript.names)
  func `a replay produces the recorded messages`(name: String) async throws {
    let transcript = try Transcript(named: name)
    let played = try await onOwnThread { try TranscriptPlayer(transcript).play() }
    guard played != transcript.lines else { return }
    guard ProcessInfo.processInfo.environment["UPDATE_EXPECT"] == nil else {
      return try Transcript.write(played, as: name)
    }
    Issue.record("\(Self.difference(transcript.lines, played, in: name))")
  }

  /// Describes the first line that differs.
  private static func difference(
    _ expected: [String],
    _ actual: [String],
    in name: String
  ) -> String {
    let first = zip(expected, actual).enumerated().first { $0.element.0 != $0.element.1 }?.offset
    let index = first ?? min(expected.count, actual.count)
    let sent = actual.prefix(index).last { Transcript.step($0) != nil } ?? ""
    func line(_ lines: [String]) -> String {
      lines.indices.contains(index) ? lines[index] : "the end of the transcript"
    }
    return """
      Protocol/transcripts/\(name).txt:\(index + 1), after
        \(sent)
      expected
        \(line(expected))
      actual
        \(line(actual))
      UPDATE_EXPECT=1 rewrites the recorded messages.
      """
  }
}
