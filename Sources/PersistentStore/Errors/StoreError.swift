import CordialValues
package import Interruptions
package import JSON
package import ObjectModel
package import SQLite

/// An error of the store.
package struct StoreError: Error, Sendable {
  /// The stable names of the protocol's errors.
  package enum Code: String, Sendable, CaseIterable {
    case modelInvalid, unknownEntity, unknownProperty, predicateInvalid, modelMismatch
    case objectNotFound, validationFailed, saveConflict, invalidIdentifier, uniquenessViolation
    case deleteDenied, historyExpired, limitExceeded
    /// The time limit of the request has passed.
    case timedOut
    /// The client cancelled the request or closed the connection.
    case cancelled
    case storeBusy, storeFull, storeCorrupt, storeReadOnly
    /// A request that is well-formed but has no meaning, such as a sort key that is not a property.
    case invalidRequest
    /// The store's files cannot be used: they are missing, not a store, or not accessible.
    case cannotOpen
    /// The service is stopping.
    case closed
    /// A fault that no other code describes.
    case internalError
  }

  package let code: Code
  /// One sentence that names the failure and its object.
  package let message: String
  /// The advice for the user, nil if there is none.
  package let hint: StoreHint?
  /// The data for programs, in the protocol's form for the code.
  package let data: [JSONMember]
  /// Every problem of a save that was refused.
  package let problems: [SaveProblem]

  package init(
    _ code: Code,
    _ message: String,
    hint: StoreHint? = nil,
    data: [JSONMember] = [],
    problems: [SaveProblem] = []
  ) {
    self.code = code
    self.message = message
    self.hint = hint
    self.data = data
    self.problems = problems
  }
}

extension StoreError {
  /// Creates the error for an error of SQLite.
  package init(_ error: SQLiteError) {
    let message = error.message ?? "code \(error.extendedCode.rawValue)"
    switch error.code {
    case .busy, .locked:
      self.init(
        .storeBusy,
        "Another process kept the store locked for too long",
        hint: "Try again"
      )
    case .error where message.contains("tables in a join"):
      self.init(
        .limitExceeded,
        "SQLite joins fewer tables than the request needs: \(message)",
        hint: "Use fewer to-ones in key paths, or fewer to-manys inside one another"
      )
    case .full:
      self.init(.storeFull, "The disk or the store is full", hint: "Free disk space and save again")
    case .inputOutput
    where [.inputOutputWrite, .inputOutputSharedMemorySize].contains(error.extendedCode):
      self.init(
        .storeFull,
        "The store's file cannot grow: \(message) (the disk may be full)",
        hint: "A quota or a limit of file sizes may be reached; free disk space and save again"
      )
    case _ where error.isDamage || error.extendedCode == .inputOutputShortRead:
      self.init(
        .storeCorrupt,
        "The store's file is damaged: \(message)",
        hint: "Restore a backup"
      )
    case .readOnly, .permission:
      self.init(.storeReadOnly, "The store cannot be written: \(message)")
    case .cannotOpen where error.lacksDescriptors:
      self.init(
        .storeBusy,
        "The process has no file descriptor left to open the store's file",
        hint: "Try again later, or raise the limit of open files"
      )
    case .cannotOpen:
      self.init(.cannotOpen, "The store's file cannot be opened: \(message)")
    case .interrupted:
      self.init(.limitExceeded, "The request was aborted: \(message)", hint: "Simplify the request")
    case .constraint
    where error.extendedCode == .constraintPrimaryKey && message.hasSuffix("._id")
      || message.contains(" failed: cordial_"):
      self.init(
        .storeCorrupt,
        "The store's file is damaged: a new number is taken (\(message))",
        hint: .examineDamage
      )
    case .constraint where [.constraintNotNull, .constraintCheck].contains(error.extendedCode):
      // Cordial checks values before it binds them, and never stores null in a derived count. Only
      // a changed table or trigger can therefore violate these constraints.
      self.init(
        .storeCorrupt,
        "The store's file is damaged: a column or a trigger is not that of the model (\(message))",
        hint: .examineDamage
      )
    case .constraint where error.extendedCode == .constraintDatatype:
      // Cordial checks values before it binds them. Only the sum of a derived attribute, which
      // SQLite computes, can therefore exceed the range of its integer column.
      let place = message.split(separator: " ").last.map(String.init) ?? ""
      self.init(
        .validationFailed,
        "The sum in the derived attribute \(place) exceeds 64 bits",
        hint: "Nothing was written",
        problems: [.invalid("", place, "derived", message)]
      )
    case .error
    where message.hasPrefix("parser stack overflow") || message.hasPrefix("Expression tree"):
      self.init(.limitExceeded, "The request is nested too deep: \(message)", hint: "Simplify it")
    case .error
    where Self.damageMessages.contains(where: { message.hasPrefix($0) }):
      self.init(
        .storeCorrupt,
        "The store's file is damaged: \(message)",
        hint: "Restore a backup"
      )
    case .tooBig:
      self.init(.limitExceeded, "A value or statement is larger than SQLite accepts")
    default:
      self.init(.internalError, "SQLite reported: \(message)")
    }
  }

  /// The beginnings of SQLite's messages about a damaged file: a table or column of the model is
  /// missing, or the log has no valid JSON.
  ///
  /// Requests cannot cause these messages, because statements use only names of the model and bind
  /// their arguments.
  private static let damageMessages = [
    "no such table", "no such column", "malformed JSON", "unsupported file format",
  ]

  /// Creates the error for any other error.
  package init(any error: any Error) {
    switch error {
    case let error as StoreError: self = error
    case let error as SQLiteError: self.init(error)
    case let error as Interrupted: self.init(error)
    case let error as PredicateError: self.init(error)
    case let error as RepeatedObject:
      self.init(
        .storeCorrupt,
        "The store's file is damaged: a result has object \(error.number) twice",
        hint: .examineDamage
      )
    case let error as ModelError: self.init(.modelInvalid, "A model is invalid: \(error.message)")
    default: self.init(.internalError, "\(error)")
    }
  }

  /// Creates the error of work that was stopped.
  package init(_ error: Interrupted) {
    switch error.reason {
    case .cancelled, .disconnected: self.init(.cancelled, "The request was cancelled")
    case .closing: self.init(.closed, "The service is stopping")
    case .timedOut:
      let seconds = error.secondsMax ?? 0
      let whole = Int64(exactly: seconds)
      self.init(
        .timedOut,
        "The request took longer than \(whole.map(String.init) ?? "\(seconds)") s",
        hint: "Ask for less at once, or send a greater timeoutSeconds where the limits allow it",
        data: [JSONMember("seconds", whole.map(JSONValue.integer) ?? .number(seconds))]
      )
    }
  }

  /// Creates the error of an invalid predicate.
  init(_ error: PredicateError) {
    guard !error.isOfArgument else {
      self.init(.invalidRequest, "The argument at \(error.offset) is wrong: \(error.expected)")
      return
    }
    self.init(
      .predicateInvalid,
      error.message,
      data: [
        JSONMember("offset", .integer(Int64(error.offset))),
        JSONMember("expected", .string(error.expected)),
      ]
    )
  }

  /// Returns a client's text, shortened for use in a response.
  static func short(_ text: String) -> String {
    text.utf8.count <= 200 ? text : text.excerpt + "…"
  }

  /// Returns the error of a store whose file was removed, replaced or shortened while it was open.
  static func storeGone(_ path: String) -> StoreError {
    StoreError(
      .storeCorrupt,
      "\(path) is no longer the file that this service opened: "
        + "it was removed, replaced or shortened, or its folder was closed",
      hint: "Nothing can be saved; stop the service, check the store, then start the service again"
    )
  }

  /// Returns the error for a token whose commit the store cannot show.
  static func noCommit(_ token: StoreToken, oldest: StoreToken) -> StoreError {
    StoreError(
      .historyExpired,
      "The store has no commit \(token)",
      hint: .readAgain,
      data: [JSONMember("oldest", .string(oldest.description))]
    )
  }

  /// Returns the error of a write that would hold too many objects in memory.
  ///
  /// - Parameters:
  ///   - limit: The name of the limit, without `Max`.
  ///   - max: The limit.
  ///   - what: The limited items, such as `objects`.
  ///   - hint: The advice for the client.
  /// - Returns: The error.
  static func tooMany(
    _ limit: String,
    _ max: Int,
    _ what: String,
    hint: String = "Nothing was written; write in portions, as by ranges of a value"
  ) -> StoreError {
    StoreError(
      .limitExceeded,
      "One write has at most \(max) \(what)",
      hint: .text(hint),
      data: [JSONMember("limit", .string(limit)), JSONMember("max", .integer(Int64(max)))]
    )
  }

  /// Returns the error of an `include` path that names no relationship of an entity.
  package static func noRelationship(
    _ name: String,
    of entity: EntityDescription,
    in path: String
  ) -> StoreError {
    StoreError(
      .unknownProperty,
      "\(entity.name) has no relationship \(short(name)) to include",
      data: [JSONMember("property", .string(short(path)))]
    )
  }

  /// Returns the error of a name that no entity of a model has.
  package static func unknownEntity(_ sent: String, in model: Model) -> StoreError {
    let name = short(sent)
    return StoreError(
      .unknownEntity,
      "The model has no entity \(name)",
      hint: "It has \(model.entities.map(\.name).joined(separator: ", "))",
      data: [JSONMember("entity", .string(name))]
    )
  }

  static func unknownProperty(_ sent: String, of entity: EntityDescription) -> StoreError {
    let name = short(sent)
    guard !entity.transients.contains(sent) else {
      let keepers = entity.computed(named: sent).map { "the function \($0.function) computes it" }
      return StoreError(
        .unknownProperty,
        "\(entity.name).\(name) is transient: \(keepers ?? "only clients keep it"), and it is not "
          + "stored",
        data: [JSONMember("entity", .string(entity.name)), JSONMember("property", .string(name))]
      )
    }
    if let error = unknownMember(sent, of: entity) { return error }
    return StoreError(
      .unknownProperty,
      "\(entity.name) has no property \(name)",
      hint: "It has \(entity.propertyNames.joined(separator: ", "))",
      data: [JSONMember("entity", .string(entity.name)), JSONMember("property", .string(name))]
    )
  }

  /// Returns the error of a path that ends at a composite, or continues with an unknown member of
  /// the composite; nil for other paths.
  private static func unknownMember(_ sent: String, of entity: EntityDescription) -> StoreError? {
    // A client may send a name with millions of dots. The search therefore compares the name with
    // each composite, and does not look up each prefix of the name.
    let candidates = entity.composites.filter { composite in
      sent.utf8.starts(with: composite.name.utf8)
        && [nil, UInt8(ascii: ".")].contains(sent.utf8.dropFirst(composite.name.utf8.count).first)
    }
    guard let composite = candidates.max(by: { $0.name.utf8.count < $1.name.utf8.count }) else {
      return nil
    }
    let isWhole = composite.name == sent
    return StoreError(
      .unknownProperty,
      isWhole
        ? "\(entity.name).\(composite.name) is a composite; name one of its members here"
        : "\(entity.name).\(composite.name) has no member "
          + short(String(sent.dropFirst(composite.name.count + 1))),
      hint: "It has \(composite.members.map(composite.path).joined(separator: ", "))",
      data: [
        JSONMember("entity", .string(entity.name)), JSONMember("property", .string(short(sent))),
      ]
    )
  }

  static func invalidIdentifier(_ sent: String, _ reason: String) -> StoreError {
    let text = short(sent)
    return StoreError(
      .invalidIdentifier,
      "\"\(text)\" is not a valid ID here: \(reason)",
      hint: "An ID looks like Entity/p17",
      data: [JSONMember("id", .string(text))]
    )
  }

  static func objectNotFound(_ sent: String) -> StoreError {
    let id = short(sent)
    return StoreError(
      .objectNotFound,
      "There is no object \(id)",
      hint: "It may have been deleted; fetch it again",
      data: [JSONMember("id", .string(id))]
    )
  }
}
