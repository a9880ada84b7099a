import Algorithms

extension Collection where Index == Int {
  /// Returns the indices of a longest subsequence whose values ascend strictly.
  ///
  /// - Parameter value: Returns the value of an element; nil excludes the element.
  /// - Returns: The indices, ascending.
  /// - Complexity: O(*n* log *n*).
  package func longestAscendingRun<Value: Comparable>(_ value: (Element) -> Value?) -> [Int] {
    /// For each length, the smallest value that ends an ascending run of this length.
    var ends: [(value: Value, index: Int)] = []
    /// For each element, the index of its predecessor in its run; -1 without a predecessor.
    var previous = Array(repeating: -1, count: count)
    for (offset, element) in enumerated() {
      guard let value = value(element) else { continue }
      let length = ends.partitioningIndex { $0.value >= value }
      if length > 0 { previous[offset] = ends[length - 1].index }
      if length == ends.count {
        ends.append((value, offset))
      } else {
        ends[length] = (value, offset)
      }
    }
    var run: [Int] = []
    var offset = ends.last?.index ?? -1
    while offset >= 0 {
      run.append(startIndex + offset)
      offset = previous[offset]
    }
    return run.reversed()
  }
}
