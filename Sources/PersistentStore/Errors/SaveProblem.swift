package import JSON

/// One reason why a save was refused.
package struct SaveProblem: Sendable, Equatable {
  /// The error code.
  ///
  /// If all problems of a save have the same code, the response has this code too.
  package let code: StoreError.Code
  /// The rule that is violated, as the protocol names it.
  package let rule: String
  /// The ID that the client sent.
  package let id: String
  package let property: String?
  /// A sentence for a person.
  package let message: String
  package let hint: StoreHint?
  /// The error data for the code, as the protocol lists it.
  package let details: [JSONMember]

  init(
    _ code: StoreError.Code,
    _ rule: String,
    _ id: String,
    _ property: String?,
    _ message: String,
    hint: StoreHint? = nil,
    details: [JSONMember] = []
  ) {
    self.code = code
    self.rule = rule
    self.id = id
    self.property = property
    self.message = message
    self.hint = hint
    self.details = details
  }

  /// Returns the problem of a value or count that the model does not allow.
  static func invalid(
    _ id: String,
    _ property: String?,
    _ rule: String,
    _ message: String
  ) -> SaveProblem {
    SaveProblem(.validationFailed, rule, id, property, message)
  }

  /// Returns the problem of a position outside an ordered to-many with `count` other members.
  static func invalidPosition(
    _ position: Int,
    of count: Int,
    in property: String,
    of id: String
  ) -> SaveProblem {
    .invalid(id, property, "place", "\(property) has the positions 0 to \(count), not \(position)")
  }

  /// Returns whether two problems report that the same object violates the same unique set.
  func isSameViolation(as other: SaveProblem) -> Bool {
    code == .uniquenessViolation && other.code == code && id == other.id
      && details.first { $0.name == "properties" }
        == other.details.first { $0.name == "properties" }
  }

  /// Creates the problem for a store error that concerns one object of the request.
  init(_ error: StoreError, rule: String, id: String, property: String? = nil) {
    self.init(
      error.code,
      rule,
      id,
      property,
      error.message,
      hint: error.hint,
      details: error.data.filter { $0.name != "id" && $0.name != "property" }
    )
  }
}

/// The problems of a save, up to a maximum number.
package struct ProblemList {
  /// The problems, in the order in which they were found.
  package private(set) var problems: [SaveProblem] = []

  /// The maximum number of reported problems.
  package static let problemsMax = 1000

  /// Creates a list without problems.
  package init() {}

  var isEmpty: Bool { problems.isEmpty }
  var count: Int { problems.count }
  var isFull: Bool { problems.count >= Self.problemsMax }

  /// Adds a problem, unless the list is full.
  package mutating func add(_ problem: SaveProblem) {
    guard !isFull else { return }
    problems.append(problem)
  }

  /// The problems that a response about save conflicts also reports.
  ///
  /// These problems depend only on the names and IDs in the request, and not on the values of the
  /// conflicting objects.
  var ofTheRequest: [SaveProblem] {
    problems.filter {
      [.unknownEntity, .unknownProperty, .objectNotFound, .invalidIdentifier].contains($0.code)
    }
  }

  /// The error that reports all problems; nil when there are none.
  package var error: StoreError? {
    guard let first = problems.first else { return nil }
    let haveSameCode = problems.allSatisfy { $0.code == first.code }
    let code = haveSameCode ? first.code : .validationFailed
    let more = problems.count == 1 ? "" : " (and \(problems.count - 1) more)"
    var data: [JSONMember] = []
    if haveSameCode, code != .validationFailed {
      if code != .unknownEntity { data.append(JSONMember("id", .string(first.id))) }
      if let property = first.property, code == .unknownProperty {
        data.append(JSONMember("property", .string(property)))
      }
      data += first.details
    }
    let namesID = code == .validationFailed
    return StoreError(
      code,
      (namesID && !first.id.isEmpty ? "\(first.id): " : "") + first.message + more,
      hint: haveSameCode && first.hint != nil
        ? first.hint : "Nothing was written; data.problems lists everything",
      data: data,
      problems: problems
    )
  }
}

extension SaveProblem {
  /// Returns the problem as an element of `data.problems`.
  ///
  /// - Parameter code: The number of the problem's code in the protocol.
  /// - Returns: The members that the protocol lists.
  package func json(code: Int) -> JSONValue {
    var members = [
      JSONMember("code", .integer(Int64(code))), JSONMember("rule", .string(rule)),
      JSONMember("id", .string(id)),
    ]
    if let property { members.append(JSONMember("property", .string(property))) }
    members += details
    members.append(JSONMember("message", .string(message)))
    return .object(members)
  }
}
