import CordialProtocol
import CordialValues
package import JSON
package import JSONRPC

/// `fetch`: reads objects by ID, or the objects of an entity that match a predicate.
package struct FetchCall: Call {
  /// A selected value.
  package struct Selection: Sendable, Equatable {
    package let name: String
    package let path: String
    package let fallback: JSONValue?
  }

  /// The form of the result.
  package enum Result: String, Sendable, Equatable {
    case objects, ids, count, values
  }

  /// The IDs of the requested objects, nil for a query.
  package let ids: [String]?
  package let entity: String
  package let predicate: String?
  package let arguments: JSONValue?
  package let sort: [String]
  package let limit: Int?
  package let offset: Int
  package let select: [Selection]?
  package let after: String?
  package let sectionBy: String?
  package let include: [String]
  package let groupBy: [String]
  package let having: String?
  package let distinct: Bool
  package let subentities: Bool
  package let result: Result
  package let total: Bool
  package let at: String?
  /// The past commit whose state is read; nil for the newest one.
  package let asOf: String?

  package static let method = Method.request(
    .fetch,
    "Reads objects by their IDs, or the objects of an entity that match a predicate.",
    order: .read,
    traits: [.isScripted, .overtakesIfSmall],
    params: FetchFields.all,
    result: .object([
      .required(.token, .token, "the position of the result"),
      .optional(.objects, .array(.nullable(.storedObject)), "null for an ID without an object"),
      .optional(.ids, .array(.wrappedID), "with result ids: the IDs"),
      .optional(.count, .count, "with result count: the number"),
      .optional(.rows, .array(.map(.any)), "with result values: the rows"),
      .optional(.next, .string, "with limit: the cursor for the next page, absent at the end"),
      .optional(.sections, .array(.section), "with sectionBy: the sections of the whole result"),
      .optional(.included, .map(.storedObject), "with include: objects by ID, each once"),
      .optional(.total, .count, "with total: the number without limit and offset"),
      .optional(.missing, .missing, "why each object is null, by ID"),
    ]),
    example: [
      "entity": "Package", "predicate": "section.name == $s", "arguments": ["s": "web"],
      "sort": ["name"], "limit": 3,
    ],
    errors: [
      .unknownEntity, .unknownProperty, .predicateInvalid, .invalidIdentifier,
      .historyExpired, .limitExceeded,
    ]
  )

  /// Replaces the names of a stored request and of a stored selection by their contents.
  ///
  /// - Parameters:
  ///   - params: The params of the message, checked or not.
  ///   - template: Returns the params of the stored request of that name, nil when there is none.
  ///   - selection: Returns the `select` of the stored selection of that name and entity.
  /// - Returns: The params without names of stored requests and selections.
  /// - Throws: `RPCError` with the code `invalidParams` for a name that the model does not have.
  package static func expand(
    _ params: JSONValue,
    template: (String) -> [JSONMember]?,
    selection: (_ name: String, _ entity: String) -> JSONValue?
  ) throws(RPCError) -> JSONValue {
    guard params[.template] != nil || params[.value] != nil, var members = params.members else {
      return params
    }
    if let name = params[.template]?.string {
      guard let stored = template(name) else {
        throw RPCError(.invalidParams, "fetch: the model has no template \(name.excerpt)")
      }
      members.removeAll { $0.isOne(of: .template) }
      let sent = Set(members.map(\.name))
      members = stored.filter { !sent.contains($0.name) } + members
    }
    let whole = JSONValue.object(members)
    guard let name = whole[.value]?.string else { return whole }
    guard whole[.select] == nil else {
      throw RPCError(.invalidParams, "fetch: name either a value or a select")
    }
    guard let select = selection(name, whole[.entity]?.string ?? "") else {
      throw RPCError(
        .invalidParams,
        "fetch: the model has no value \(name.excerpt) of that entity"
      )
    }
    return .object(members.filter { !$0.isOne(of: .value) } + [JSONMember(.select, select)])
  }

  package init(_ params: Params) throws(RPCError) {
    ids = params.strings(.ids)
    entity = params.string(.entity) ?? ""
    predicate = params.string(.predicate)
    arguments = params[.arguments]
    sort = params.strings(.sort) ?? []
    limit = params.int(.limit)
    offset = params.int(.offset) ?? 0
    select = try params[.select].map { value throws(RPCError) in try Self.selections(value) }
    after = params.string(.after)
    sectionBy = params.string(.sectionBy)
    include = params.strings(.include) ?? []
    groupBy = params.strings(.groupBy) ?? []
    having = params.string(.having)
    distinct = params.bool(.distinct)
    subentities = params[.subentities]?.bool ?? true
    result = params.string(.result).flatMap(Result.init(rawValue:)) ?? .objects
    total = params.bool(.total)
    at = params.string(.at)
    asOf = params.string(.asOf)
    guard at == nil || asOf == nil else {
      throw RPCError(.invalidParams, "fetch: name either at or asOf")
    }
    guard (ids == nil) != entity.isEmpty else {
      throw RPCError(.invalidParams, "fetch: name either ids or an entity")
    }
    if ids != nil, params.count > 1, let other = Self.queryOnly.first(where: { params[$0] != nil })
    {
      throw RPCError(.invalidParams, "fetch: \(other) does not go with ids")
    }
    let unfit = result == .values ? Self.objectsOnly : Self.valuesOnly
    if let other = unfit.first(where: { params[$0] != nil }) {
      throw RPCError(
        .invalidParams,
        "fetch: \(other) does not go with result \(result.rawValue)"
      )
    }
    if after != nil, offset > 0 {
      throw RPCError(.invalidParams, "fetch: name either offset or after")
    }
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
        .map { Selection(name: $0, path: $0, fallback: nil) }
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
}
