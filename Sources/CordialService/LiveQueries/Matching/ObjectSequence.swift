import Algorithms

/// A sequence of object numbers in chunks, which its copies share.
///
/// An edit of a copy duplicates only the list of chunks and one chunk, instead of the whole
/// sequence.
package struct ObjectSequence: Sendable {
  /// The maximum length of a chunk; a longer chunk is split in half.
  private static let chunkMax = 1024

  private var chunks: [[Int64]] = []
  /// The number of elements before each chunk.
  private var starts: [Int] = []
  package private(set) var count = 0

  package init() {}

  /// Creates a sequence of elements.
  package init(_ elements: some Sequence<Int64>) {
    for element in elements { append(element) }
  }

  /// Adds an element to the end.
  package mutating func append(_ element: Int64) {
    if chunks.last.map({ $0.count >= Self.chunkMax }) ?? true {
      starts.append(count)
      chunks.append([])
    }
    chunks[chunks.count - 1].append(element)
    count += 1
  }

  /// Inserts an element at an offset; appends the element if the offset is not less than `count`.
  ///
  /// - Complexity: Linear in the number of chunks, and in the length of a chunk.
  package mutating func insert(_ element: Int64, at offset: Int) {
    guard offset < count else { return append(element) }
    let index = chunk(at: offset)
    chunks[index].insert(element, at: offset - starts[index])
    count += 1
    for later in starts.indices[(index + 1)...] { starts[later] += 1 }
    guard chunks[index].count > Self.chunkMax else { return }
    let half = chunks[index].count / 2
    chunks.insert(Array(chunks[index][half...]), at: index + 1)
    chunks[index].removeSubrange(half...)
    starts.insert(starts[index] + half, at: index + 1)
  }

  /// Removes the element at an offset.
  ///
  /// - Complexity: Linear in the number of chunks, and in the length of a chunk.
  package mutating func remove(at offset: Int) {
    let index = chunk(at: offset)
    chunks[index].remove(at: offset - starts[index])
    count -= 1
    for later in starts.indices[(index + 1)...] { starts[later] -= 1 }
    guard chunks[index].isEmpty else { return }
    chunks.remove(at: index)
    starts.remove(at: index)
  }

  /// The elements in one array.
  package var elements: [Int64] {
    var elements: [Int64] = []
    elements.reserveCapacity(count)
    for chunk in chunks { elements += chunk }
    return elements
  }

  /// Returns the offset of an element; nil if the element does not occur.
  ///
  /// - Complexity: Linear.
  package func firstIndex(of element: Int64) -> Int? {
    for (index, chunk) in chunks.enumerated() {
      if let offset = chunk.firstIndex(of: element) { return starts[index] + offset }
    }
    return nil
  }

  /// Returns the index of the chunk that has the element at an offset.
  private func chunk(at offset: Int) -> Int {
    precondition(offset >= 0 && offset < count, "The offset is outside the sequence")
    return starts.partitioningIndex { $0 > offset } - 1
  }
}

extension ObjectSequence: RandomAccessCollection, Equatable, ExpressibleByArrayLiteral {
  package init(arrayLiteral elements: Int64...) { self.init(elements) }

  package var startIndex: Int { 0 }
  package var endIndex: Int { count }

  package subscript(offset: Int) -> Int64 {
    let index = chunk(at: offset)
    return chunks[index][offset - starts[index]]
  }

  package func makeIterator() -> Iterator { Iterator(chunks) }

  package static func == (first: ObjectSequence, second: ObjectSequence) -> Bool {
    first.count == second.count && first.elementsEqual(second)
  }

  /// An iterator for this type, because callers in other modules would not specialize a generic
  /// iterator.
  package struct Iterator: IteratorProtocol {
    private var rest: ArraySlice<[Int64]>
    private var chunk: [Int64] = []
    private var offset = 0

    fileprivate init(_ chunks: [[Int64]]) { rest = chunks[...] }

    package mutating func next() -> Int64? {
      while offset == chunk.count {
        guard let following = rest.popFirst() else { return nil }
        chunk = following
        offset = 0
      }
      defer { offset += 1 }
      return chunk[offset]
    }
  }
}
