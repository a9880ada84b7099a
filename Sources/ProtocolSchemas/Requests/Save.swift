import CordialProtocol
package import JSON
package import JSONRPC

/// `save`: inserts, updates and deletes objects as one transaction.
package struct SaveCall: Call {
  /// A new object.
  package struct Insert: Sendable {
    package let id: String?
    package let entity: String?
    package let values: [JSONMember]
  }

  /// The changed properties of an object.
  package struct Update: Sendable {
    package let id: String
    package let version: Int64?
    /// The token of the response in which the client read to-manys.
    package let asOf: String?
    package let values: [JSONMember]
  }

  /// An object to delete.
  package struct Delete: Sendable {
    package let id: String
    package let version: Int64?
  }

  package let inserts: [Insert]
  package let updates: [Update]
  package let deletes: [Delete]
  /// The author in the history, nil for the author of the connection.
  package let author: String?
  package let context: String?
  /// The policy for properties that other saves changed, nil for the policy of the connection.
  package let mergePolicy: String?
  package let isDurable: Bool
  package let transaction: String?
  package let isDryRun: Bool

  private static let version = Field.optional(
    .version,
    .count,
    "the version that the change is based on"
  )

  package static let method = Method.request(
    .save,
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

  package init(_ params: Params) throws(RPCError) {
    inserts = (params[.insert]?.array ?? []).map { insert in
      Insert(
        id: insert[.id]?.string,
        entity: insert[.entity]?.string,
        values: insert[.values]?.members ?? []
      )
    }
    updates = try (params[.update]?.array ?? []).map { update throws(RPCError) in
      Update(
        id: try update.text(.id),
        version: update[.version]?.integer,
        asOf: update[.asOf]?.string,
        values: update[.values]?.members ?? []
      )
    }
    deletes = try (params[.delete]?.array ?? []).map { delete throws(RPCError) in
      if let id = delete.string { return Delete(id: id, version: nil) }
      return Delete(id: try delete.text(.id), version: delete[.version]?.integer)
    }
    mergePolicy = params.string(.mergePolicy)
    author = try WriteFields.author(of: params, in: "save")
    context = try WriteFields.context(of: params, in: "save")
    isDurable = params.string(.durability) != "normal"
    transaction = try WriteFields.transaction(of: "save", params)
    isDryRun = params.bool(.dryRun)
  }

  /// The number of requested changes.
  package var count: Int { inserts.count + updates.count + deletes.count }
}
