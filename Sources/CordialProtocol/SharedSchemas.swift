import CordialValues
import JSON
import JSONRPC

/// Schemas that several methods share.
extension Schema {
  /// An object as responses contain it.
  static let storedObject = Schema.object([
    .required("id", .wrappedID, "its wrapped ID"),
    .required("version", .count, "counts its own changes, from 1"),
    .required("values", .map(.any), "every attribute and to-one, or what was selected"),
  ])

  /// The selected values: a list of paths, or paths by name.
  static let selection = Schema.either([
    .array(.string),
    .map(
      .either([
        .string,
        .object([
          .required("path", .string, "a property, a key path, or a to-many with .@count"),
          .optional("default", .any, "what stands for a missing value"),
        ]),
      ])
    ),
  ])
}

/// The params of a fetch, which `observe` accepts too.
enum FetchFields {
  static let all: [Field] = [
    .optional("ids", .array(.wrappedID), "the wanted objects, in this order"),
    .optional("entity", .string, "the name of the entity"),
    .optional("predicate", .string, "a condition in the NSPredicate format language"),
    .optional(
      "arguments",
      .either([.array(.any), .map(.any)]),
      "what %@ and %K, or $names, of the predicate stand for"
    ),
    .optional("sort", .array(.string), "keys: \"title\", \"-priority\", \"title:localized\""),
    .optional("limit", .integer(0...Int64(Int32.max)), "how many objects at most"),
    .optional("offset", .integer(0...Int64(Int32.max)), "how many objects to pass over"),
    .optional("select", .selection, "the wanted values: a list of paths, or name to path"),
    .optional("template", .string, "a request of the model, whose params those sent here replace"),
    .optional("value", .string, "a selection of the model, in the place of select"),
    .optional("after", .string, "the cursor that came as next: begin behind that page"),
    .optional("sectionBy", .string, "a key by whose values the result falls into sections"),
    .optional("include", .array(.string), "relationships whose objects are answered along"),
    .optional("groupBy", .array(.string), "with result values: paths whose values make a group"),
    .optional("having", .string, "with groupBy: a condition on groups, as @count > 1"),
    .optional("distinct", .boolean, "with result values: equal rows once"),
    .optional("subentities", .boolean, "whether objects of its descendants count; true"),
    .optional("result", .choice(["objects", "ids", "count", "values"]), "the form of the answer"),
    .optional("total", .boolean, "whether to answer the number without window too"),
    .optional("at", .token, "wait until at least this commit is visible"),
  ]
}

/// The params of all methods that write.
enum WriteFields {
  static let author = Field.optional("author", .string, "who is entered in the history")
  static let context = Field.optional("context", .string, "what for, entered in the history")
  static let durability = Field.optional(
    "durability",
    .choice(["full", "normal"]),
    "full: fsynced before the answer"
  )
  /// `error`, `storeTrump`, `objectTrump`, `overwrite`, `rollback`, or a policy of the program.
  static let mergePolicy = Field.optional(
    "mergePolicy",
    .string,
    "error, storeTrump, objectTrump, overwrite, rollback, or one of the program's own"
  )
  static let returning = Field.optional(
    "returning",
    .choice(["ids"]),
    "answer the IDs too"
  )
  static let dryRun = Field.optional(
    "dryRun",
    .boolean,
    "answer what it would do, and write nothing"
  )

  static let transaction = Field.optional(
    "transaction",
    .string,
    "a UUID of the client's: sent again, nothing is changed twice"
  )

  /// Returns the transaction that the params name, in lower case, nil when they name none.
  ///
  /// - Throws: `RPCError` with the code `invalidParams` for a text that is not a UUID.
  static func transaction(of method: String, _ params: Params) throws(RPCError) -> String? {
    guard let text = params.string("transaction") else { return nil }
    guard let uuid = UUIDText.canonical(text) else {
      throw RPCError(
        .invalidParams,
        "\(method): transaction is a UUID, as 0b1f7a52-6d0e-4f5c-9a57-3c8f0e1d2b4a, "
          + "not \"\(text.prefix(100))\""
      )
    }
    return uuid
  }

  /// The member that a dry run adds to the result of the call.
  static let rehearsal = Field.optional(
    "dryRun",
    .object([
      .optional("error", .any, "why it would fail: code, message and data"),
      .required("delete", .array(.wrappedID), "what would be gone, cascades included"),
      .required("update", .array(.wrappedID), "what would be changed"),
      .required("fire", .array(.string), "the connection's own subscriptions that it can concern"),
      .required("others", .count, "how many subscriptions of others it can concern"),
    ]),
    "what it would do; only of a dry run"
  )
}
