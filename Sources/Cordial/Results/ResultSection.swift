import CordialProtocol
public import CordialValues

/// A section of a result: adjacent rows with the same value of the request's `sectionBy`.
public struct ResultSection: Hashable, Sendable {
  /// The value that the rows of the section share; null if they have no value.
  public let name: WireValue
  /// The indices of the section's rows in the flat result; can be empty in a list of mocks.
  public let range: Range<Int>

  /// Creates a section.
  public init(name: WireValue, range: Range<Int>) {
    self.name = name
    self.range = range
  }

  /// The name as a text; empty for null.
  public var title: String {
    switch name {
    case .null: ""
    case .bool(let flag): "\(flag)"
    case .integer(let number): "\(number)"
    case .number(let number): "\(number)"
    case .string(let text): text
    case .list(let values):
      values.map { ResultSection(name: $0, range: 0..<0).title }
        .joined(separator: ", ")
    }
  }

  /// Reads the sections of a result.
  ///
  /// - Throws: `ClientError` for sections that do not cover all rows without gaps.
  static func list(
    _ elements: [FetchCall.Section],
    count: Int
  ) throws(ClientError) -> [ResultSection] {
    var sections: [ResultSection] = []
    for element in elements {
      let offset = sections.last?.range.upperBound ?? 0
      guard let name = WireValue(element.name), element.offset == Int64(offset),
        element.count >= 0, element.count <= Int64(count - offset)
      else { throw Self.malformed }
      sections.append(ResultSection(name: name, range: offset..<offset + Int(element.count)))
    }
    guard sections.isEmpty || sections.last?.range.upperBound == count else {
      throw Self.malformed
    }
    return sections
  }

  private static var malformed: ClientError {
    ClientError(code: .internalError, message: "The sections of a result do not fit its rows")
  }
}

/// A result with a sentinel at the head and at the foot of each section, as one flat list.
///
/// A list view with a row for each element can show headers, rows and footers without nesting.
public struct SectionElements<Value: BaseValue>: RandomAccessCollection, Sendable {
  /// An element of the flat list.
  public enum Element: Identifiable, Sendable {
    /// The sentinel before the first row of a section.
    case head(ResultSection)
    /// A row.
    case object(AnyConvertibleValueObject<Value>)
    /// The sentinel after the last row of a section.
    case foot(ResultSection)

    /// The identity of an element, which stays the same when rows move.
    public enum ID: Hashable, Sendable {
      /// The head of the section with a name.
      case head(WireValue)
      /// The row of an object.
      case object(WrappedID)
      /// The foot of the section with a name.
      case foot(WireValue)
    }

    /// The identity of the element.
    public var id: ID {
      switch self {
      case .head(let section): .head(section.name)
      case .object(let object): .object(object.id)
      case .foot(let section): .foot(section.name)
      }
    }
  }

  private let rows: ResultRows<Value>

  init(_ rows: ResultRows<Value>) {
    self.rows = rows
  }

  /// The index of the first element.
  public var startIndex: Int { 0 }

  /// The number of rows and sentinels.
  public var endIndex: Int { rows.count + 2 * rows.sections.count }

  /// The element at an index.
  ///
  /// - Complexity: Logarithmic in the number of sections.
  public subscript(index: Int) -> Element {
    let sections = rows.sections
    // Finds the last section whose head is at or before the index.
    var (low, high) = (0, sections.count)
    while low < high {
      let middle = (low + high) / 2
      if sections[middle].range.lowerBound + 2 * middle <= index {
        low = middle + 1
      } else {
        high = middle
      }
    }
    guard low > 0 else { return .object(rows[index]) }
    let section = sections[low - 1]
    let head = section.range.lowerBound + 2 * (low - 1)
    if index == head { return .head(section) }
    if index == head + section.range.count + 1 { return .foot(section) }
    return .object(rows[section.range.lowerBound + index - head - 1])
  }
}
