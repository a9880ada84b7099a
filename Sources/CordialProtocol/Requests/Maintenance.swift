import JSON
package import JSONRPC

/// `store/backup`: copies the store while clients use it.
package struct BackupCall: Call {
  package let path: String

  package static let method = Method.request(
    "store/backup",
    "Copies the store to a new folder, as it is at one moment, while it is used.",
    order: .any,
    params: [.required("path", .string, "the absolute path of a folder that is not there")],
    result: .object([
      .required("path", .string, "the copy: a store that can be opened where it lies"),
      .required("token", .token, "the position in this store's history that it shows"),
      .required("bytes", .count, "its size"),
    ]),
    example: ["path": "/backups/Packages-2026-01-31.cordial"],
    errors: [.storeFull, .storeCorrupt, .storeBusy]
  )

  package init(_ params: Params) throws(RPCError) {
    var path = params.string("path") ?? ""
    while path.count > 1, path.hasSuffix("/") { path.removeLast() }
    self.path = path
    guard path.hasPrefix("/"), !path.utf8.contains(0) else {
      throw RPCError(.invalidParams, "store/backup: path is no absolute path")
    }
  }
}

/// `store/verify`: checks that the store is consistent.
package struct VerifyCall: Call {
  package static let method = Method.request(
    "store/verify",
    "Looks at the file, relationships, counts, derived values, and history against objects.",
    order: .read,
    result: .object([
      .required("token", .token, "the position that was looked at"),
      .required("checked", .count, "how many objects"),
      .required(
        "problems",
        .array(
          .object([
            .required("what", .string, "the kind: file, dangling, count, version, history, …"),
            .required("message", .string, "one sentence"),
            .optional("id", .wrappedID, "the object"),
            .optional("property", .string, "the property"),
          ])
        ),
        "what is wrong, at most 1000"
      ),
    ]),
    errors: [.storeCorrupt]
  )

  package init(_ params: Params) throws(RPCError) {}
}

/// `store/compact`: reclaims unused disk space.
package struct CompactCall: Call {
  package static let method = Method.request(
    "store/compact",
    "Gives the room back that nothing takes up any more; saves wait meanwhile.",
    order: .write,
    result: .object([
      .required("before", .count, "the bytes before"),
      .required("after", .count, "the bytes after"),
    ]),
    errors: [.storeFull, .storeReadOnly, .storeBusy]
  )

  package init(_ params: Params) throws(RPCError) {}
}
