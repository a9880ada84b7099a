// todo: tasks on a terminal.
//
//   todo --mock SCRIPT      a mock, which `cordial serve --mock` serves
//   todo --socket PATH      a service that is running
//   todo STORE              a store, which `cordial serve` serves
//
// `--program PATH` names the program `cordial`, where it is not in PATH.

import Cordial
import Foundation
import Observation
import TodoStore
import TodoViews

/// The reason why the program does not begin.
struct UsageError: Error, CustomStringConvertible {
  let description = "usage: todo [--program CORDIAL] (--mock SCRIPT | --socket PATH | STORE)"
}

/// Connects as the arguments say.
func connect(_ arguments: [String]) async throws -> Client {
  var arguments = arguments
  var program = "cordial"
  if arguments.first == "--program", arguments.count > 2 {
    program = arguments[1]
    arguments.removeFirst(2)
  }
  switch (arguments.first, arguments.count) {
  case ("--mock", 2):
    return try await .process(program, arguments: ["serve", "--mock", arguments[1]])
  case ("--socket", 2): return try await .socket(arguments[1])
  case (let store?, 1) where !store.hasPrefix("-"):
    return try await .process(program, arguments: ["serve", store])
  default: throw UsageError()
  }
}

/// Shows the program until the person quits.
@MainActor func run(_ client: Client) async {
  let store = TodoStore(client)
  TodoSources.registry.replace(with: store.sources)
  let app = TodoApp(store)
  let terminal = Terminal()
  defer { terminal.restore() }
  // Several changes are one screen.
  let (redraws, redraw) = AsyncStream.makeStream(
    of: Void.self,
    bufferingPolicy: .bufferingNewest(1)
  )
  let drawing = Task { @MainActor in
    redraw.yield()
    for await _ in redraws {
      let (height, width) = terminal.size
      let lines = withObservationTracking {
        app.lines(height: height, width: width)
      } onChange: {
        redraw.yield()
      }
      terminal.show(lines)
    }
  }
  for await key in terminal.keys {
    if terminal.isInterrupted { break }
    await app.press(key)
    if app.isDone { break }
    redraw.yield()
  }
  drawing.cancel()
}

do {
  let client = try await connect(Array(CommandLine.arguments.dropFirst()))
  await run(client)
  client.close()
} catch {
  FileHandle.standardError.write(Data("todo: \(error)\n".utf8))
  exit(error is UsageError ? 64 : 1)
}
