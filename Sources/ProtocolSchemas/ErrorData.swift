package import CordialProtocol

/// The details of an error beyond its code and its message.
extension ErrorName {
  /// The schema of `data`: the name of the error, a hint for a person, and details.
  package var data: Schema {
    let common: [Field] = [
      .required(.code, .choice([rawValue]), "the name of the error"),
      .optional(.hint, .string, "what a person can do"),
    ]
    let name = rawValue.prefix(1).uppercased() + rawValue.dropFirst() + "Data"
    return .named(name, .object(common + details))
  }

  private var details: [Field] {
    switch self {
    case .modelInvalid: [.optional(.problems, .array(.modelProblem), "what is wrong, and where")]
    case .modelMismatch:
      [
        .optional(.problems, .array(.modelProblem), "why the models do not fit"),
        .optional(
          .nearest,
          .array(
            .object([
              .required(.version, .string, "a version of the chain"),
              .required(.differences, .array(.string), "how the store's model differs from it"),
            ])
          ),
          "the versions that are most like the store's model"
        ),
      ]
    case .unknownEntity:
      [.optional(.entity, .string, "the name that was sent"), Self.problems]
    case .unknownProperty:
      [
        .optional(.entity, .string, "the entity"),
        .required(.property, .string, "the name or path that was sent"), Self.id, Self.problems,
      ]
    case .predicateInvalid:
      [
        .optional(.offset, .count, "the offset of the error in the text, in bytes of UTF-8"),
        .optional(.expected, .string, "what was expected there"),
      ]
    case .objectNotFound, .invalidIdentifier: [Self.id, Self.problems]
    case .validationFailed: [Self.problems]
    case .saveConflict:
      [.optional(.conflicts, .array(.conflict), "each conflict"), Self.problems]
    case .uniquenessViolation: [Self.id] + ProblemFields.uniqueness + [Self.problems]
    case .deleteDenied: [Self.id] + ProblemFields.denial + [Self.problems]
    case .historyExpired:
      [.optional(.oldest, .token, "the oldest position that the history has")]
    case .limitExceeded:
      [
        .optional(.limit, .string, "the name of the limit, as initialize announces it"),
        .optional(.max, .count, "the limit"),
      ]
    case .timedOut: [.required(.seconds, .number, "the time limit, in seconds")]
    case .storeBusy:
      [.optional(.migrating, .map(.any), "the progress of a migration, as in status")]
    case .unknownSubscription, .storeFull, .storeCorrupt, .storeReadOnly: []
    }
  }

  private static let id = Field.optional(.id, .string, "the ID that was sent")
  private static let problems = Field.optional(
    .problems,
    .array(.problem),
    "everything that is wrong, at most 1,000 problems"
  )
}

/// The members that only some kinds of problems have.
private enum ProblemFields {
  static let uniqueness: [Field] = [
    .optional(.properties, .array(.string), "the properties whose values are taken"),
    .optional(.existing, .string, "the object that has them"),
  ]
  static let denial: [Field] = [
    .optional(.relationship, .string, "the relationship that denies the deletion"),
    .optional(.holders, .array(.wrappedID), "objects that are still in it"),
  ]
}

extension Schema {
  /// One reason why a save was refused.
  fileprivate static let problem = Schema.named(
    "Problem",
    .object(
      [
        .required(.code, .integer(-32_900...9999), "the code of this problem alone"),
        .required(.rule, .string, "the rule that is violated"),
        .required(.id, .string, "the ID that was sent, or the place of the change"),
        .optional(.property, .string, "the property"),
        .required(.message, .string, "one sentence for a person"),
        .optional(.entity, .string, "the entity"),
      ] + ProblemFields.uniqueness + ProblemFields.denial
    )
  )

  /// A difference between an object as a client knew it and the stored object.
  fileprivate static let conflict = Schema.named(
    "Conflict",
    .object([
      .required(.id, .wrappedID, "the object"),
      .required(.property, .nullable(.string), "the property; null for the object itself"),
      .optional(.base, .any, "the value that the client knew"),
      .optional(.store, .any, "the value that the store has"),
      .optional(.client, .any, "the value that the client sent"),
      .required(.version, .nullable(.count), "the version that the store has; null for none"),
    ])
  )

  /// A problem of a model, with its path in the model.
  fileprivate static let modelProblem = Schema.named(
    "ModelProblem",
    .object([
      .required(.path, .string, "the place in the model"),
      .required(.message, .string, "one sentence for a person"),
      .optional(
        .examples,
        .array(
          .object([
            .required(.id, .wrappedID, "an object"), .required(.value, .any, "its value"),
          ])
        ),
        "objects whose values prevent a migration"
      ),
      .optional(.count, .count, "the number of such objects"),
    ])
  )
}
