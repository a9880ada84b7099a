public import CordialValues
public import Observation

/// The live result of a request with sections.
///
/// The rows are one flat list, and each section is a range of the list. The move of a row to a
/// different section is one change. In all other respects, behaviour and costs are those of
/// `FetchedResults`.
public final class SectionedFetchedResults<Value: BaseValue>: Observable {
  /// The rows of all sections as one list.
  public let rows: FetchedResults<Value>

  /// Creates a result with a source from the program's registry.
  ///
  /// - Parameters:
  ///   - path: The key path of the source, like `\TodoSources.tasks`.
  ///   - request: The request, with `sectionBy`; nil to set it later. A list of mocks needs no
  ///     request.
  ///   - isolation: The actor of the result.
  public init<Sources: DataSources>(
    _ path: KeyPath<Sources, FetchDataSource<Value>>,
    request: FetchRequest<Value>? = nil,
    isolation: isolated any Actor = #isolation
  ) {
    rows = FetchedResults(path, request: request, isolation: isolation)
  }

  /// Creates a result.
  ///
  /// - Parameters:
  ///   - source: The source of the objects.
  ///   - request: The request, with `sectionBy`; nil to set it later. A list of mocks needs no
  ///     request.
  ///   - isolation: The actor of the result.
  public init(
    _ source: FetchDataSource<Value>,
    request: FetchRequest<Value>? = nil,
    isolation: isolated any Actor = #isolation
  ) {
    rows = FetchedResults(source, request: request, isolation: isolation)
  }

  /// The request.
  ///
  /// A new request replaces rows and sections in one step, when its result has arrived.
  public var request: FetchRequest<Value>? {
    get { rows.request }
    set { rows.request = newValue }
  }

  /// The sections, in the order of their rows; empty for a request without `sectionBy`.
  public var sections: [ResultSection] { rows.sections }

  /// The rows with a sentinel at the head and at the foot of each section.
  ///
  /// The list is a snapshot; read the property again after a change.
  public var elements: SectionElements<Value> { SectionElements(rows.current) }

  /// The latest change; nil before the first rows.
  public var change: FetchedResults<Value>.Change? { rows.change }

  /// The latest error of the source; nil after newer rows have arrived.
  public var error: ClientError? { rows.error }

  /// A sequence with an element for each change of the rows or sections.
  ///
  /// A slow reader gets one element for several changes.
  public var changes: AsyncStream<Void> { rows.changes }
}

extension SectionedFetchedResults: RandomAccessCollection {
  /// A section with its rows.
  public struct Section {
    /// The section.
    public let section: ResultSection
    /// The objects of the section's rows.
    public let objects: Slice<FetchedResults<Value>>
  }

  /// The index of the first section.
  public var startIndex: Int { 0 }

  /// The number of sections.
  public var endIndex: Int { sections.count }

  /// A section with its rows.
  public subscript(index: Int) -> Section {
    let section = sections[index]
    return Section(section: section, objects: Slice(base: rows, bounds: section.range))
  }
}
