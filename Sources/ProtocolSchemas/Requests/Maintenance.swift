import CordialProtocol
import JSON
package import JSONRPC

/// `store/backup`: copies the store while clients use it.
package struct BackupCall: Call {
  package let path: String

  package static let method = Method.request(
    .backupStore,
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

  package init(_ params: Params) throws(RPCError) {
    var path = try params.text(.path)
    while path.utf8.count > 1, path.utf8.last == UInt8(ascii: "/") { path.removeLast() }
    self.path = path
    guard path.hasPrefix("/"), !path.utf8.contains(0) else {
      throw RPCError(.invalidParams, "store/backup: path is not an absolute path")
    }
  }
}

/// `store/verify`: checks that the store is consistent.
package struct VerifyCall: Call {
  package static let method = Method.request(
    .verifyStore,
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

  package init(_ params: Params) throws(RPCError) {}
}

/// `store/compact`: reclaims unused disk space.
package struct CompactCall: Call {
  package static let method = Method.request(
    .compactStore,
    "Reclaims unused disk space; saves wait meanwhile.",
    order: .write,
    hasTimeLimit: false,
    result: .object([
      .required(.before, .count, "the size before, in bytes"),
      .required(.after, .count, "the size after, in bytes"),
    ]),
    errors: [.storeFull, .storeReadOnly, .storeBusy]
  )

  package init(_ params: Params) throws(RPCError) {}
}
