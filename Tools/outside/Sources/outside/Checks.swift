/// The reason why the program ends with an error.
struct Unexpected: Error {
  let message: String
}

/// Waits until a screen shows lines, for five seconds at most.
@MainActor func expect(_ expected: [String], _ lines: () -> [String]) async throws {
  let clock = ContinuousClock()
  let end = clock.now.advanced(by: .seconds(5))
  while lines() != expected {
    guard clock.now < end else { throw Unexpected(message: "\(lines()) instead of \(expected)") }
    try await clock.sleep(for: .milliseconds(5))
  }
  print(expected)
}

func check(_ holds: Bool, line: Int = #line, file: String = #fileID) throws {
  guard holds else { throw Unexpected(message: "\(file):\(line): the condition does not hold") }
}
