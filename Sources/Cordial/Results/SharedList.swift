/// A list whose copies share parts, so that a change copies one part instead of the whole list.
struct SharedList<Element: Sendable>: Sendable {
  private final class Part: Sendable {
    let elements: [Element]

    init(_ elements: [Element]) {
      self.elements = elements
    }
  }

  private var parts: [Part] = []
  /// The index after the last element of each part.
  private var ends: [Int] = []

  /// The number of elements in each part of a new list; a part with twice as many is split.
  private static var partCount: Int { 512 }

  init(_ elements: [Element] = []) {
    for start in stride(from: 0, to: elements.count, by: Self.partCount) {
      let end = min(start + Self.partCount, elements.count)
      parts.append(Part(Array(elements[start..<end])))
      ends.append(end)
    }
  }

  var count: Int { ends.last ?? 0 }

  /// The elements as one array.
  ///
  /// - Complexity: Linear in the list.
  var elements: [Element] { parts.flatMap(\.elements) }

  /// The element at an index.
  ///
  /// - Complexity: Logarithmic in the list.
  subscript(index: Int) -> Element {
    let part = part(with: index)
    return parts[part].elements[index - start(of: part)]
  }

  /// Inserts an element.
  ///
  /// - Complexity: Linear in the number of parts, and in the elements of one part.
  mutating func insert(_ element: Element, at index: Int) {
    guard !parts.isEmpty else {
      self = SharedList([element])
      return
    }
    let part = part(with: index)
    let start = start(of: part)
    var elements = parts[part].elements
    elements.insert(element, at: index - start)
    for place in part..<ends.count { ends[place] += 1 }
    guard elements.count >= 2 * Self.partCount else {
      parts[part] = Part(elements)
      return
    }
    let middle = elements.count / 2
    parts.replaceSubrange(
      part...part,
      with: [Part(Array(elements[..<middle])), Part(Array(elements[middle...]))]
    )
    ends.insert(start + middle, at: part)
  }

  /// Returns whether two lists have equal elements in the same order, according to a test.
  ///
  /// - Complexity: Linear in the list. Shared parts are skipped if both lists have the same part
  ///   lengths.
  func elementsEqual(_ other: SharedList, by areEqual: (Element, Element) -> Bool) -> Bool {
    guard count == other.count else { return false }
    if ends == other.ends {
      return zip(parts, other.parts).allSatisfy { first, second in
        first === second || first.elements.elementsEqual(second.elements, by: areEqual)
      }
    }
    return elements.elementsEqual(other.elements, by: areEqual)
  }

  private func start(of part: Int) -> Int { part == 0 ? 0 : ends[part - 1] }

  /// Returns the index in `parts` of the part that contains the element at an index; the last part
  /// if the index is the end of the list.
  private func part(with index: Int) -> Int {
    precondition((0...count).contains(index), "The index \(index) is not in 0...\(count)")
    var (low, high) = (0, ends.count - 1)
    while low < high {
      let middle = (low + high) / 2
      if ends[middle] <= index {
        low = middle + 1
      } else {
        high = middle
      }
    }
    return low
  }
}
