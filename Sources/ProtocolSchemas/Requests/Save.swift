import CordialProtocol
import JSON

/// `save`: inserts, updates and deletes objects as one transaction.
extension SaveCall: DescribedCall {
  private static let version = Field.optional(
    .version,
    .count,
    "the version that the change is based on"
  )

  package static let method = Method.request(
    name,
    "Inserts, updates and deletes objects as one transaction.",
    order: .write,
    traits: [.isScripted],
    params: [
      .optional(
        .insert,
        .array(
          .object([
            .optional(.id, .wrappedID, "a temporary or identity ID"),
            .optional(.entity, .string, "the entity, if there is no id"),
            .optional(.values, .map(.any), "the values; other properties get their defaults"),
          ])
        ),
        "the objects to insert"
      ),
      .optional(
        .update,
        .array(
          .object([
            .required(.id, .wrappedID, "the object"), version,
            .optional(
              .asOf,
              .token,
              "the position at which one-to-manys were read; needs version"
            ),
            .required(.values, .map(.any), "the changed properties only"),
          ])
        ),
        "the objects to update"
      ),
      .optional(
        .delete,
        .array(
          .either([
            .wrappedID, .object([.required(.id, .wrappedID, "the object"), version]),
          ])
        ),
        "the objects to delete"
      ),
      WriteFields.mergePolicy,
      WriteFields.author, WriteFields.context, WriteFields.durability, WriteFields.dryRun,
      WriteFields.transaction,
    ],
    result: .object([
      .required(.token, .token, "the position after the save"),
      .required(.ids, .map(.nullable(.wrappedID)), "the stored IDs of inserts, by sent IDs"),
      .required(
        .objects,
        .array(
          .object([
            .required(.id, .nullable(.wrappedID), "the object; null for an insert of a dry run"),
            .required(.version, .count, "the new version"),
            .optional(.values, .map(.any), "the stored values that differ from the sent ones"),
          ])
        ),
        "inserts, then updates, then objects whose delete the merge policy skipped"
      ),
      .optional(
        .merged,
        .array(
          .object([
            .required(.id, .wrappedID, "an object that another save changed"),
            .optional(
              .properties,
              .map(.choice(["client", "store", "base", "policy"])),
              "the source of each property's new value"
            ),
            .optional(
              .delete,
              .choice(["client", "store"]),
              "client if the delete was done, store if it was skipped"
            ),
          ])
        ),
        "the decisions of the merge policy"
      ),
      WriteFields.dryRunResult,
    ]),
    example: [
      "insert": [
        [
          "id": "Package/t1",
          "values": ["name": "hello", "version": "2.10", "architecture": "amd64"],
        ]
      ],
      "update": [["id": "Package/p2", "version": 1, "values": ["summary": "A greeting"]]],
    ],
    errors: [
      .unknownEntity, .unknownProperty, .objectNotFound, .validationFailed, .saveConflict,
      .invalidIdentifier, .uniquenessViolation, .deleteDenied, .historyExpired,
      .limitExceeded, .storeFull, .storeReadOnly, .storeBusy,
    ]
  )
}
