import CordialProtocol
import JSON

extension RevertParams {
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
extension UndoCall: DescribedCall {
  package static let method = RevertParams.method(
    .undo,
    "Reverts the newest commits of an author that are not undone."
  )
}

/// `redo`: reapplies the commit groups that the author undid last.
extension RedoCall: DescribedCall {
  package static let method = RevertParams.method(
    .redo,
    "Applies again the commits that an author undid last."
  )
}
