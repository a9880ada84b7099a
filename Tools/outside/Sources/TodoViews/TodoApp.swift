/// The program as a person sees it: pages on top of one another, a question, and a message.
///
/// It knows no terminal: a program shows `lines` and passes on keys.
@MainActor public final class TodoApp {
  private struct Question {
    let prompt: String
    var text: String
    let use: @MainActor (String, any TodoActions) async throws -> Void
  }

  private let actions: any TodoActions
  private var pages: [any Page] = [GroupPage()]
  private var question: Question?
  private var message: String?

  /// Whether the person has quit.
  public private(set) var isDone = false

  /// Shows the groups.
  public init(_ actions: any TodoActions) {
    self.actions = actions
  }

  private var page: any Page { pages[pages.count - 1] }

  /// The screen, line by line.
  ///
  /// - Parameters:
  ///   - height: The number of lines.
  ///   - width: The number of characters of a line.
  /// - Returns: As many lines as the screen has.
  public func lines(height: Int, width: Int) -> [String] {
    let rows = page.rows
    let selection = max(0, min(page.selection, rows.count - 1))
    // The selected row stays on screen.
    let room = max(1, height - 4)
    let first = max(0, min(selection - room / 2, rows.count - room))
    var lines = [page.title, ""]
    for (index, row) in rows.enumerated().dropFirst(first).prefix(room) {
      lines.append((index == selection ? "> " : "  ") + row)
    }
    lines += Array(repeating: "", count: max(0, height - 2 - lines.count))
    lines.append(question.map { "\($0.prompt): \($0.text)_" } ?? message ?? "")
    lines.append(page.help)
    return lines.map { line in
      // A control character of a text would move the cursor, or worse.
      var shown = String.UnicodeScalarView()
      for scalar in line.unicodeScalars {
        shown.append(scalar.properties.generalCategory == .control ? " " : scalar)
      }
      return String(String(shown).prefix(width))
    }
  }

  /// Handles a key.
  public func press(_ key: Key) async {
    message = nil
    guard key != .interrupt else {
      isDone = true
      return
    }
    do {
      if question != nil { return try await answer(key) }
      try await handle(key)
    } catch {
      message = "\(error)"
    }
  }

  private func answer(_ key: Key) async throws {
    switch key {
    case .character(let character): question?.text.append(character)
    case .backspace: _ = question?.text.popLast()
    case .escape: question = nil
    case .enter:
      guard let asked = question else { return }
      question = nil
      try await asked.use(asked.text, actions)
    case .up, .down, .interrupt: break
    }
  }

  private func handle(_ key: Key) async throws {
    let types = page is SearchPage
    switch key {
    case .up: page.selection = max(0, page.selection - 1)
    case .down: page.selection = max(0, min(page.selection + 1, page.rows.count - 1))
    case .escape where pages.count > 1: pages.removeLast()
    case .character("q") where pages.count == 1: isDone = true
    case .character("u") where !types:
      message = try await actions.undo() ? "Undone" : "There is nothing to undo"
    case .character("U") where !types:
      message = try await actions.redo() ? "Done again" : "There is nothing to do again"
    default:
      switch try await page.handle(key, actions) {
      case .stay: break
      case .open(let next): pages.append(next)
      case .ask(let prompt, let text, let use):
        question = Question(prompt: prompt, text: text, use: use)
      }
    }
  }
}
