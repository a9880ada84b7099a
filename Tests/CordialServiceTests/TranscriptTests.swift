import Foundation
import Testing

/// Conversations that were recorded, replayed byte for byte.
///
/// `UPDATE_EXPECT=1 swift test --filter CordialServiceTests` writes what the service says now into
/// the transcripts; what changed shows in the diff.
@Suite struct `Transcripts` {
  @Test(arguments: Transcript.names)
  func `the service answers as the transcript says`(name: String) async throws {
    let transcript = try Transcript(named: name)
    let played = try await onOwnThread { try TranscriptPlayer(transcript).play() }
    guard played != transcript.lines else { return }
    guard ProcessInfo.processInfo.environment["UPDATE_EXPECT"] == nil else {
      return try Transcript.write(played, as: name)
    }
    Issue.record("\(Self.difference(transcript.lines, played, in: name))")
  }

  /// The first line in which two transcripts differ.
  private static func difference(
    _ expected: [String],
    _ actual: [String],
    in name: String
  ) -> String {
    let first = zip(expected, actual).enumerated().first { $0.element.0 != $0.element.1 }?.offset
    let place = first ?? min(expected.count, actual.count)
    let sent = actual.prefix(place).last { Transcript.step($0) != nil } ?? ""
    func line(_ lines: [String]) -> String {
      lines.indices.contains(place) ? lines[place] : "the end"
    }
    return """
      Protocol/transcripts/\(name).txt:\(place + 1), after
        \(sent)
      expected
        \(line(expected))
      actual
        \(line(actual))
      UPDATE_EXPECT=1 writes what the service says now into the transcripts.
      """
  }
}
