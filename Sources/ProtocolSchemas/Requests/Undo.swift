import CordialProtocol
import JSON
package import JSONRPC

/// The params of `undo` and `redo`.
package struct RevertParams: Sendable {
  /// The number of groups to revert.
  package let count: Int
  /// The author whose groups are reverted, nil for the author of the connection.
  package let author: String?
  /// The context of the groups, nil for groups of every context.
  package let context: String?
  package let mergePolicy: String?
  package let isDurable: Bool
  package let isDryRun: Bool
  package let transaction: String?

  fileprivate init(_ params: Params, method: String) throws(RPCError) {
    count = params.int(.count) ?? 1
    author = try WriteFields.limited(params.string(.author), "author", method)
    context = try WriteFields.context(of: params, in: method)
    mergePolicy = params.string(.mergePolicy)
    isDurable = params.string(.durability) != "normal"
    isDryRun = params.bool(.dryRun)
    transaction = try WriteFields.transaction(of: method, params)
  }

  fileprivate static func method(_ name: MethodName, _ summary: String) -> Method {
    Method.request(
      name,
      summary,
      order: .write,
      traits: [.isScripted],
      params: [
        .optional(.count, .integer(1...1000), "the number of groups; 1 when absent"),
        .optional(.author, .string, "the author; requests without one share one undo stack"),
        .optional(.context, .string, "revert only groups of this context"),
        .optional(
          .mergePolicy,
          .choice(["error", "storeTrump"]),
          "storeTrump: keep later changes of other saves, and revert the rest"
        ),
        WriteFields.durability, WriteFields.dryRun, WriteFields.transaction,
      ],
      result: .object([
        .required(.token, .token, "the position after the undo or redo"),
        .required(.undone, .count, "the number of reverted groups; 0 if there was none"),
        .required(
          .objects,
          .array(
            .object([
              .required(.id, .wrappedID, "the object"),
              .optional(.version, .count, "the new version"),
              .optional(.values, .map(.any), "the restored values"),
              .optional(.deleted, .boolean, "whether the object is deleted now"),
            ])
          ),
          "the reverted objects"
        ),
        WriteFields.dryRunResult,
      ]),
      example: ["count": 1, "dryRun": true],
      errors: [
        .saveConflict, .historyExpired, .uniquenessViolation, .validationFailed, .limitExceeded,
        .storeFull, .storeReadOnly, .storeBusy,
      ]
    )
  }
}

/// `undo`: reverts the author's newest groups of commits.
package struct UndoCall: Call {
  package let params: RevertParams

  package static let method = RevertParams.method(
    .undo,
    "Reverts the newest commits of an author that are not undone."
  )

  package init(_ params: Params) throws(RPCError) {
    self.params = try RevertParams(params, method: "undo")
  }
}

/// `redo`: applies again the groups that were undone last.
package struct RedoCall: Call {
  package let params: RevertParams

  package static let method = RevertParams.method(
    .redo,
    "Applies again the commits that an author undid last."
  )

  package init(_ params: Params) throws(RPCError) {
    self.params = try RevertParams(params, method: "redo")
  }
}
