import CordialProtocol
import JSON

/// `store/backup`: copies the store while clients use it.
extension BackupCall: DescribedCall {
  package static let method = Method.request(
    name,
    "Copies the store at one position to a new folder, while clients use it.",
    order: .any,
    hasTimeLimit: false,
    params: [.required(.path, .string, "the absolute path of a folder that does not exist")],
    result: .object([
      .required(.path, .string, "the path of the copy, which is a complete store"),
      .required(.token, .token, "the position of the copy in this store's history"),
      .required(.bytes, .count, "the size of the copy"),
    ]),
    example: ["path": "/backups/Packages-2026-01-31.cordial"],
    errors: [.storeFull, .storeCorrupt, .storeBusy]
  )
}

/// `store/verify`: checks that the store is consistent.
extension VerifyCall: DescribedCall {
  package static let method = Method.request(
    name,
    "Checks the file, relationships, counts, derived values, and the history against objects.",
    order: .read,
    hasTimeLimit: false,
    result: .object([
      .required(.token, .token, "the checked position"),
      .required(.checked, .count, "the number of checked objects"),
      .required(
        .problems,
        .array(
          .object([
            .required(.what, .string, "the kind: file, schema, dangling, count, version, …"),
            .required(.message, .string, "the problem, in one sentence"),
            .optional(.id, .wrappedID, "the object"),
            .optional(.property, .string, "the property"),
          ])
        ),
        "the problems, at most 1000"
      ),
      .optional(
        .foreign,
        .array(
          .object([
            .required(.what, .string, "the kind: table, index, trigger or view"),
            .required(.name, .string, "its name"),
          ])
        ),
        "what other programs added to the file, which stays"
      ),
    ]),
    errors: [.storeCorrupt]
  )
}

/// `store/compact`: reclaims unused disk space.
extension CompactCall: DescribedCall {
  package static let method = Method.request(
    name,
    "Reclaims unused disk space; saves wait meanwhile.",
    order: .write,
    hasTimeLimit: false,
    result: .object([
      .required(.before, .count, "the size before, in bytes"),
      .required(.after, .count, "the size after, in bytes"),
    ]),
    errors: [.storeFull, .storeReadOnly, .storeBusy]
  )
}
