package import JSON
package import JSONRPC

/// The params of `fetch`: reads objects by ID, or the objects of an entity that match a predicate.
package struct FetchCall: Call {
  package static let name = MethodName.fetch

  /// A selected value.
  package struct Selection: Sendable, Equatable {
    package let name: String
    package let path: String
    /// The value that replaces a missing value; nil for no replacement.
    package let fallback: JSONValue?
    /// Whether the request states a name in addition to the path.
    private let isNamed: Bool

    /// Creates the selection of a value with a separate name.
    package init(name: String, path: String, fallback: JSONValue? = nil) {
      self.name = name
      self.path = path
      self.fallback = fallback
      isNamed = true
    }

    /// Creates the selection of a value by its path.
    package init(path: String) {
      name = path
      self.path = path
      fallback = nil
      isNamed = false
    }

    /// Returns the member `select`: a list of paths, or an object if any value has a separate name.
    fileprivate static func json(_ selections: [Selection]) -> JSONValue {
      guard selections.contains(where: \.isNamed) else { return selections.map(\.path).json }
      return .object(
        selections.map { selection in
          let path = JSONValue.string(selection.path)
          let value = selection.fallback.map { JSONValue.object([.path: path, .default: $0]) }
          return JSONMember(selection.name, value ?? path)
        }
      )
    }
  }

  /// The form of the result.
  package enum Form: String, Sendable, Equatable {
    case objects, ids, count, values
  }

  /// The IDs of the requested objects, nil for a query.
  package var ids: [String]?
  /// The name of the entity; empty for a fetch of IDs.
  package var entity = ""
  package var predicate: String?
  package var arguments: JSONValue?
  package var sort: [String] = []
  package var limit: Int?
  package var offset = 0
  package var select: [Selection]?
  /// The cursor that an earlier fetch with `limit` returned; this fetch returns the next page.
  package var after: String?
  package var sectionBy: String?
  package var include: [String] = []
  package var groupBy: [String] = []
  package var having: String?
  package var distinct = false
  package var subentities = true
  package var form = Form.objects
  package var total = false
  /// The commit that must be visible to the fetch; nil for any commit.
  package var at: String?
  /// The past commit whose state is read; nil for the newest commit.
  package var asOf: String?
  /// The name of a stored request of the model, which the service expands; nil for none.
  package var template: String?
  /// The name of a stored selection of the model, which the service expands; nil for none.
  package var value: String?

  /// Creates a fetch of objects by their IDs.
  package init(ids: [String]) { self.ids = ids }

  /// Creates a fetch of the objects of an entity.
  package init(entity: String) { self.entity = entity }

  package init(_ json: JSONValue) throws(RPCError) {
    ids = json.strings(.ids)
    entity = json.string(.entity) ?? ""
    predicate = json.string(.predicate)
    arguments = json[.arguments]
    sort = json.strings(.sort) ?? []
    limit = json.int(.limit)
    offset = json.int(.offset) ?? 0
    select = try json[.select].map { value throws(RPCError) in try Self.selections(value) }
    after = json.string(.after)
    sectionBy = json.string(.sectionBy)
    include = json.strings(.include) ?? []
    groupBy = json.strings(.groupBy) ?? []
    having = json.string(.having)
    distinct = json.bool(.distinct)
    subentities = json[.subentities]?.bool ?? true
    form = json.string(.result).flatMap(Form.init) ?? .objects
    total = json.bool(.total)
    at = json.string(.at)
    asOf = json.string(.asOf)
    template = json.string(.template)
    value = json.string(.value)
    guard at == nil || asOf == nil else {
      throw RPCError(.invalidParams, "fetch: name either at or asOf")
    }
    guard (ids == nil) != entity.isEmpty else {
      throw RPCError(.invalidParams, "fetch: name either ids or an entity")
    }
    let count = json.members?.count ?? 0
    if ids != nil, count > 1, let other = Self.queryOnly.first(where: { json[$0] != nil }) {
      throw RPCError(.invalidParams, "fetch: \(other) does not go with ids")
    }
    let unfit = form == .values ? Self.objectsOnly : Self.valuesOnly
    if let other = unfit.first(where: { json[$0] != nil }) {
      throw RPCError(.invalidParams, "fetch: \(other) does not go with result \(form.rawValue)")
    }
    if after != nil, offset > 0 {
      throw RPCError(.invalidParams, "fetch: name either offset or after")
    }
  }

  package var json: JSONValue {
    .present([
      .ids: ids, .entity: entity.isEmpty ? nil : entity, .predicate: predicate,
      .arguments: arguments, .sort: sort.isEmpty ? nil : sort, .limit: limit,
      .offset: offset == 0 ? nil : offset, .select: select.map(Self.json), .template: template,
      .value: value, .after: after, .sectionBy: sectionBy,
      .include: include.isEmpty ? nil : include, .groupBy: groupBy.isEmpty ? nil : groupBy,
      .having: having, .distinct: distinct.ifTrue, .subentities: subentities ? nil : false,
      .result: form == .objects ? nil : form.rawValue, .total: total.ifTrue, .at: at,
      .asOf: asOf,
    ])
  }

  private static let queryOnly: [MemberName] = [
    .predicate, .arguments, .sort, .limit, .offset, .result, .total, .after, .sectionBy, .groupBy,
    .having, .distinct, .subentities,
  ]
  private static let valuesOnly: [MemberName] = [.groupBy, .having, .distinct]
  private static let objectsOnly: [MemberName] = [.include]

  /// Reads the member `select` of a method's params.
  static func selections(
    _ value: JSONValue,
    method: String = "fetch"
  ) throws(RPCError) -> [Selection] {
    let selections: [Selection]
    if let paths = value.array {
      selections = paths.compactMap(\.string)
        .map { Selection(path: $0) }
    } else {
      selections = (value.members ?? []).map { member in
        Selection(
          name: member.name,
          path: member.value.string ?? member.value[.path]?.string ?? "",
          fallback: member.value[.default]
        )
      }
    }
    guard Set(selections.map(\.name)).count == selections.count else {
      throw RPCError(.invalidParams, "\(method): select has a name twice")
    }
    return selections
  }

  /// Returns the member `select`.
  static func json(_ selections: [Selection]) -> JSONValue { Selection.json(selections) }

  /// The result of a fetch.
  package struct Result: WireObject {
    /// The history position of the result; nil if a mock's script omits the token.
    package let token: String?
    /// The objects, null for an ID without an object; nil for other forms of results.
    package let objects: [JSONValue]?
    /// The IDs; nil for other forms.
    package let ids: [String]?
    /// The number of objects; nil for other forms.
    package let count: Int64?
    /// The rows of values; nil for other forms.
    package let rows: [JSONValue]?
    /// The cursor for the next page; nil at the end.
    package let next: String?
    /// The sections of the whole result; nil for a result without sections.
    package let sections: [Section]?
    /// The included objects by ID; nil for none.
    package let included: [JSONMember]?
    /// The number of all matching objects, regardless of limit and offset; nil if not requested.
    package let total: Int64?
    /// The reasons why objects are null, by ID; nil for none.
    package let missing: [JSONMember]?

    package init(_ json: JSONValue) throws(RPCError) {
      token = json.string(.token)
      objects = json[.objects]?.array
      ids = try json.optionalTexts(.ids)
      count = json.integer(.count)
      rows = json[.rows]?.array
      next = json.string(.next)
      sections = try json.optionalList(.sections)
      included = json.members(.included)
      total = json.integer(.total)
      missing = json.members(.missing)
    }

    package var json: JSONValue {
      .present([
        .token: token, .objects: objects, .ids: ids, .count: count, .rows: rows, .next: next,
        .sections: sections, .included: MemberList(included), .total: total,
        .missing: MemberList(missing),
      ])
    }
  }

  /// A section of a sorted result.
  package struct Section: WireObject {
    /// The value of the section key.
    package let name: JSONValue
    /// The offset of the section's first object in the whole result.
    package let offset: Int64
    /// The number of objects in the section.
    package let count: Int64

    package init(_ json: JSONValue) throws(RPCError) {
      name = json[.name] ?? .null
      offset = try json.count(.offset)
      count = try json.count(.count)
    }

    package var json: JSONValue { .present([.name: name, .offset: offset, .count: count]) }
  }
}
