/// The options of one sub-command: pairs of `--name value`.
struct Options: Sendable {
  private var values: [String: String] = [:]

  init(_ arguments: [String]) throws {
    guard arguments.count.isMultiple(of: 2) else {
      throw BenchmarkError("Every option takes a value: --name value")
    }
    for index in stride(from: 0, to: arguments.count, by: 2) {
      guard arguments[index].hasPrefix("--") else {
        throw BenchmarkError("Expected an option instead of \(arguments[index])")
      }
      // An option in the place of a value would become a file of that name.
      guard !arguments[index + 1].hasPrefix("-") else {
        throw BenchmarkError("\(arguments[index]) takes a value, not \(arguments[index + 1])")
      }
      values[String(arguments[index].dropFirst(2))] = arguments[index + 1]
    }
  }

  func text(_ name: String) throws -> String {
    guard let text = values[name] else { throw BenchmarkError("Option --\(name) is missing") }
    return text
  }

  func text(_ name: String, default text: String) -> String {
    values[name] ?? text
  }

  /// A whole number above zero.
  func number(_ name: String, default number: Int) throws -> Int {
    guard let text = values[name] else { return number }
    guard let number = Int(text), number > 0 else {
      throw BenchmarkError("Option --\(name) is no number above zero: \(text)")
    }
    return number
  }

  func has(_ name: String) -> Bool { values[name] != nil }
}

/// Why there is no figure.
struct BenchmarkError: Error, CustomStringConvertible {
  let description: String

  init(_ description: String) { self.description = description }
}
