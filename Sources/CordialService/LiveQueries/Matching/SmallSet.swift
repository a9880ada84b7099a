/// A set that allocates no memory for a single element.
///
/// An index of requests has many sets, and most of them have a single element.
package struct SmallSet<Element: Hashable & Sendable>: Sendable, Sequence {
  private enum Storage: Sendable {
    case none
    case one(Element)
    case many(Set<Element>)
  }

  private var storage = Storage.none

  package init() {}

  package init(_ elements: some Sequence<Element>) {
    for element in elements { insert(element) }
  }

  package var count: Int {
    switch storage {
    case .none: 0
    case .one: 1
    case .many(let elements): elements.count
    }
  }

  package var isEmpty: Bool { count == 0 }

  package func contains(_ element: Element) -> Bool {
    switch storage {
    case .none: false
    case .one(let only): only == element
    case .many(let elements): elements.contains(element)
    }
  }

  /// Adds an element, unless the set already contains it.
  package mutating func insert(_ element: Element) {
    switch storage {
    case .none: storage = .one(element)
    case .one(let only):
      if only != element { storage = .many([only, element]) }
    case .many(var elements):
      // Clears `storage` first, so that `elements` has one owner and the insertion copies nothing.
      storage = .none
      elements.insert(element)
      storage = .many(elements)
    }
  }

  /// Removes an element, if the set contains it.
  package mutating func remove(_ element: Element) {
    switch storage {
    case .none: break
    case .one(let only):
      if only == element { storage = .none }
    case .many(var elements):
      storage = .none
      elements.remove(element)
      if let only = elements.first, elements.count == 1 {
        storage = .one(only)
      } else if !elements.isEmpty {
        storage = .many(elements)
      }
    }
  }

  package struct Iterator: IteratorProtocol {
    fileprivate var only: Element?
    fileprivate var others: Set<Element>.Iterator?

    package mutating func next() -> Element? {
      guard let element = only else { return others?.next() }
      only = nil
      return element
    }
  }

  package func makeIterator() -> Iterator {
    switch storage {
    case .none: Iterator(only: nil, others: nil)
    case .one(let element): Iterator(only: element, others: nil)
    case .many(let elements): Iterator(only: nil, others: elements.makeIterator())
    }
  }
}

extension SmallSet: ExpressibleByArrayLiteral {
  package init(arrayLiteral elements: Element...) { self.init(elements) }
}
