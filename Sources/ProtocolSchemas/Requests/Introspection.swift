import CordialProtocol
import JSON

/// `model`: returns the store's model in the form of its file.
extension ModelCall: DescribedCall {
  package static let method = Method.request(
    name,
    "Returns the store's model.",
    order: .any,
    traits: [.isScripted, .needsNoModel],
    result: .map(.any)
  )
}

/// `status`: reports the state of the service.
extension StatusCall: DescribedCall {
  package static let method = Method.request(
    name,
    "Reports the state of the service.",
    order: .read,
    traits: [.isScripted, .needsNoModel, .hasShortResult],
    result: .object([
      .required(.state, .string, "serving, migrating, or mismatch with the requested model"),
      .optional(.token, .token, "the newest commit; absent during a migration"),
      .optional(
        .migrating,
        .object([
          .required(.from, .string, "the version from which the stage migrates"),
          .required(.to, .string, "the version to which it migrates"),
          .required(.title, .string, "the current step"),
          .required(.done, .count, "the number of completed steps"),
          .required(.count, .count, "the number of steps of all stages"),
        ]),
        "the progress of a migration"
      ),
      .optional(.mismatch, .string, "why the store does not have the requested model"),
      .required(
        .store,
        .object([
          .required(.path, .string, "the folder"),
          .optional(.id, .string, "the identifier; absent during a migration"),
          .optional(.readOnly, .boolean, "whether the process cannot write"),
          .optional(.bytes, .count, "the size of the file and its write-ahead log"),
          .optional(.unsealed, .boolean, "whether changes of an external client are not sealed"),
        ]),
        "the store's folder, identifier and size"
      ),
      .required(.connections, .count, "the number of connections"),
      .required(.subscriptions, .count, "the number of subscriptions of all connections"),
      .optional(
        .observing,
        .object([
          .required(.bytes, .count, "the approximate memory of all observed requests"),
          .required(.commits, .count, "the updates whose changes were compared with requests"),
          .required(.wakes, .count, "the updates that may have altered a result"),
          .required(.statements, .count, "the SQL statements that were run"),
          .required(.reruns, .count, "the times that a whole request was read again"),
          .required(.microseconds, .count, "the time of all updates"),
        ]),
        "the sums of observe/list; absent during a migration"
      ),
      .optional(
        .disconnected,
        .array(
          .object([
            .required(.connection, .count, "the number of the connection"),
            .required(.reason, .choice(["stuck", "share"]), "why: P-085b, or P-085g"),
            .required(.since, .string, "since when it accepted none, RFC 3339"),
            .required(.bytes, .count, "the number of bytes that it had not read"),
          ])
        ),
        "the last 100 connections that the service ended; absent during a migration"
      ),
      .required(
        .followers,
        .array(
          .object([
            .required(.name, .string, "its name"), .required(.token, .token, "its position"),
            .required(.behind, .count, "the number of commits after its position"),
            .optional(.seen, .string, "of a registered follower: the time of its last request"),
            .optional(.expired, .boolean, "of a registered follower: whether nothing is retained"),
          ])
        ),
        "the followers of the log"
      ),
      .optional(
        .history,
        .object([.optional(.oldest, .token, "the oldest commit that can be read")]),
        "what the log has; absent during a migration"
      ),
      .required(
        .slowSorts,
        .array(
          .object([
            .required(.entity, .string, "the entity of the objects"),
            .required(.sort, .array(.string), "the sort keys"),
            .required(.count, .count, "the number of requests"),
            .required(.microsecondsMax, .count, "the longest time until the first object"),
          ])
        ),
        "the sorts without an index that clients requested since the start, the slowest first"
      ),
      .required(
        .unusedIndexes,
        .array(
          .object([
            .required(.entity, .string, "the entity"),
            .required(.keys, .array(.string), "the keys of the index"),
          ])
        ),
        "the model's indexes that no request used since the start"
      ),
    ])
  )
}

/// `rpc.discover`: returns this protocol as an OpenRPC document.
extension DiscoverCall: DescribedCall {
  package static let method = Method.request(
    name,
    "Returns this protocol as an OpenRPC document.",
    order: .any,
    traits: [.isScripted, .needsNoModel],
    result: .map(.any)
  )
}
