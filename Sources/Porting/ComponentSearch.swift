import JSON

/// A search for the strongly connected components of objects that require one another.
///
/// The search is Tarjan's algorithm with an explicit stack instead of recursion.
struct ComponentSearch {
  /// The next step of the search: an object to enter, or a component.
  enum Next {
    /// The last object of the path requires an object that the search has not seen.
    ///
    /// The caller enters this object unless it is known.
    case object(String)
    /// The IDs and the byte ranges of a component's objects. Each object requires all others.
    ///
    /// Every other object that the component requires is in an earlier component or is known to the
    /// caller.
    case component([String], [Waiting])
  }

  /// An object on the path from the first object to the current object.
  private struct Step {
    let id: String
    let number: Int
    let range: Waiting
    var next = 0
    /// The lowest number of an open object that can be reached from this object.
    var lowest: Int
  }

  private var steps: [Step] = []
  /// The objects that are in no component yet, in the order in which they were entered.
  private var open: [(id: String, range: Waiting)] = []
  /// The number of each entered object, by the bytes of its ID; nil once a component contains it.
  private var numbers: [[UInt8]: Int?] = [:]

  init(_ id: String, _ range: Waiting) {
    enter(id, range)
  }

  /// The IDs from the first object to the current object; each of these objects requires the next.
  var path: [String] { steps.map(\.id) }

  /// The number of objects that were entered and are in no component yet.
  var openCount: Int { open.count }

  /// Continues the search at an object that the current object requires.
  mutating func enter(_ id: String, _ range: Waiting) {
    numbers[Array(id.utf8)] = .some(open.count)
    steps.append(Step(id: id, number: open.count, range: range, lowest: open.count))
    open.append((id, range))
  }

  /// Returns the next step of the search; nil at the end.
  ///
  /// - Complexity: O(1), amortized.
  mutating func nextTarget() -> Next? {
    while let step = steps.last {
      let last = steps.count - 1
      if step.next < step.range.requires.count {
        steps[last].next += 1
        let target = step.range.requires[step.next]
        guard let seen = numbers[Array(target.utf8)] else {
          return .object(target)
        }
        if let number = seen { steps[last].lowest = min(step.lowest, number) }
        continue
      }
      steps.removeLast()
      if step.lowest == step.number {
        let component = open[step.number...]
        open.removeSubrange(step.number...)
        for (id, _) in component { numbers[Array(id.utf8)] = .some(nil) }
        return .component(component.map(\.id), component.map(\.range))
      }
      steps[last - 1].lowest = min(steps[last - 1].lowest, step.lowest)
    }
    return nil
  }
}

/// The byte range of a waiting object in its file, and the IDs of the objects that it requires.
struct Waiting {
  let line: Int
  private let range: Range<Int>
  /// The length of the range, in bytes.
  var count: Int { range.count }
  let requires: [String]

  init(_ object: ObjectLines.Object, _ requires: [String]) {
    line = object.line
    range = object.range
    self.requires = requires
  }

  init?(_ text: String) throws {
    let values = try JSONParser.parse(text).array ?? []
    guard values.count >= 3, let line = values[0].integer, let first = values[1].integer,
      let end = values[2].integer
    else { return nil }
    self.line = Int(line)
    range = Int(first)..<Int(end)
    requires = values.dropFirst(3).compactMap(\.string)
  }

  var text: String {
    let numbers = [line, range.lowerBound, range.upperBound].map { JSONValue.integer(Int64($0)) }
    return JSONValue.array(numbers + requires.map { .string($0) }).text
  }

  func object(of file: any InputFile) throws -> ObjectLines.Object {
    try ObjectLines.object(of: file, in: range, line: line)
  }
}
