public import CordialValues
public import Observation

/// The live result of a request with sections.
///
/// The rows are one flat list, of which each section is a range. A row that moves to another
/// section is one change. It otherwise behaves as `FetchedResults` does, and costs the same.
public final class SectionedFetchedResults<Value: BaseValue>: Observable {
  /// The rows of all sections as one list.
  public let rows: FetchedResults<Value>

  /// Creates a result with a source of the program's registry.
  ///
  /// - Parameters:
  ///   - path: The key path of the source, like `\TodoSources.tasks`.
  ///   - request: The request, with `sectionBy`; nil for one that is set later. A list of mocks
  ///     needs none.
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
  ///   - request: The request, with `sectionBy`; nil for one that is set later. A list of mocks
  ///     needs none.
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
  /// Another one replaces rows and sections in one step.
  public var request: FetchRequest<Value>? {
    get { rows.request }
    set { rows.request = newValue }
  }

  /// The sections, in the order of their rows; empty for a request without `sectionBy`.
  public var sections: [ResultSection] { rows.sections }

  /// The rows with a sentinel at the head and at the foot of each section.
  ///
  /// The list keeps the rows that it has; read it again after a change.
  public var elements: SectionElements<Value> { SectionElements(rows.current) }

  /// The latest change; nil before the first rows.
  public var change: FetchedResults<Value>.Change? { rows.change }

  /// The error that the source has reported last; nil since rows have arrived.
  public var error: ClientError? { rows.error }

  /// An element for each change of the rows or sections, fewer for a slow reader.
  public var changes: AsyncStream<Void> { rows.changes }
}

extension SectionedFetchedResults: RandomAccessCollection {
  /// A section with its rows.
  public struct Section {
    /// The section.
    public let section: ResultSection
    /// The objects of its rows.
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
