import CordialProtocol
import JSON

/// Schemas that several methods share.
extension Schema {
  /// An object in the form of responses.
  static let storedObject = Schema.named(
    "StoredObject",
    .object([
      .required(.id, .wrappedID, "the object's wrapped ID"),
      .required(.version, .count, "the object's version, from 1"),
      .required(.values, .map(.any), "every attribute and to-one, or the selected values"),
    ])
  )

  /// The selected values: a list of paths, or paths by name.
  static let selection = Schema.named(
    "Selection",
    .either([
      .array(.string),
      .map(
        .either([
          .string,
          .object([
            .required(.path, .string, "a property, a key path, or a to-many with .@count"),
            .optional(.default, .any, "the value that replaces a missing one"),
          ]),
        ])
      ),
    ])
  )

  /// The values for `%@` and `%K`, or for `$names`, in a predicate.
  static let arguments = Schema.named("Arguments", .either([.array(.any), .map(.any)]))

  /// A section of a sorted result.
  static let section = Schema.named(
    "Section",
    .object([
      .required(.name, .any, "the section's value of the key"),
      .required(.offset, .count, "the offset of its first object in the whole result"),
      .required(.count, .count, "the number of its objects"),
    ])
  )

  /// The reason why an object of a list of IDs is null.
  static let missing = Schema.map(.choice(["deleted", "unknown"]))

  /// An error in a response, or at the end of a subscription.
  static let error = Schema.named(
    "Error",
    .object([
      .required(.code, .integer(-32_900...9999), "the code, which tells what happened"),
      .required(.message, .string, "one sentence for a person"),
      .optional(.data, .map(.any), "the name of the error, and what it is about"),
    ])
  )
}

/// The params of a fetch; `observe` accepts the same params.
enum FetchFields {
  static let all: [Field] = [
    .optional(.ids, .array(.wrappedID), "the objects to return, in this order"),
    .optional(.entity, .string, "the name of the entity"),
    .optional(.predicate, .string, "a condition in the NSPredicate format language"),
    .optional(
      .arguments,
      .arguments,
      "the values of %@ and %K, or of $names, in the predicate"
    ),
    .optional(.sort, .array(.string), "sort keys: \"title\", \"-priority\", \"title:localized\""),
    .optional(.limit, .integer(0...Int64(Int32.max)), "the maximum number of objects"),
    .optional(.offset, .integer(0...Int64(Int32.max)), "the number of objects to skip"),
    .optional(.select, .selection, "the values to return: a list of paths, or paths by name"),
    .optional(.template, .string, "a stored request of the model; sent params replace its params"),
    .optional(.value, .string, "a stored selection of the model, instead of select"),
    .optional(.after, .string, "the cursor from next: return the page after it"),
    .optional(.sectionBy, .string, "a key whose values divide the result into sections"),
    .optional(.include, .array(.string), "relationships whose objects are returned too"),
    .optional(.groupBy, .array(.string), "with result values: paths by whose values to group"),
    .optional(.having, .string, "with groupBy: a condition on groups, as @count > 1"),
    .optional(.distinct, .boolean, "with result values: return equal rows once"),
    .optional(.subentities, .boolean, "whether to include descendants' objects; default true"),
    .optional(.result, .choice(["objects", "ids", "count", "values"]), "the form of the result"),
    .optional(.total, .boolean, "whether to return the number without limit and offset"),
    .optional(.at, .token, "wait until at least this commit is visible"),
    .optional(.asOf, .token, "return the result of this past commit"),
  ]
}

/// The params of all methods that write.
enum WriteFields {
  static let author = Field.optional(.author, .string, "the author in the history")
  static let context = Field.optional(.context, .string, "the context in the history")
  static let durability = Field.optional(
    .durability,
    .choice(["full", "normal"]),
    "full: fsynced before the response"
  )
  /// `error`, `storeTrump`, `objectTrump`, `overwrite`, `rollback`, or a policy of the program.
  static let mergePolicy = Field.optional(
    .mergePolicy,
    .string,
    "error, storeTrump, objectTrump, overwrite, rollback, or a policy of the program"
  )
  static let returning = Field.optional(
    .returning,
    .choice(["ids"]),
    "return the IDs too"
  )
  static let dryRun = Field.optional(
    .dryRun,
    .boolean,
    "return what the request would do, and write nothing"
  )

  static let transaction = Field.optional(
    .transaction,
    .string,
    "a UUID from the client; a repeated request with it changes nothing"
  )

  /// The member that a dry run adds to the result of the call.
  static let dryRunResult = Field.optional(
    .dryRun,
    .object([
      .optional(.error, .error, "the error of the request: code, message and data"),
      .required(.delete, .array(.wrappedID), "the objects to delete, cascades included"),
      .required(.update, .array(.wrappedID), "the objects to update"),
      .required(.fire, .array(.string), "the connection's subscriptions that it could affect"),
      .required(.others, .count, "the number of other subscriptions that it could affect"),
    ]),
    "with dryRun: what the request would do"
  )
}
